/* SPDX-License-Identifier: Apache-2.0
 *
 * The arguments of a note, a JSON object of the trace, in words for people: "12 API calls, ring
 * full". Pure but for @out, any thread.
 */
#ifndef GT_ANALYSIS_HOLES_NOTE_WORDS_H
#define GT_ANALYSIS_HOLES_NOTE_WORDS_H

#include <stdio.h>

/* Writes them to @out, unchecked: the caller shows them (readers/show.h). Stacks, frames and
 * modules are left out, for the trace shows them. Nothing for an empty object; what is no object,
 * as it is.
 */
void gt_note_words(const char *text, FILE *out);

/* The same of an allocation that failed: sizes with units, and why. */
void gt_note_failure(const char *text, FILE *out);

#endif
