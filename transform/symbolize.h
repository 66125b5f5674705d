/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace with source positions: in "frames", "created frames" and the lines made of them, a native
 * frame whose module has DWARF becomes "function (file.cu:42)", with the functions that were
 * inlined there in front of it. Everything else of the file stays byte by byte, but a file that was
 * cut ends behind its last whole event, and is closed there. One thread per call.
 */
#ifndef GT_TRANSFORM_SYMBOLIZE_H
#define GT_TRANSFORM_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What symbolizing came to. */
struct gt_symbolize {
	uint64_t frames;  /* native ones, each stack counted once */
	uint64_t found;   /* of these: now with a position */
	uint64_t missing; /* modules that are not here as they were when the trace was made */
	bool cut;         /* the file ends before its JSON does */
	char error[768];  /* one line, after a failure */
};

/* Whether a trace is written in which no position was found. */
enum gt_symbolize_when {
	GT_SYMBOLIZE_ALWAYS,
	GT_SYMBOLIZE_IF_FOUND,
};

/*
 * Writes the trace at @path, plain or compressed, to @out, plain. @debuginfod: see source.h. 0, or
 * a negative errno with ret_result->error: what was written so far is then to be thrown away.
 */
int gt_symbolize(const char *path, FILE *out, enum gt_symbolize_when when, bool debuginfod,
		 struct gt_symbolize *ret_result);

#endif
