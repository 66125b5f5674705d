/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "preload/solvers/sparse.h"

#include <stdatomic.h>
#include <stddef.h>

#include "preload/solvers/given.h"
#include "preload/libraries/freed.h"
#include "preload/libraries/handles.h"

#define BITS  13
#define PLAIN 0 /* CUSPARSE_OPERATION_NON_TRANSPOSE */

static const char *const sonames[] = {"libcusparse.so.12", "libcusparse.so.11", NULL};
const struct real_library cusparse_library = {"libcusparse", sonames};
struct library_version cusparse_version = {
	&cusparse_library, "cusparseGetProperty", 11, 12, {0}, NULL, false};

/* ---- which descriptors there are ---- */

static _Atomic uintptr_t keys[1u << BITS];
static _Atomic uint8_t kinds[1u << BITS];
static const struct handles handles = {keys, BITS};

void sparse_keep(const void *made, enum sparse_kind kind, int failed)
{
	const void *descriptor = made && !failed ? *(const void *const *)made : NULL;
	uint32_t at = descriptor ? handles_add(&handles, (uintptr_t)descriptor) : HANDLES_NONE;

	freed_forget((uintptr_t)descriptor);
	if (at != HANDLES_NONE)
		atomic_store_explicit(&kinds[at], (uint8_t)kind, memory_order_relaxed);
}

void sparse_forget(const void *descriptor)
{
	if (!descriptor || handles_find(&handles, (uintptr_t)descriptor) == HANDLES_NONE)
		return;
	freed_note((uintptr_t)descriptor);
	handles_remove(&handles, (uintptr_t)descriptor);
}

static bool is_there(const void *descriptor, enum sparse_kind kind)
{
	uint32_t at = descriptor ? handles_find(&handles, (uintptr_t)descriptor) : HANDLES_NONE;

	return at != HANDLES_NONE && atomic_load_explicit(&kinds[at], memory_order_relaxed) == kind;
}

/* ---- what cuSPARSE says of them ---- */

enum sparse_getter {
	FORMAT,
	SIZE,
	CSR,
	CSC,
	COO,
	BATCH_OF,
	DENSE,
	DENSE_BATCH,
	VECTOR,
	SPARSE,
	GETTERS
};

/* Before cuSPARSE 12 there is the second one. */
static const char *const names[GETTERS][2] = {
	[FORMAT] = {"cusparseSpMatGetFormat", NULL},
	[SIZE] = {"cusparseSpMatGetSize", NULL},
	[CSR] = {"cusparseConstCsrGet", "cusparseCsrGet"},
	[CSC] = {"cusparseConstCscGet", "cusparseCscGet"},
	[COO] = {"cusparseConstCooGet", "cusparseCooGet"},
	[BATCH_OF] = {"cusparseSpMatGetStridedBatch", NULL},
	[DENSE] = {"cusparseConstDnMatGet", "cusparseDnMatGet"},
	[DENSE_BATCH] = {"cusparseDnMatGetStridedBatch", NULL},
	[VECTOR] = {"cusparseConstDnVecGet", "cusparseDnVecGet"},
	[SPARSE] = {"cusparseConstSpVecGet", "cusparseSpVecGet"},
};
static struct gt_behind found[GETTERS][2];

/* cusparseFormat_t. */
enum { FORMAT_CSR = 1, FORMAT_CSC = 2, FORMAT_COO = 3 };

static void *getter(enum sparse_getter which)
{
	void *real = gt_behind_ask(&found[which][0], names[which][0], sonames);

	return real || !names[which][1] ? real
					: gt_behind_ask(&found[which][1], names[which][1], sonames);
}

/* A matrix or a vector, of one of the batch. */
struct operand {
	bool is_known;
	bool is_counted; /* nnz is exact */
	bool no_bytes;   /* more than can be counted, or an index type that is not known */
	int64_t rows, cols, nnz, batch;
	uint64_t index_bytes; /* that say where the stored elements are */
	uint8_t type;         /* cudaDataType + 1 */
};

/* Of a cusparseIndexType_t. */
static uint64_t index_size(int type)
{
	static const uint8_t sizes[] = {0, 2, 4, 8};

	return type > 0 && type < 4 ? sizes[type] : 0;
}

static uint64_t times(uint64_t a, uint64_t b, bool *overflow)
{
	*overflow |= __builtin_mul_overflow(a, b, &a);
	return a;
}

