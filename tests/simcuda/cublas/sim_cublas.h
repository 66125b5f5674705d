/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the simulated libcublas.so.13. Nothing is computed, as kernels of this device
 * compute nothing.
 */
#ifndef SIMCUDA_CUBLAS_SIM_CUBLAS_H
#define SIMCUDA_CUBLAS_SIM_CUBLAS_H

#include <cublas_api.h>
#include <stdint.h>

#define SIM_CUBLAS_EXPORT __attribute__((visibility("default")))

/* From this k on a product is split: a second kernel adds the parts. */
#define SIM_CUBLAS_SPLIT  4096

/* Launches the kernels of a function whose sizes are these, 1 where it has none. */
cublasStatus_t sim_cublas_run(cublasHandle_t handle, const char *symbol, int64_t m, int64_t n,
			      int64_t k, int64_t batch);

#endif
