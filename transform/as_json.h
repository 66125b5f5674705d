/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace as JSON records, whatever its form: for merge and export, which work on them. A .pftrace
 * is converted once, into a file without a name in $TMPDIR, else /var/tmp, else /tmp; of one that
 * holds several processes the wanted one. One thread per trace.
 */
#ifndef GT_TRANSFORM_AS_JSON_H
#define GT_TRANSFORM_AS_JSON_H

#include "readers/chrome/reader.h"
#include "readers/input.h"

/* What of a .pftrace becomes JSON, and how; zeroed: the first process, as the tracer writes it. */
struct gt_as_json_wish {
	uint32_t part;    /* of a file of several processes, see struct gt_events */
	bool full_stacks; /* frames on every slice */
	bool own_flows;   /* a flow for each operation of a call */
};

/* A trace that is open for reading. */
struct gt_as_json {
	const char *path;
	struct gt_as_json_wish wish;
	uint32_t parts;            /* processes in the file, up to the one behind the wanted */
	struct gt_input in;        /* the file, its first bytes in the window */
	int fd;                    /* what became of a .pftrace; -1: the file is JSON itself */
	bool was_read;             /* the file itself, which must be opened again */
	struct gt_reading outcome; /* of the conversion; its header is empty */
};

/* Opens it, and converts it if need be, as @wish says. @path must outlive it. 0, or a negative
 * errno with outcome.error filled. Close it in either case. */
int gt_as_json_open(struct gt_as_json *trace, const char *path, struct gt_as_json_wish wish);

/* Reads it, as gt_reader_read does; what is not a file only once. */
int gt_as_json_read(struct gt_as_json *trace, gt_reader_event event, void *data,
		    struct gt_reading *ret_reading);

/* Also of one that failed to open. */
void gt_as_json_close(struct gt_as_json *trace);

#endif
