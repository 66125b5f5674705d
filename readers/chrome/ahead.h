/* SPDX-License-Identifier: Apache-2.0
 *
 * Scans the events of a plain file on other cores, ahead of the thread that reads it. A chunk of
 * the file begins anywhere, so where its first event begins is a guess. It does no harm: what was
 * scanned counts only if the reader has come to the very byte where it begins, and then its record
 * depends on the bytes from there on alone. What is missing the reader scans itself.
 *
 * The threads share the table of chunks; everything but the start is for the reader's thread.
 */
#ifndef GT_READERS_CHROME_AHEAD_H
#define GT_READERS_CHROME_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "readers/chrome/reader.h"

/* How files are cut. */
struct gt_ahead_limits {
	size_t chunk;     /* bytes */
	uint64_t least;   /* bytes that must be left of a file */
	unsigned threads; /* at most */
	long cores;       /* 0: those of the machine */
};

/* What holds for all readings; tests make it small, before the first one. */
extern struct gt_ahead_limits gt_ahead_limits;

/* Begins of an event's text that are looked for: "{" and its first key. */
#define GT_AHEAD_PATTERN 32

/* Where an event is, and what is behind it. */
struct gt_ahead_event {
	const char *text;
	uint32_t size;
	bool loose;            /* as gt_scan.loose */
	bool comma;            /* a comma follows, and an event or another object behind it */
	uint32_t lines_inside; /* newlines in the event */
	uint32_t skip,
		lines; /* bytes and newlines up to what is behind; without a comma of the event */
};

struct gt_ahead;

/*
 * Starts threads that scan what is behind byte @from of a file, where an event begins whose first
 * bytes are @begin, of which @size may be used. NULL: not worth it, or not possible. @fd stays the
 * caller's.
 */
struct gt_ahead *gt_ahead_start(int fd, uint64_t from, const char *begin, size_t size);

/* The event that begins at @byte: false if it is not known. @ret_record has everything but line
 * and byte, and is valid, with its text, until the next call. Bytes only grow from call to call. */
bool gt_ahead_take(struct gt_ahead *ahead, uint64_t byte, struct gt_trace_event *ret_record,
		   struct gt_ahead_event *ret_event);

/* Ends the threads and frees everything. NULL is fine. */
void gt_ahead_stop(struct gt_ahead *ahead);

#endif
