/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver as before CUDA 4: contexts attached and detached, launches by block shape and grid.
 */
#include "program.h"

#include <cudaTypedefs.h>

extern "C" {
CUresult cuFuncSetBlockShape(CUfunction, int, int, int);
CUresult cuFuncSetSharedSize(CUfunction, unsigned int);
CUresult cuParamSetSize(CUfunction, unsigned int);
CUresult cuParamSeti(CUfunction, int, unsigned int);
CUresult cuLaunchGrid(CUfunction, int, int);
CUresult cuLaunchGridAsync(CUfunction, int, int, CUstream);
CUresult cuCtxAttach(CUcontext *, unsigned int);
CUresult cuCtxDetach(CUcontext);
}

int main()
{
	static const char image[256] = "\x7f"
				       "ELF";
	CUcontext context, again;
	CUfunction function;
	CUdevice device;
	CUmodule module;
	CUstream stream;

	DRIVER(cuInit(0));
	DRIVER(cuDeviceGet(&device, 0));
	DRIVER(cuCtxCreate(&context, NULL, 0, device));
	DRIVER(cuCtxAttach(&again, 0));
	REQUIRE(again == context);
	DRIVER(cuModuleLoadData(&module, image));
	DRIVER(cuModuleGetFunction(&function, module, "step"));
	DRIVER(cuFuncSetBlockShape(function, 16, 8, 2));
	DRIVER(cuFuncSetSharedSize(function, 512));
	DRIVER(cuParamSeti(function, 0, 1));
	DRIVER(cuParamSetSize(function, 4));
	DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	DRIVER(cuLaunchGrid(function, 4, 2));
	for (int i = 0; i < 5; i++)
		DRIVER(cuLaunchGridAsync(function, 3, 3, stream));
	DRIVER(cuCtxSynchronize());
	DRIVER(cuCtxDetach(again));
	DRIVER(cuCtxSynchronize());
	DRIVER(cuCtxDetach(context));
	puts("as before");
	return 0;
}
