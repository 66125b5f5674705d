/* SPDX-License-Identifier: Apache-2.0
 *
 * cuFFT's plans and what executes them: these definitions come before those of libcufft.so and go
 * on to them. A library of its own, preloaded by run --libraries=cufft alone. Enums are ints; what
 * the functions are is in core/schema/calls/cufft.def, and here what parameters each family has.
 *
 * What a plan transforms is learned when it is made, and cannot be asked later.
 */
#include "core/schema/math_call.h"
#include "preload/libraries/fft_plans.h"
#include "preload/libraries/math.h"
#include "preload/libraries/real.h"
#include "preload/libraries/version.h"

#define EXPORTED      __attribute__((visibility("default")))
#define NOT_SUPPORTED 16 /* CUFFT_NOT_SUPPORTED */

static const char *const sonames[] = {"libcufft.so.12", "libcufft.so.11", "libcufft.so.10", NULL};
static const struct real_library cufft = {"libcufft", sonames};
static struct library_version version = {&cufft, "cufftGetProperty", 10, 12, {0}, NULL, false};

/* cufftType of the functions that execute one. */
enum { ANY = 0, C2C = 0x29, R2C = 0x2a, C2R = 0x2c, Z2Z = 0x69, D2Z = 0x6a, Z2D = 0x6c };

/* Defines the function @symbol: @parameters as the program gives them, @arguments to go on with;
 * @before fills in the call, @after has the result. */
#define WRAP(symbol, parameters, arguments, before, after)                                         \
	EXPORTED int symbol parameters;                                                            \
	int symbol parameters                                                                      \
	{                                                                                          \
		int(*real) parameters =                                                            \
			(int(*) parameters)real_function(&cufft, GT_MATH_##symbol);                \
		struct gt_math_call call = {0};                                                    \
		struct math_entry entry;                                                           \
		int result;                                                                        \
                                                                                                   \
		if (!real)                                                                         \
			return NOT_SUPPORTED;                                                      \
		before;                                                                            \
		if (math_is_told() && !library_is_known(&version))                                 \
			fft_forget_sizes(&call);                                                   \
		call.function = GT_MATH_##symbol;                                                  \
		math_begin_counted(&entry, &call);                                                 \
		result = real arguments;                                                           \
		math_end(&entry, result);                                                          \
		after;                                                                             \
		return result;                                                                     \
	}

#define NOTHING    (void)0
#define KEEP(of)   fft_plan_keep(of, &call, result)
#define KEEP_NEW   fft_plan_keep(plan && !result ? *plan : 0, &call, !plan || result)
#define SIZES(...) ((const long long[]){__VA_ARGS__})

#define CREATE(symbol, type_)                                                                      \
	WRAP(symbol, (int *handle), (handle), NOTHING, fft_plan_made(handle, result))
#define DESTROY(symbol, type_) WRAP(symbol, (int plan), (plan), fft_plan_forget(plan), NOTHING)

#define PLAN_1D(symbol, type_)                                                                     \
	WRAP(symbol, (int *plan, int nx, int type, int batch), (plan, nx, type, batch),            \
	     fft_describe(&call, 1, SIZES(nx), type, batch), KEEP_NEW)
#define PLAN_2D(symbol, type_)                                                                     \
	WRAP(symbol, (int *plan, int nx, int ny, int type), (plan, nx, ny, type),                  \
	     fft_describe(&call, 2, SIZES(nx, ny), type, 1), KEEP_NEW)
#define PLAN_3D(symbol, type_)                                                                     \
	WRAP(symbol, (int *plan, int nx, int ny, int nz, int type), (plan, nx, ny, nz, type),      \
	     fft_describe(&call, 3, SIZES(nx, ny, nz), type, 1), KEEP_NEW)
#define PLAN_MANY(symbol, type_)                                                                   \
	WRAP(symbol,                                                                               \
	     (int *plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,     \
	      int ostride, int odist, int type, int batch),                                        \
	     (plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch),       \
	     fft_describe_ints(&call, rank, n, type, batch), KEEP_NEW)

#define MAKE_1D(symbol, type_)                                                                     \
	WRAP(symbol, (int plan, int nx, int type, int batch, size_t *size),                        \
	     (plan, nx, type, batch, size), fft_describe(&call, 1, SIZES(nx), type, batch),        \
	     KEEP(plan))
#define MAKE_2D(symbol, type_)                                                                     \
	WRAP(symbol, (int plan, int nx, int ny, int type, size_t *size),                           \
	     (plan, nx, ny, type, size), fft_describe(&call, 2, SIZES(nx, ny), type, 1),           \
	     KEEP(plan))
#define MAKE_3D(symbol, type_)                                                                     \
	WRAP(symbol, (int plan, int nx, int ny, int nz, int type, size_t *size),                   \
	     (plan, nx, ny, nz, type, size), fft_describe(&call, 3, SIZES(nx, ny, nz), type, 1),   \
	     KEEP(plan))
#define MAKE_MANY(symbol, type_)                                                                   \
	WRAP(symbol,                                                                               \
	     (int plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,      \
	      int ostride, int odist, int type, int batch, size_t *size),                          \
	     (plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, size), \
	     fft_describe_ints(&call, rank, n, type, batch), KEEP(plan))
#define MAKE_MANY_64(symbol, type_)                                                                \
	WRAP(symbol,                                                                               \
	     (int plan, int rank, long long *n, long long *inembed, long long istride,             \
	      long long idist, long long *onembed, long long ostride, long long odist, int type,   \
	      long long batch, size_t *size),                                                      \
	     (plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, size), \
	     fft_describe(&call, rank, n, type, batch), KEEP(plan))
#define MAKE_TYPED(symbol, type_)                                                                  \
	WRAP(symbol,                                                                               \
	     (int plan, int rank, long long *n, long long *inembed, long long istride,             \
	      long long idist, int in, long long *onembed, long long ostride, long long odist,     \
	      int out, long long batch, size_t *size, int by),                                     \
	     (plan, rank, n, inembed, istride, idist, in, onembed, ostride, odist, out, batch,     \
	      size, by),                                                                           \
	     fft_describe_typed(&call, rank, n, in, out, by, batch), KEEP(plan))

#define EXECUTE(symbol, type)                                                                      \
	WRAP(symbol, (int plan, void *in, void *out), (plan, in, out),                             \
	     fft_plan_use(plan, type, 0, &call), NOTHING)
#define EXECUTE_WAY(symbol, type)                                                                  \
	WRAP(symbol, (int plan, void *in, void *out, int direction), (plan, in, out, direction),   \
	     fft_plan_use(plan, type, direction, &call), NOTHING)

#define GT_CUFFT(family, formula, symbol, type) family(symbol, type)
#include "core/schema/calls/cufft.def"
