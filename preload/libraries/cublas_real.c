/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "preload/libraries/cublas_real.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "core/elf/behind.h"
#include "preload/libraries/math.h"
#include "preload/libraries/version.h"

#define TF32_MODE        3  /* CUBLAS_TF32_TENSOR_OP_MATH */
#define MODE_MASK        15 /* flags of the mode are above */
#define REAL_32F         1  /* cudaDataType + 1 */
#define COMPLEX_32F      5
#define COMPUTE_32F      68
#define COMPUTE_32F_TF32 77

static const char *const sonames[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
				      "libcublas.so.10", NULL};
static const char *const lt_sonames[] = {"libcublasLt.so.13", "libcublasLt.so.12",
					 "libcublasLt.so.11", "libcublasLt.so.10", NULL};
static const struct real_library cublas = {"libcublas", sonames};
static const struct real_library cublas_lt = {"libcublasLt", lt_sonames};
static struct library_version version = {&cublas, "cublasGetProperty", 10, 13, {0}, NULL, false};
static struct library_version lt_version = {&cublas_lt, "cublasLtGetProperty", 10, 13, {0}, NULL,
					    false};

static const char *const symbols[] = {
	NULL,
#define GT_CUBLAS(family, formula, symbol, name, index, types) #symbol,
#include "core/schema/cublas.def"
};

static struct gt_behind functions[GT_MATH_FUNCTION_COUNT_];
static _Atomic bool is_missing[GT_MATH_FUNCTION_COUNT_];

static const char *const getters[CUBLAS_GETTER_COUNT_] = {
	[CUBLAS_MODE_OF_HANDLE] = "cublasGetMathMode",
	[CUBLAS_LT_PRODUCT] = "cublasLtMatmulDescGetAttribute",
	[CUBLAS_LT_LAYOUT] = "cublasLtMatrixLayoutGetAttribute",
	[CUBLAS_LT_PRODUCT_CREATE] = "cublasLtMatmulDescCreate",
	[CUBLAS_LT_PRODUCT_INIT] = "cublasLtMatmulDescInit_internal",
	[CUBLAS_LT_PRODUCT_DESTROY] = "cublasLtMatmulDescDestroy",
	[CUBLAS_LT_LAYOUT_CREATE] = "cublasLtMatrixLayoutCreate",
	[CUBLAS_LT_LAYOUT_INIT] = "cublasLtMatrixLayoutInit_internal",
	[CUBLAS_LT_LAYOUT_DESTROY] = "cublasLtMatrixLayoutDestroy",
};
static struct gt_behind found_getters[CUBLAS_GETTER_COUNT_];

static bool is_of_lt(const char *name)
{
	static const char prefix[] = "cublasLt";

	return !strncmp(name, prefix, sizeof(prefix) - 1);
}

static const char *const *sonames_of(const char *name)
{
	return is_of_lt(name) ? lt_sonames : sonames;
}

static void *look_for(enum gt_math_function function, const void *caller)
{
	const char *name = symbols[function];
	void *real = gt_behind_look(&functions[function], name, sonames_of(name), caller);

	if (!real && !atomic_exchange(&is_missing[function], true))
		math_missing(name, is_of_lt(name) ? "libcublasLt" : "libcublas");
	return real;
}

void *cublas_real_of(enum gt_math_function function, const void *caller)
{
	void *real = gt_behind_known(&functions[function]);

	return __builtin_expect(real != NULL, 1) ? real : look_for(function, caller);
}

void *cublas_getter(enum cublas_getter getter)
{
	return gt_behind_ask(&found_getters[getter], getters[getter], sonames_of(getters[getter]));
}

void *cublas_getter_of(enum cublas_getter getter, const void *caller)
{
	void *real = gt_behind_known(&found_getters[getter]);

	return __builtin_expect(real != NULL, 1)
		       ? real
		       : gt_behind_look(&found_getters[getter], getters[getter],
					sonames_of(getters[getter]), caller);
}

bool cublas_is_known(bool is_lt)
{
	return library_is_known(is_lt ? &lt_version : &version);
}

static bool is_single(uint8_t type)
{
	return type == REAL_32F || type == COMPLEX_32F;
}

uint8_t cublas_compute_of(void *handle, uint8_t type, uint8_t compute)
{
	int (*get_mode)(void *, int *);
	int mode = 0;

	if (compute != COMPUTE_32F || !is_single(type) || !handle)
		return compute;
	get_mode = (int (*)(void *, int *))cublas_getter(CUBLAS_MODE_OF_HANDLE);
	if (!get_mode || get_mode(handle, &mode))
		return compute;
	return (mode & MODE_MASK) == TF32_MODE ? COMPUTE_32F_TF32 : compute;
}
