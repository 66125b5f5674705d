/* SPDX-License-Identifier: Apache-2.0
 *
 * Does a trace keep to docs/FORMAT.md, and does its ledger balance? Each check is a row of
 * analysis/verify/verify.def; what it finds is printed as "FILE:LINE: what". One thread per
 * file, and one more behind its last event.
 */
#ifndef GT_ANALYSIS_VERIFY_VERIFY_H
#define GT_ANALYSIS_VERIFY_VERIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A check, as verify.def lists them. */
enum gt_check {
#define GT_CHECK(id, kind, help) GT_CHECK_##id,
#include "analysis/verify/verify.def"
#undef GT_CHECK
	GT_CHECK_COUNT_
};

/* Options of the command. */
struct gt_verify_options {
	uint64_t lines_per_check; /* findings printed of each check, the rest is counted */
	bool strict;              /* losses that the ledger accounts for are findings too */
};

/* What was found in one file. */
struct gt_verify_result {
	uint64_t findings; /* of all checks */
	uint64_t losses;   /* lines about accounted losses */
	bool is_unknown;   /* there is no ledger: what was lost is not known */
	uint64_t count[GT_CHECK_COUNT_];
	uint64_t events;
};

/* Prints findings to @out. 0, or a negative errno when the file could not be read to its end (that
 * is printed as a finding too). */
int gt_verify_file(const char *path, const struct gt_verify_options *options, FILE *out,
		   struct gt_verify_result *ret_result);

#endif
