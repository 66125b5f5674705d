/* SPDX-License-Identifier: Apache-2.0
 *
 * How much factorizations, and solutions by them, compute. Pure functions, any thread.
 */
#ifndef GT_CORE_SCHEMA_CALLS_SOLVE_H
#define GT_CORE_SCHEMA_CALLS_SOLVE_H

#include <stdbool.h>
#include <stdint.h>

/* Named as in LAPACK. */
enum gt_solve {
	GT_SOLVE_GETRF, /* LU of m x n */
	GT_SOLVE_GETRS, /* n x n, k right sides */
	GT_SOLVE_POTRF, /* Cholesky of n x n */
	GT_SOLVE_POTRS, /* n x n, k right sides */
	GT_SOLVE_POTRI, /* the inverse, from a factor */
	GT_SOLVE_GEQRF, /* QR of m x n */
	GT_SOLVE_ORGQR, /* the first n columns of Q, of k reflectors of m */
	GT_SOLVE_ORMQR, /* m x n times Q of k reflectors, which is left or right of it */
};

/* Multiplications and additions of LAPACK Working Note 41, appendix C (LU of m < n, which it leaves
 * out: counted likewise). 0 for sizes that no call can have. False: they do not fit into 63 bits.
 */
bool gt_solve_count(enum gt_solve what, uint64_t m, uint64_t n, uint64_t k, bool is_left,
		    uint64_t *ret_multiplications, uint64_t *ret_additions);

#endif
