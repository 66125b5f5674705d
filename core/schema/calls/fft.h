/* SPDX-License-Identifier: Apache-2.0
 *
 * How much a Fourier transform computes. Pure functions, any thread.
 */
#ifndef GT_CORE_SCHEMA_CALLS_FFT_H
#define GT_CORE_SCHEMA_CALLS_FFT_H

#include <stdbool.h>
#include <stdint.h>

/* Of @batch transforms of @points each: 5 N log2 N, and half of that if one side @is_real, as
 * benchFFT and FFTW count (http://www.fftw.org/speed/method.html), rounded. False: it does not fit
 * into 63 bits. @points 0: 0. */
bool gt_fft_flops(uint64_t points, uint64_t batch, bool is_real, uint64_t *ret_flops);

#endif
