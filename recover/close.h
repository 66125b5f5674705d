/* SPDX-License-Identifier: Apache-2.0
 *
 * Closes the file of a process that died: any combination of the array's or the object's beginning
 * with a running, cut or finished end becomes the closed object of docs/FORMAT.md. In place where
 * the first event is padded, else through a file beside it. One thread per file.
 */
#ifndef GT_RECOVER_CLOSE_H
#define GT_RECOVER_CLOSE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "readers/chrome/reader.h"
#include "recover/pin.h"

/* What was done to a file. */
struct gt_close {
	bool was_closed; /* nothing was done */
	bool in_place;
	bool has_ledger; /* of a file that was closed */
	uint64_t events; /* kept */
	uint64_t cut;    /* bytes behind the last whole event that were given up */
	char why[256];   /* what was wrong with the file */
	char error[768]; /* one line, after a failure */
};

/*
 * Closes the file. 0 (also when it was closed), or a negative errno with ret_close->error:
 * -EBADMSG: wrong JSON in the middle, which no killed process leaves, or what is JSON to some
 * readers only (NaN, text that is not UTF-8); the file is not touched. A repair that is itself
 * interrupted can be repeated.
 */
int gt_close_file(const struct gt_pin *pin, struct gt_close *ret_close);

/* Writes what closes the object form behind the last event of a file that was read: its ledger, if
 * it has one, else that it was repaired, @cut bytes given up. */
void gt_close_put_end(const struct gt_reading *reading, uint64_t cut, FILE *out);

#endif
