/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays and mipmapped arrays inside the driver. A level is an array that its mipmapped array owns.
 */
#ifndef SIMCUDA_DRIVER_ARRAY_H
#define SIMCUDA_DRIVER_ARRAY_H

#include "driver/driver.h"

#define SIM_MIPMAP_LEVELS 32

#pragma GCC visibility push(hidden)

struct CUarray_st {
	_Atomic uint32_t magic;
	bool is_level;
	CUDA_ARRAY3D_DESCRIPTOR desc;
	struct sim_allocation memory;
};

struct CUmipmappedArray_st {
	unsigned int count;
	struct CUarray_st *levels[SIM_MIPMAP_LEVELS];
};

bool sim_array_valid(const struct CUarray_st *array);
size_t sim_array_element(const struct CUarray_st *array);
struct sim_region sim_array_region(struct CUarray_st *array, size_t x, size_t y, size_t z);

#pragma GCC visibility pop

#endif
