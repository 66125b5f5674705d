/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace written again in the other form: its events are read back (readers/events.h) and given to
 * the writer that the tracer uses. What `gputrace convert` and the reading of .pftrace files share.
 * One thread per conversion.
 */
#ifndef GT_TRANSFORM_CONVERSION_H
#define GT_TRANSFORM_CONVERSION_H

#include "readers/events.h"
#include "writers/sink.h"
#include "writers/writer.h"

/* What a conversion came to. */
struct gt_conversion {
	const char *format; /* name of the writer */
	struct gt_writer_options options;
	/* called once, when the input has turned out to be a trace: NULL with a negative errno, and
	 * words in error if there are better ones than that errno's */
	struct gt_sink *(*open)(struct gt_conversion *c, int *ret_error);
	const char *from, *to; /* names of input and output, for messages */
	void *data;            /* the caller's */
	uint32_t part;         /* of a file of several processes, see struct gt_events */
	bool takes_part;       /* false: such a file is refused, see is_merged */
	/* each changes what is written; NULL: nothing does */
	void (*change_metadata)(struct gt_conversion *c, struct gt_metadata *metadata);
	void (*change_event)(struct gt_conversion *c, struct gt_event *event);
	/* whether an event is written, asked behind change_event; NULL: all are */
	bool (*takes_event)(struct gt_conversion *c, const struct gt_event *event);
	/* what the input ends with, for an output that cannot be mended at its end, or NULL */
	const struct gt_metadata *last;

	/* called with the ledger that will be written; NULL: it stays */
	void (*change_ledger)(struct gt_conversion *c, struct gt_ledger *ledger);

	/* what it came to */
	char error[1024]; /* one line, when it failed */
	char doubt[256];  /* the ledger of the file against what it holds, when they differ */
	bool closed;      /* false: the file was cut, or lacks processes behind the wanted one */
	uint32_t parts;   /* processes in the file, up to the one behind the wanted */
	uint64_t strange; /* parts that are no events */
	bool is_output_at_fault;
	bool is_merged; /* it failed because the file holds several processes */

	/* private */
	const struct gt_events *events;
	struct gt_writer *writer;
	struct gt_sink *sink;
};

/* Reads with @read, which fills @events, and writes. 0 or a negative errno. What was written of a
 * file that failed stays: c->sink is there to be discarded. */
int gt_conversion_run(struct gt_conversion *c,
		      int (*read)(struct gt_conversion *c, struct gt_events *events));

/* Closes the output, removes it when @failed. */
void gt_conversion_fini(struct gt_conversion *c, bool failed);

#endif
