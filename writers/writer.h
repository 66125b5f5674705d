/* SPDX-License-Identifier: Apache-2.0
 *
 * A writer turns events into bytes of one format. Chosen by name from gt_writers (a NULL-terminated
 * array); private data is allocated with the context. All functions run on the drain thread.
 */
#ifndef GT_WRITERS_WRITER_H
#define GT_WRITERS_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/schema/event.h"
#include "core/schema/ledger.h"
#include "core/schema/metadata.h"

struct gt_file;
struct gt_perfetto_past;
struct gt_sink;
struct gt_writer;

/* Options of a file. */
struct gt_writer_options {
	bool full_stacks; /* --stacks=full: "frames" on every slice */
	bool sync_lanes;  /* --sync: cuda_sync slices are wanted */
	bool has_next;    /* a full file is followed by another: see is_full */
	uint64_t border;  /* calls up to this correlation id stand in earlier files: no arrows to
			     them */
	bool few_details; /* --details=few: times, places and ids only */
	/* perfetto: what stands in the file already, behind which the sink writes. NULL: a new
	 * file */
	const struct gt_perfetto_past *past;
};

/* A format. */
struct gt_writer_ops {
	const char *name;   /* "chrome", "null" */
	const char *suffix; /* ".pt.trace.json"; NULL: no file, no sink */
	size_t private_size;

	/* called once, before any event: takes the sink (owned by the caller), facts so far */
	int (*open)(struct gt_writer *w, struct gt_sink *sink, const struct gt_metadata *metadata,
		    const struct gt_writer_options *options);
	/* called for every event, in no promised order of time. Negative errno: this one or earlier
	 * ones are lost, which the writer has counted; go on calling */
	int (*event)(struct gt_writer *w, const struct gt_event *event);
	/* called behind open when an earlier file is full: takes from its writer, which is closed
	 * next, what it has not written yet */
	void (*follow)(struct gt_writer *w, struct gt_writer *before);
	/* true: it is time to open another file; go on writing to this one when that is not
	 * possible */
	bool (*is_full)(const struct gt_writer *w);
	/* the ledger of the file, NULL: there is no file */
	struct gt_file *(*file)(struct gt_writer *w);
	/* called when the facts changed, also before the first event of what a new fact names */
	int (*metadata)(struct gt_writer *w, const struct gt_metadata *metadata);
	/* called at least twice a second: everything given so far becomes readable in the file,
	 * except GPU operations newer than @settled (trace ns), which may wait for their order */
	int (*flush)(struct gt_writer *w, uint64_t settled);
	/* called once at the end: the file takes its closed form. @ledger is complete but for
	 * what only the writer counts, which it adds (GT_LEDGER_*_WRITTEN, bytes). */
	int (*close)(struct gt_writer *w, const struct gt_metadata *metadata,
		     struct gt_ledger *ledger);
	/* called last, also on a half-open writer: frees what open and event allocated */
	void (*fini)(struct gt_writer *w);
};

/* A writer with its private data. */
struct gt_writer {
	const struct gt_writer_ops *ops;
	struct gt_sink *sink;
	struct gt_ledger ledger; /* what the writer counted; after close the whole */
	void *priv;              /* ops->private_size bytes, zeroed */
};

/* All formats, NULL-terminated. */
extern const struct gt_writer_ops *const gt_writers[];

/* The writer of that name, with its private data. NULL: no such writer (or no memory). Free with
 * gt_writer_free (NULL is fine). */
struct gt_writer *gt_writer_new(const char *name);
void gt_writer_free(struct gt_writer *w);

#endif
