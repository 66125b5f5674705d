/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors of cuSPARSE, and what calls with them compute. Those that the program has made and
 * not destroyed are known, the newest few thousand; only they are asked, by cuSPARSE's public
 * getters, which read memory only. Any thread; no lock, no allocation, no system call once the
 * getters are known.
 */
#ifndef GT_PRELOAD_SOLVERS_SPARSE_H
#define GT_PRELOAD_SOLVERS_SPARSE_H

#include "core/schema/math_call.h"
#include "preload/libraries/real.h"
#include "preload/libraries/version.h"

/* The program's cuSPARSE, and which of them are known. */
extern const struct real_library cusparse_library;
/* Its version. */
extern struct library_version cusparse_version;

/* Kinds of descriptors. */
enum sparse_kind {
	SPARSE_KIND_NONE,
	SPARSE_KIND_SPARSE_MATRIX,
	SPARSE_KIND_SPARSE_VECTOR,
	SPARSE_KIND_DENSE_MATRIX,
	SPARSE_KIND_DENSE_VECTOR,
};

/* @made: where cuSPARSE has written a new descriptor, if it has not @failed. */
void sparse_keep(const void *made, enum sparse_kind kind, int failed);

/* Before it is destroyed: another thread may get the same address. */
void sparse_forget(const void *descriptor);

/* What the arguments of a product have in common; a type or an algorithm of -1: none. */
struct sparse_product {
	int transa, transb; /* cusparseOperation_t; -1: none */
	const void *a, *b, *c;
	int compute, algorithm;
	bool is_exact; /* FLOPs and bytes follow from the sizes */
};

/* Sets sizes and types of @call, and FLOPs and bytes where they are exact. Of a descriptor that is
 * not known, nothing. */
void sparse_use_vectors(const struct sparse_product *of, struct gt_math_call *call);
void sparse_use_matrices(const struct sparse_product *of, struct gt_math_call *call);
void sparse_use_sampled(const struct sparse_product *of, struct gt_math_call *call);
void sparse_use_both(const struct sparse_product *of, struct gt_math_call *call);
void sparse_use_vector(const void *vector, struct gt_math_call *call);
void sparse_use_one(const void *a, const void *b, int algorithm, struct gt_math_call *call);

/* FLOPs of a product of blocks, by sizes that are set: with a vector, or with n columns. */
void sparse_count_blocks(bool has_columns, struct gt_math_call *call);

#endif