static uint64_t plus(uint64_t a, uint64_t b, bool *overflow)
{
	*overflow |= __builtin_add_overflow(a, b, &a);
	return a;
}

static void read_compressed(const void *matrix, int format, struct operand *o)
{
	int (*ask)(const void *, int64_t *, int64_t *, int64_t *, const void **, const void **,
		   const void **, int *, int *, int *, int *) =
		(int (*)(const void *, int64_t *, int64_t *, int64_t *, const void **,
			 const void **, const void **, int *, int *, int *,
			 int *))getter(format == FORMAT_CSR ? CSR : CSC);
	const void *offsets, *indices, *values;
	int of_offsets, of_indices, base, type;
	bool overflow = false;

	if (!ask || ask(matrix, &o->rows, &o->cols, &o->nnz, &offsets, &indices, &values,
			&of_offsets, &of_indices, &base, &type))
		return;
	o->type = given_type(type);
	o->index_bytes =
		plus(times((uint64_t)(format == FORMAT_CSR ? o->rows : o->cols) + 1,
			   index_size(of_offsets), &overflow),
		     times((uint64_t)o->nnz, index_size(of_indices), &overflow), &overflow);
	o->is_known = o->is_counted = true;
	o->no_bytes = overflow || !index_size(of_offsets) || !index_size(of_indices);
}

static void read_coordinates(const void *matrix, struct operand *o)
{
	int (*ask)(const void *, int64_t *, int64_t *, int64_t *, const void **, const void **,
		   const void **, int *, int *, int *) =
		(int (*)(const void *, int64_t *, int64_t *, int64_t *, const void **,
			 const void **, const void **, int *, int *, int *))getter(COO);
	const void *rows, *columns, *values;
	int of_indices, base, type;
	bool overflow = false;

	if (!ask || ask(matrix, &o->rows, &o->cols, &o->nnz, &rows, &columns, &values, &of_indices,
			&base, &type))
		return;
	o->type = given_type(type);
	o->index_bytes =
		times(times((uint64_t)o->nnz, 2, &overflow), index_size(of_indices), &overflow);
	o->is_known = o->is_counted = true;
	o->no_bytes = overflow || !index_size(of_indices);
}

/* Of the other formats cuSPARSE says how large they are; what it stores is padded with zeros. */
static void read_size(const void *matrix, struct operand *o)
{
	int (*ask)(const void *, int64_t *, int64_t *, int64_t *) =
		(int (*)(const void *, int64_t *, int64_t *, int64_t *))getter(SIZE);

	o->is_known = ask && !ask(matrix, &o->rows, &o->cols, &o->nnz);
	o->nnz = 0;
}

static struct operand read_sparse(const void *matrix)
{
	int (*ask)(const void *, int *) = (int (*)(const void *, int *))getter(FORMAT);
	int (*ask_batch)(const void *, int *) = (int (*)(const void *, int *))getter(BATCH_OF);
	struct operand o = {.batch = 1};
	int format, batch;

	if (!ask || !is_there(matrix, SPARSE_KIND_SPARSE_MATRIX) || ask(matrix, &format))
		return o;
	if (format == FORMAT_CSR || format == FORMAT_CSC)
		read_compressed(matrix, format, &o);
	else if (format == FORMAT_COO)
		read_coordinates(matrix, &o);
	else
		read_size(matrix, &o);
	if (ask_batch && !ask_batch(matrix, &batch) && batch > 1)
		o.batch = batch;
	o.is_counted &= o.rows >= 0 && o.cols >= 0 && o.nnz >= 0;
	return o;
}

static struct operand read_dense(const void *matrix)
{
	int (*ask)(const void *, int64_t *, int64_t *, int64_t *, const void **, int *, int *) =
		(int (*)(const void *, int64_t *, int64_t *, int64_t *, const void **, int *,
			 int *))getter(DENSE);
	int (*ask_batch)(const void *, int *, int64_t *) =
		(int (*)(const void *, int *, int64_t *))getter(DENSE_BATCH);
	struct operand o = {.batch = 1};
	const void *values;
	int64_t leading, stride;
	int type, order, batch;

