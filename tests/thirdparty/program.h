/* SPDX-License-Identifier: Apache-2.0
 *
 * What the programs of this folder share: they end with 1 at the first wrong result. Kernels
 * compute nothing on the simulated device, so only copies and sets are checked.
 */
#ifndef GT_TESTS_THIRDPARTY_PROGRAM_H
#define GT_TESTS_THIRDPARTY_PROGRAM_H

#include <cuda_runtime.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call_)                                                                               \
	do {                                                                                       \
		cudaError_t error_ = (call_);                                                      \
		if (error_ != cudaSuccess) {                                                       \
			printf("%s:%d: %s: %d\n", __FILE__, __LINE__, #call_, (int)error_);        \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define REQUIRE(condition_)                                                                        \
	do {                                                                                       \
		if (!(condition_)) {                                                               \
			printf("%s:%d: %s\n", __FILE__, __LINE__, #condition_);                    \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* The driver's function of that name in that version of CUDA. */
template <typename Function> static Function driver_function(const char *name, unsigned int version)
{
	void *address = NULL;
	cudaDriverEntryPointQueryResult status;

	CHECK(cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault,
					       &status));
	REQUIRE(status == cudaDriverEntryPointSuccess && address);
	return (Function)address;
}

#define DRIVER(call_) REQUIRE((call_) == CUDA_SUCCESS)

#endif
