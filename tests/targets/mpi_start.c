/* SPDX-License-Identifier: Apache-2.0
 *
 * For programs in Fortran: the first call of CUDA, with which a trace begins.
 */
#include <cuda.h>

void start_device(void);

void start_device(void)
{
	CUcontext context;

	cuInit(0);
	cuDevicePrimaryCtxRetain(&context, 0);
	cuCtxSetCurrent(context);
}
