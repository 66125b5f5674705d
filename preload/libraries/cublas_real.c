/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "preload/libraries/cublas_real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "core/elf/elf_lookup.h"
#include "preload/libraries/math.h"

#define NONE             ((void *)1) /* was looked for and not found */
#define MODE_OF_HANDLE   "cublasGetMathMode"
#define TF32_MODE        3  /* CUBLAS_TF32_TENSOR_OP_MATH */
#define MODE_MASK        15 /* flags of the mode are above */
#define REAL_32F         1  /* cudaDataType + 1 */
#define COMPLEX_32F      5
#define COMPUTE_32F      68
#define COMPUTE_32F_TF32 77

static const char *const sonames[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
				      "libcublas.so.10"};

static const char *const symbols[] = {
	NULL,
#define GT_CUBLAS(family, formula, symbol, name, index, types) #symbol,
#include "core/schema/cublas.def"
};

static void *_Atomic found[GT_MATH_FUNCTION_COUNT_];
static void *_Atomic mode_of_handle;

/* What comes behind us in the order of the program; dlsym does not see what Python loads for itself
 * alone. */
static void *look_for(const char *name)
{
	int saved = errno;
	void *function = dlsym(RTLD_NEXT, name);

	for (size_t i = 0; !function && i < sizeof(sonames) / sizeof(sonames[0]); i++)
		function = (void *)gt_elf_find_loaded(sonames[i], name, NULL);
	errno = saved;
	return function ? function : NONE;
}

void *cublas_real(enum gt_math_function function)
{
	void *real = atomic_load_explicit(&found[function], memory_order_relaxed);

	if (__builtin_expect(!real, 0)) {
		real = look_for(symbols[function]);
		atomic_store_explicit(&found[function], real, memory_order_relaxed);
		if (real == NONE)
			math_missing(symbols[function], "libcublas");
	}
	return real == NONE ? NULL : real;
}

static bool is_single(uint8_t type)
{
	return type == REAL_32F || type == COMPLEX_32F;
}

uint8_t cublas_compute_of(void *handle, uint8_t type, uint8_t compute)
{
	void *real = atomic_load_explicit(&mode_of_handle, memory_order_relaxed);
	int mode = 0;

	if (compute != COMPUTE_32F || !is_single(type) || !handle)
		return compute;
	if (__builtin_expect(!real, 0)) {
		real = look_for(MODE_OF_HANDLE);
		atomic_store_explicit(&mode_of_handle, real, memory_order_relaxed);
	}
	if (real == NONE || ((int (*)(void *, int *))real)(handle, &mode))
		return compute;
	return (mode & MODE_MASK) == TF32_MODE ? COMPUTE_32F_TF32 : compute;
}