	if (!ask || !is_there(matrix, SPARSE_KIND_DENSE_MATRIX) ||
	    ask(matrix, &o.rows, &o.cols, &leading, &values, &type, &order))
		return o;
	o.type = given_type(type);
	o.is_known = true;
	if (ask_batch && !ask_batch(matrix, &batch, &stride) && batch > 1)
		o.batch = batch;
	o.is_counted =
		o.rows >= 0 && o.cols >= 0 && !__builtin_mul_overflow(o.rows, o.cols, &o.nnz);
	return o;
}

static struct operand read_vector(const void *vector)
{
	int (*ask)(const void *, int64_t *, const void **, int *) =
		(int (*)(const void *, int64_t *, const void **, int *))getter(VECTOR);
	struct operand o = {.batch = 1, .cols = 1};
	const void *values;
	int type;

	if (!ask || !is_there(vector, SPARSE_KIND_DENSE_VECTOR) ||
	    ask(vector, &o.rows, &values, &type))
		return o;
	o.nnz = o.rows;
	o.type = given_type(type);
	o.is_known = true;
	o.is_counted = o.rows >= 0;
	return o;
}

/* ---- what they compute ---- */

static void set_batch(struct gt_math_call *call, int64_t batch)
{
	if (batch == 1)
		return;
	call->batch = batch;
	call->sizes |= GT_MATH_BATCH;
}

static void set_way(const struct sparse_product *of, const struct operand *a,
		    const struct operand *b, const struct operand *c, struct gt_math_call *call)
{
	call->transa = operation(of->transa) & 7;
	call->transb = of->transb < 0 ? 0 : operation(of->transb) & 7;
	call->a = a->type;
	call->b = b->type;
	call->c = c->type;
	call->compute = real_of(given_type(of->compute));
	call->has_algorithm = of->algorithm >= 0;
	call->algorithm = of->algorithm >= 0 ? of->algorithm : 0;
}

static uint64_t bytes_of(const struct operand *o, bool *failed)
{
	uint64_t bits = gt_math_type_bits(o->type);
	uint64_t values = times((uint64_t)o->nnz, bits, failed);

	*failed |= !bits || !o->is_counted || o->no_bytes;
	return times(plus((values + 7) / 8, o->index_bytes, failed), (uint64_t)o->batch, failed);
}

/* @products of each of the batch: a multiplication and an addition. Of a real and a complex operand
 * nothing is claimed. */
static void count(const struct operand *const operands[3], uint64_t products, int64_t batch,
		  struct gt_math_call *call)
{
	bool is_complex = real_of(call->a) != call->a, no_bytes = false, overflow = false;
	uint64_t flops, bytes = 0;

	if (!gt_math_type_bits(call->a) || !gt_math_type_bits(call->b) ||
	    is_complex != (real_of(call->b) != call->b))
		return;
	flops = times(times(products, is_complex ? 8 : 2, &overflow), (uint64_t)batch, &overflow);
	call->overflow = overflow || flops > INT64_MAX;
	call->flops = call->overflow ? 0 : flops;
	for (int i = 0; i < 3; i++)
		bytes = plus(bytes, bytes_of(operands[i], &no_bytes), &no_bytes);
	call->bytes = no_bytes || bytes > INT64_MAX ? 0 : bytes;
}

static bool is_turned(int operation)
{
	return operation != PLAIN;
}

static bool are_known(const struct sparse_product *of, const struct operand *const operands[3],
		      struct gt_math_call *call)
{
	const void *const descriptors[] = {of->a, of->b, of->c};

	for (int i = 0; i < 3; i++)
		if (!operands[i]->is_known)
			freed_blame((uintptr_t)descriptors[i], call);
	return !call->unknown;
}

void sparse_use_vectors(const struct sparse_product *of, struct gt_math_call *call)
{
	struct operand a = read_sparse(of->a), x = read_vector(of->b), y = read_vector(of->c);
	const struct operand *const all[] = {&a, &x, &y};

	if (!are_known(of, all, call))
		return;
	call->sizes = M | N;
	call->m = a.rows;
	call->n = a.cols;
	call->nnz = stored(a.nnz);
	set_way(of, &a, &x, &y, call);
	if (of->is_exact && a.is_counted && a.batch == 1)
		count(all, (uint64_t)a.nnz, 1, call);
}

