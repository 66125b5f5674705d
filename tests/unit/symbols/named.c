/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions to look up by address: public, local, C++, and with nvcc's names for host functions of
 * kernels.
 */
void (*plugin_function(int which))(void);

#define FUNCTION(name)                                                                             \
	__attribute__((noinline, used)) static void name(void)                                     \
	{                                                                                          \
		__asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop");                        \
	}

/* The kernels scale(float *, int) and app::fill<float>(float *, float), and what is like them. */
FUNCTION(plugin_local)
FUNCTION(_ZN3app4workEi)
FUNCTION(_Z5scalePfi)
FUNCTION(_ZL25__device_stub__Z5scalePfiPfi)
FUNCTION(_Z5scalePf)
FUNCTION(_ZN3appL4fillIfEEvPT_S1_)
FUNCTION(_ZL37__device_stub__ZN3app4fillIfEEvPT_S1_Pff)
FUNCTION(unmangled)
FUNCTION(_ZL28__device_stub__Z9unmangledPfiPfi)
FUNCTION(scale)
FUNCTION(cudaLaunchKernel)
FUNCTION(cudacheck)
FUNCTION(_Z10cudaMallocIfE9cudaErrorPPT_m)
FUNCTION(_Z9cudaCheckIfEiPT_)
FUNCTION(_ZL16cudaLaunchKernelIcE9cudaErrorPKT_4dim3S4_PPvmP11CUstream_st)

void (*plugin_function(int which))(void)
{
	static void (*const functions[])(void) = {
		(void (*)(void))plugin_function,
		plugin_local,
		_ZN3app4workEi,
		_Z5scalePfi,
		_ZL25__device_stub__Z5scalePfiPfi,
		_Z5scalePf,
		_ZN3appL4fillIfEEvPT_S1_,
		_ZL37__device_stub__ZN3app4fillIfEEvPT_S1_Pff,
		unmangled,
		_ZL28__device_stub__Z9unmangledPfiPfi,
		scale,
		cudaLaunchKernel,
		cudacheck,
		_Z10cudaMallocIfE9cudaErrorPPT_m,
		_Z9cudaCheckIfEiPT_,
		_ZL16cudaLaunchKernelIcE9cudaErrorPKT_4dim3S4_PPvmP11CUstream_st,
	};

	return functions[which];
}
