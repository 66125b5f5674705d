/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. The counts of cuBLAS are those of LAPACK Working Note 41, appendix C.
 */
#include "core/schema/math_call.h"

#include <string.h>

#include "core/schema/calls/fft.h"
#include "core/schema/calls/solve.h"

#define COUNT(array)              (sizeof(array) / sizeof((array)[0]))
#define IN_COMPLEX_MULTIPLICATION 6u
#define IN_COMPLEX_ADDITION       2u
#define FIRST_COMPUTE             64u

enum formula {
	NO_FORMULA,
	GEMM,
	GEMV,
	GER,
	SYMM,
	SYMV,
	SYRK,
	SYR2K,
	TRMM,
	TRMV,
	FFT,
	GETRF, /* to ORMQR: in the order of enum gt_solve */
	GETRS,
	POTRF,
	POTRS,
	POTRI,
	GEQRF,
	ORGQR,
	ORMQR,
	FORMULA_COUNT
};

enum { MATRIX, TRANSFORM, NETWORK };

static const struct {
	const char *library, *name;
	uint8_t formula, kind;
} functions[] = {
	{NULL, NULL, NO_FORMULA, MATRIX},
#define GT_CUBLAS(family, formula, symbol, name, index, types) {"cublas", name, formula, MATRIX},
#include "core/schema/cublas.def"
#define GT_CUFFT(family, formula, symbol, type) {"cufft", #symbol, formula, TRANSFORM},
#include "core/schema/calls/cufft.def"
#define GT_CUDNN(symbol, describe, parameters, arguments) {"cudnn", #symbol, NO_FORMULA, NETWORK},
#include "core/schema/calls/cudnn.def"
#define GT_CUSPARSE(symbol, describe, parameters, arguments)                                       \
	{"cusparse", #symbol, NO_FORMULA, MATRIX},
#define GT_CUSPARSE_MAKE(symbol, kind, made, parameters, arguments)                                \
	{"cusparse", #symbol, NO_FORMULA, MATRIX},
#define GT_CUSPARSE_DESTROY(symbol, descriptor, parameters, arguments)                             \
	{"cusparse", #symbol, NO_FORMULA, MATRIX},
#include "core/schema/calls/cusparse.def"
#define GT_CUSOLVER(symbol, formula, describe, parameters, arguments)                              \
	{"cusolver", #symbol, formula, MATRIX},
#include "core/schema/calls/cusolver.def"
};

/* library_types.h; names as in c10/core/ScalarType.h where PyTorch has the type. */
static const struct {
	const char *name;
	uint8_t bits;
	bool is_complex;
} types[] = {
	{NULL, 0, false},
	{"Float", 32, false},
	{"Double", 64, false},
	{"Half", 16, false},
	{"Char", 8, false},
	{"ComplexFloat", 64, true},
	{"ComplexDouble", 128, true},
	{"ComplexHalf", 32, true},
	{"ComplexChar", 16, true},
	{"Byte", 8, false},
	{"ComplexByte", 16, true},
	{"Int", 32, false},
	{"ComplexInt", 64, true},
	{"UInt32", 32, false},
	{"ComplexUInt32", 64, true},
	{"BFloat16", 16, false},
	{"ComplexBFloat16", 32, true},
	{"Int4", 4, false},
	{"ComplexInt4", 8, true},
	{"UInt4", 4, false},
	{"ComplexUInt4", 8, true},
	{"Short", 16, false},
	{"ComplexShort", 32, true},
	{"UInt16", 16, false},
	{"ComplexUInt16", 32, true},
	{"Long", 64, false},
	{"ComplexLong", 128, true},
	{"UInt64", 64, false},
	{"ComplexUInt64", 128, true},
	{"Float8_e4m3fn", 8, false},
	{"Float8_e5m2", 8, false},
	{"Float8_e8m0fnu", 8, false},
	{"Float6_e2m3", 6, false},
	{"Float6_e3m2", 6, false},
	{"Float4_e2m1fn_x2", 4, false},
};

/* cublasComputeType_t, from FIRST_COMPUTE on. */
static const char *const computes[] = {
	"CUBLAS_COMPUTE_16F",
	"CUBLAS_COMPUTE_16F_PEDANTIC",
	NULL,
	NULL,
	"CUBLAS_COMPUTE_32F",
	"CUBLAS_COMPUTE_32F_PEDANTIC",
	"CUBLAS_COMPUTE_64F",
	"CUBLAS_COMPUTE_64F_PEDANTIC",
	"CUBLAS_COMPUTE_32I",
	"CUBLAS_COMPUTE_32I_PEDANTIC",
	"CUBLAS_COMPUTE_32F_FAST_16F",
	"CUBLAS_COMPUTE_32F_FAST_16BF",
	NULL,
	"CUBLAS_COMPUTE_32F_FAST_TF32",
	"CUBLAS_COMPUTE_32F_EMULATED_16BFX9",
	"CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT",
};

/* cublasLtEpilogue_t, without the default. */
static const struct {
	const char *name;
	uint32_t value;
} epilogues[] = {
	{"CUBLASLT_EPILOGUE_RELU", 2},
	{"CUBLASLT_EPILOGUE_RELU_AUX", 2 | 128},
	{"CUBLASLT_EPILOGUE_BIAS", 4},
	{"CUBLASLT_EPILOGUE_RELU_BIAS", 2 | 4},
	{"CUBLASLT_EPILOGUE_RELU_AUX_BIAS", 2 | 4 | 128},
	{"CUBLASLT_EPILOGUE_DRELU", 8 | 128},
	{"CUBLASLT_EPILOGUE_DRELU_BGRAD", 8 | 16 | 128},
	{"CUBLASLT_EPILOGUE_GELU", 32},
	{"CUBLASLT_EPILOGUE_GELU_AUX", 32 | 128},
	{"CUBLASLT_EPILOGUE_GELU_BIAS", 4 | 32},
	{"CUBLASLT_EPILOGUE_GELU_AUX_BIAS", 4 | 32 | 128},
	{"CUBLASLT_EPILOGUE_DGELU", 64 | 128},
	{"CUBLASLT_EPILOGUE_DGELU_BGRAD", 16 | 64 | 128},
	{"CUBLASLT_EPILOGUE_BGRADA", 256},
	{"CUBLASLT_EPILOGUE_BGRADB", 512},
};

_Static_assert(GT_MATH_FUNCTION_COUNT_ <= 1 << 12, "in gt_math_call.function");

static bool is(const char *known, const char *text, size_t length)
{
	return known && strlen(known) == length && !memcmp(known, text, length);
}

const char *gt_math_function(unsigned int function)
{
	return function < COUNT(functions) ? functions[function].name : NULL;
}

const char *gt_math_library(unsigned int function)
{
	return function < COUNT(functions) ? functions[function].library : NULL;
}

bool gt_math_is_transform(unsigned int function)
{
	return function < COUNT(functions) && functions[function].kind == TRANSFORM;
}

bool gt_math_is_network(unsigned int function)
{
	return function < COUNT(functions) && functions[function].kind == NETWORK;
}

enum gt_math_function gt_math_find_function(const char *name, size_t length)
{
	for (unsigned int i = 1; i < COUNT(functions); i++)
		if (is(functions[i].name, name, length))
			return (enum gt_math_function)i;
	return GT_MATH_NONE;
}

const char *gt_math_type(uint8_t type)
{
	return type < COUNT(types) ? types[type].name : NULL;
}

unsigned int gt_math_type_bits(uint8_t type)
{
	return type < COUNT(types) ? types[type].bits : 0;
}

uint8_t gt_math_find_type(const char *name, size_t length)
{
	for (size_t i = 1; i < COUNT(types); i++)
		if (is(types[i].name, name, length))
			return (uint8_t)i;
	return 0;
}

const char *gt_math_compute(uint8_t compute)
{
	if (compute < FIRST_COMPUTE)
		return gt_math_type(compute);
	return compute - FIRST_COMPUTE < COUNT(computes) ? computes[compute - FIRST_COMPUTE] : NULL;
}

uint8_t gt_math_find_compute(const char *name, size_t length)
{
	for (size_t i = 0; i < COUNT(computes); i++)
		if (is(computes[i], name, length))
			return (uint8_t)(i + FIRST_COMPUTE);
	return gt_math_find_type(name, length);
}

static const char *const unknowns[GT_MATH_UNKNOWN_COUNT_] = {
	[GT_MATH_UNKNOWN_DESCRIPTOR] = "unknown descriptor",
	[GT_MATH_FREED_DESCRIPTOR] = "freed descriptor",
	[GT_MATH_OUT_OF_RANGE] = "out of range",
	[GT_MATH_UNKNOWN_VERSION] = "unknown version",
};

const char *gt_math_unknown(unsigned int unknown)
{
	return unknown < COUNT(unknowns) ? unknowns[unknown] : NULL;
}

enum gt_math_unknown gt_math_find_unknown(const char *text, size_t length)
{
	for (unsigned int i = 1; i < COUNT(unknowns); i++)
		if (is(unknowns[i], text, length))
			return (enum gt_math_unknown)i;
	return GT_MATH_SIZES_KNOWN;
}

bool gt_math_is_out_of_range(const struct gt_math_call *call)
{
	const int64_t sizes[] = {call->m, call->n, call->k, call->batch};

	for (unsigned int i = 0; i < COUNT(sizes); i++)
		if (call->sizes >> i & 1 && sizes[i] < 0)
			return true;
	return false;
}

const char *gt_math_epilogue(uint32_t epilogue)
{
	for (size_t i = 0; i < COUNT(epilogues); i++)
		if (epilogues[i].value == epilogue)
			return epilogues[i].name;
	return NULL;
}

uint32_t gt_math_find_epilogue(const char *name, size_t length)
{
	for (size_t i = 0; i < COUNT(epilogues); i++)
		if (is(epilogues[i].name, name, length))
			return epilogues[i].value;
	return 0;
}

static const char *const operations[GT_MATH_OPERATION_COUNT_] = {
	[GT_MATH_CONVOLUTION] = "conv",
	[GT_MATH_CONVOLUTION_DATA] = "convDgrad",
	[GT_MATH_CONVOLUTION_FILTER] = "convWgrad",
	[GT_MATH_MATMUL] = "matmul",
	[GT_MATH_POINTWISE] = "pointwise",
	[GT_MATH_REDUCTION] = "reduction",
	[GT_MATH_NORM] = "norm",
	[GT_MATH_NORM_GRADIENT] = "normGrad",
	[GT_MATH_ATTENTION] = "sdpa",
	[GT_MATH_ATTENTION_GRADIENT] = "sdpaGrad",
	[GT_MATH_RESHAPE] = "reshape",
	[GT_MATH_RESAMPLE] = "resample",
	[GT_MATH_OTHER] = "other",
	[GT_MATH_MORE] = "more",
};

void gt_math_operations(uint32_t all, char out[GT_MATH_OPERATIONS_TEXT])
{
	size_t n = 0;

	for (; all & 15; all >>= 4) {
		const char *name = (all & 15) < COUNT(operations) ? operations[all & 15] : "other";

		if (n)
			out[n++] = '+';
		memcpy(out + n, name, strlen(name));
		n += strlen(name);
	}
	out[n] = 0;
}

uint32_t gt_math_find_operations(const char *text, size_t length)
{
	const char *end = text + length;
	uint32_t all = 0;

	for (unsigned int place = 0; text < end && place < 32; place += 4) {
		const char *plus = memchr(text, '+', (size_t)(end - text));
		const char *next = plus ? plus : end;
		uint32_t i = GT_MATH_OTHER;

		for (uint32_t known = 1; known < COUNT(operations); known++)
			i = is(operations[known], text, (size_t)(next - text)) ? known : i;
		all |= i << place;
		text = next + (plus != NULL);
	}
	return all;
}

/* ---- how much it is ---- */

/* A number that remembers that it has become too large. */
struct amount {
	uint64_t value;
	bool overflow;
};

static struct amount times(struct amount a, uint64_t factor)
{
	if (!factor)
		return (struct amount){0, false};
	a.overflow |= __builtin_mul_overflow(a.value, factor, &a.value);
	return a;
}

static struct amount plus(struct amount a, struct amount b)
{
	a.overflow |= b.overflow || __builtin_add_overflow(a.value, b.value, &a.value);
	return a;
}

static struct amount product(uint64_t a, uint64_t b, uint64_t c)
{
	return times(times((struct amount){a, false}, b), c);
}

/* a (a + 1) / 2, or a (a - 1) / 2: of the even one of both, half. */
static struct amount triangle(uint64_t a, bool with_diagonal)
{
	uint64_t b = with_diagonal ? a + 1 : a ? a - 1 : 0;

	return a % 2 ? product(a, b / 2, 1) : product(a / 2, b, 1);
}

/* Of one of the batch. */
struct work {
	struct amount multiplications, additions;
	struct amount a, b, c; /* elements of the operands */
	struct amount points;  /* of a transform, one of whose sides may be real */
	bool is_real;
};

static bool is_left(const struct gt_math_call *call)
{
	return call->side == 1;
}

static void count_gemm(const struct gt_math_call *call, struct work *work)
{
	uint64_t m = (uint64_t)call->m, n = (uint64_t)call->n, k = (uint64_t)call->k;

	work->multiplications = work->additions = product(m, n, k);
	work->a = product(m, k, 1);
	work->b = product(k, n, 1);
	work->c = product(m, n, 1);
}

static void count_gemv(const struct gt_math_call *call, struct work *work)
{
	bool plain = call->transa == 1;

	work->multiplications = work->additions = work->a =
		product((uint64_t)call->m, (uint64_t)call->n, 1);
	work->b.value = (uint64_t)(plain ? call->n : call->m);
	work->c.value = (uint64_t)(plain ? call->m : call->n);
}

static void count_ger(const struct gt_math_call *call, struct work *work)
{
	work->multiplications = work->additions = work->c =
		product((uint64_t)call->m, (uint64_t)call->n, 1);
	work->a.value = (uint64_t)call->m;
	work->b.value = (uint64_t)call->n;
}

static void count_symm(const struct gt_math_call *call, struct work *work)
{
	uint64_t m = (uint64_t)call->m, n = (uint64_t)call->n, order = is_left(call) ? m : n;

	work->multiplications = work->additions = product(m, n, order);
	work->a = triangle(order, true);
	work->b = work->c = product(m, n, 1);
}

static void count_symv(const struct gt_math_call *call, struct work *work)
{
	uint64_t n = (uint64_t)call->n;

	work->multiplications = work->additions = product(n, n, 1);
	work->a = triangle(n, true);
	work->b.value = work->c.value = n;
}

static void count_syrk(const struct gt_math_call *call, struct work *work)
{
	uint64_t n = (uint64_t)call->n, k = (uint64_t)call->k;

	work->c = triangle(n, true);
	work->multiplications = work->additions = times(work->c, k);
	work->a = product(n, k, 1);
	work->b = call->b ? work->a : work->b;
}

static void count_syr2k(const struct gt_math_call *call, struct work *work)
{
	uint64_t n = (uint64_t)call->n, k = (uint64_t)call->k;

	work->multiplications = product(n, n, k);
	work->additions = plus(work->multiplications, (struct amount){n, false});
	work->a = work->b = product(n, k, 1);
	work->c = triangle(n, true);
}

/* Also the solution with a triangular matrix: in place, or into another matrix. */
static void count_trmm(const struct gt_math_call *call, struct work *work)
{
	uint64_t m = (uint64_t)call->m, n = (uint64_t)call->n;
	uint64_t order = is_left(call) ? m : n, columns = is_left(call) ? n : m;

	work->multiplications = times(triangle(order, true), columns);
	work->additions = times(triangle(order, false), columns);
	work->a = triangle(order, true);
	work->b = product(m, n, 1);
	work->c = call->c ? work->b : work->c;
}

static void count_trmv(const struct gt_math_call *call, struct work *work)
{
	uint64_t n = (uint64_t)call->n;

	work->multiplications = work->a = triangle(n, true);
	work->additions = triangle(n, false);
	work->b.value = n;
}

static bool is_known(uint8_t type)
{
	return type < COUNT(types);
}

/* A real side of a transform has half of the last dimension, and one, as complex numbers. */
static void count_fft(const struct gt_math_call *call, struct work *work)
{
	const int64_t *const sizes[] = {&call->m, &call->n, &call->k};
	unsigned int rank = call->sizes & GT_MATH_K ? 3 : call->sizes & GT_MATH_N ? 2 : 1;
	struct amount outer = {1, false};
	uint64_t last = (uint64_t)*sizes[rank - 1];
	bool in = types[call->a].is_complex, out = is_known(call->c) && types[call->c].is_complex;

	for (unsigned int i = 0; i + 1 < rank; i++)
		outer = times(outer, (uint64_t)*sizes[i]);
	work->a = times(outer, in && !out ? last / 2 + 1 : last);
	work->c = times(outer, out && !in ? last / 2 + 1 : last);
	work->points = times(outer, last);
	work->is_real = !in || !out;
}

/* Of a factor that is a triangle, half; of C, what a side of it is multiplied by. */
static void count_solve(const struct gt_math_call *call, struct work *work)
{
	unsigned int formula = functions[call->function].formula;
	uint64_t m = (uint64_t)call->m, n = (uint64_t)call->n, k = (uint64_t)call->k;
	bool is_triangle = formula == POTRF || formula == POTRS || formula == POTRI;
	bool is_product = formula == ORMQR;

	if (!gt_solve_count((enum gt_solve)(formula - GETRF), m, n, k, is_left(call),
			    &work->multiplications.value, &work->additions.value))
		work->additions.overflow = true;
	work->a = is_triangle        ? triangle(n, true)
		  : formula == GETRS ? product(n, n, 1)
		  : is_product       ? product(is_left(call) ? m : n, k, 1)
				     : product(m, n, 1);
	if (formula == GETRS || formula == POTRS)
		work->b = product(n, k, 1);
	work->c = is_product ? product(m, n, 1) : work->c;
}

static void (*const counts[FORMULA_COUNT])(const struct gt_math_call *, struct work *) = {
	[GEMM] = count_gemm,   [GEMV] = count_gemv,   [GER] = count_ger,     [SYMM] = count_symm,
	[SYMV] = count_symv,   [SYRK] = count_syrk,   [SYR2K] = count_syr2k, [TRMM] = count_trmm,
	[TRMV] = count_trmv,   [FFT] = count_fft,     [GETRF] = count_solve, [GETRS] = count_solve,
	[POTRF] = count_solve, [POTRS] = count_solve, [POTRI] = count_solve, [GEQRF] = count_solve,
	[ORGQR] = count_solve, [ORMQR] = count_solve,
};

static struct amount bytes_of(struct amount elements, uint8_t type, uint64_t batch)
{
	struct amount bits =
		times(times(elements, batch), type < COUNT(types) ? types[type].bits : 0);

	bits.value = (bits.value + 7) / 8;
	return bits;
}

static bool can_count(const struct gt_math_call *call)
{
	return call->function < COUNT(functions) && functions[call->function].formula && call->a &&
	       is_known(call->a) && call->m >= 0 && call->n >= 0 && call->k >= 0 &&
	       call->batch >= 0;
}

static uint64_t bytes_of_all(const struct gt_math_call *call, const struct work *work,
			     uint64_t batch)
{
	uint64_t of_a = call->once & GT_MATH_SAME_A ? 1 : batch;
	uint64_t of_b = call->once & GT_MATH_SAME_B ? 1 : batch;
	struct amount all =
		plus(plus(bytes_of(work->a, call->a, of_a), bytes_of(work->b, call->b, of_b)),
		     bytes_of(work->c, call->c, batch));

	if (!is_known(call->a) || !is_known(call->b) || !is_known(call->c))
		return 0;
	return all.overflow || all.value > INT64_MAX ? 0 : all.value;
}

static struct amount flops_of(const struct gt_math_call *call, struct work *work, uint64_t batch)
{
	bool is_complex = types[call->a].is_complex;
	struct amount flops = {0, work->points.overflow};

	if (functions[call->function].formula == FFT) {
		flops.overflow |=
			!gt_fft_flops(work->points.value, batch, work->is_real, &flops.value);
		return flops;
	}
	if (is_complex) {
		work->multiplications = times(work->multiplications, IN_COMPLEX_MULTIPLICATION);
		work->additions = times(work->additions, IN_COMPLEX_ADDITION);
	}
	return times(plus(work->multiplications, work->additions), batch);
}

void gt_math_count(struct gt_math_call *call)
{
	uint64_t batch = call->sizes & GT_MATH_BATCH ? (uint64_t)call->batch : 1;
	struct work work = {0};
	struct amount flops;

	if (!can_count(call))
		return;
	counts[functions[call->function].formula](call, &work);
	flops = flops_of(call, &work, batch);
	call->overflow = flops.overflow || flops.value > INT64_MAX;
	call->flops = call->overflow ? 0 : flops.value;
	call->bytes = bytes_of_all(call, &work, batch);
}