void sparse_use_matrices(const struct sparse_product *of, struct gt_math_call *call)
{
	struct operand a = read_sparse(of->a), b = read_dense(of->b), c = read_dense(of->c);
	const struct operand *const all[] = {&a, &b, &c};
	bool overflow = false;
	uint64_t products;

	if (!are_known(of, all, call))
		return;
	call->sizes = M | N | K;
	call->m = is_turned(of->transa) ? a.cols : a.rows;
	call->k = is_turned(of->transa) ? a.rows : a.cols;
	call->n = c.cols;
	call->nnz = stored(a.nnz);
	set_batch(call, c.batch);
	set_way(of, &a, &b, &c, call);
	if (!of->is_exact || !a.is_counted || c.cols < 0)
		return;
	products = times((uint64_t)a.nnz, (uint64_t)c.cols, &overflow);
	if (overflow)
		call->overflow = true;
	else
		count(all, products, c.batch, call);
}

void sparse_use_sampled(const struct sparse_product *of, struct gt_math_call *call)
{
	struct operand a = read_dense(of->a), b = read_dense(of->b), c = read_sparse(of->c);
	const struct operand *const all[] = {&a, &b, &c};
	bool overflow = false;
	uint64_t products;

	if (!are_known(of, all, call))
		return;
	call->sizes = M | N | K;
	call->m = c.rows;
	call->n = c.cols;
	call->k = is_turned(of->transa) ? a.rows : a.cols;
	call->nnz = stored(c.nnz);
	set_batch(call, c.batch);
	set_way(of, &a, &b, &c, call);
	if (call->k != (is_turned(of->transb) ? b.cols : b.rows))
		call->unknown = GT_MATH_OUT_OF_RANGE;
	if (!of->is_exact || !c.is_counted || call->k < 0 || call->unknown)
		return;
	products = times((uint64_t)c.nnz, (uint64_t)call->k, &overflow);
	if (overflow)
		call->overflow = true;
	else
		count(all, products, c.batch, call);
}

/* How many products there are, only the elements say. */
void sparse_use_both(const struct sparse_product *of, struct gt_math_call *call)
{
	struct operand a = read_sparse(of->a), b = read_sparse(of->b), c = read_sparse(of->c);
	const struct operand *const all[] = {&a, &b, &c};

	if (!are_known(of, all, call))
		return;
	call->sizes = M | N | K;
	call->m = is_turned(of->transa) ? a.cols : a.rows;
	call->k = is_turned(of->transa) ? a.rows : a.cols;
	call->n = is_turned(of->transb) ? b.rows : b.cols;
	call->nnz = stored(a.nnz);
	set_way(of, &a, &b, &c, call);
}

void sparse_use_vector(const void *vector, struct gt_math_call *call)
{
	int (*ask)(const void *, int64_t *, int64_t *, const void **, const void **, int *, int *,
		   int *) = (int (*)(const void *, int64_t *, int64_t *, const void **,
				     const void **, int *, int *, int *))getter(SPARSE);
	const void *indices, *values;
	int of_indices, base, type;
	int64_t nnz;

	if (!ask || !is_there(vector, SPARSE_KIND_SPARSE_VECTOR) ||
	    ask(vector, &call->n, &nnz, &indices, &values, &of_indices, &base, &type)) {
		freed_blame((uintptr_t)vector, call);
		return;
	}
	call->sizes = N;
	call->nnz = stored(nnz);
	call->b = given_type(type);
}

void sparse_use_one(const void *a, const void *b, int algorithm, struct gt_math_call *call)
{
	struct operand o = read_sparse(a);

	o = o.is_known ? o : read_sparse(b);
	if (!o.is_known) {
		freed_blame((uintptr_t)a, call);
		freed_blame((uintptr_t)b, call);
		return;
	}
	call->sizes = M | N;
	call->m = o.rows;
	call->n = o.cols;
	call->nnz = stored(o.nnz);
	call->a = o.type;
	call->has_algorithm = algorithm >= 0;
	call->algorithm = algorithm >= 0 ? algorithm : 0;
}

void sparse_count_blocks(bool has_columns, struct gt_math_call *call)
{
	bool is_complex = real_of(call->a) != call->a, overflow = false;
	uint64_t flops = times(call->nnz, is_complex ? 8 : 2, &overflow);

	if (call->m < 0 || call->n < 0 || call->k < 0)
		return;
	if (has_columns)
		flops = times(flops, (uint64_t)call->n, &overflow);
	call->overflow = overflow || flops > INT64_MAX;
	call->flops = call->overflow ? 0 : flops;
}
