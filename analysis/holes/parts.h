/* SPDX-License-Identifier: Apache-2.0
 *
 * The lines that holes.h is made of. Each function returns how many it wrote. Pure over constant
 * models; any thread.
 */
#ifndef GT_ANALYSIS_HOLES_PARTS_H
#define GT_ANALYSIS_HOLES_PARTS_H

#include <stdio.h>

#include "trace/job.h"

/* What a note speaks of. */
enum gt_holes_note {
	GT_HOLES_NOTE_LOSS,
	GT_HOLES_NOTE_EVENT,     /* leaves no hole */
	GT_HOLES_NOTE_ELSEWHERE, /* another line has it, or it is not worth one */
};

/* The notes of a kind; what happened again and again is one line with the sum: an operation without
 * times is a note of its own. */
size_t gt_holes_print_notes(const struct gt_model *model, enum gt_holes_note kind, FILE *out);

/* Events that were taken otherwise than they stood, and slices of unknown categories. */
size_t gt_holes_print_odd(const struct gt_model *model, FILE *out);

#endif
