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
struct gt_sink;
struct gt_writer;

/* A GPU of a file that holds several processes. */
struct gt_writer_gpu {
	char name[128]; /* empty: not known */
	uint32_t major, minor;
};

/* A file of several processes holds one after the other, each by a writer of its own. */
struct gt_writer_part {
	uint32_t number, count;      /* of this process, from 0; of all */
	uint32_t pid;                /* that no other process of the file has */
	uint32_t first_gpu, devices; /* what is added to the number of a device, how many it has */
	const struct gt_writer_gpu *gpus; /* of all processes */
	uint32_t gpu_count;
};

/* Options of a file. */
struct gt_writer_options {
	bool full_stacks; /* --stacks=full: "frames" on every slice */
	bool sync_tracks; /* --sync: cuda_sync slices are wanted */
	bool has_next;    /* a full file is followed by another, see is_full */
	uint64_t border;  /* calls up to this correlation id are in earlier files: no flows */
	bool few_details; /* --details=few: only times, places and ids */
	bool brief;       /* --details=default: JSON has what readers use, with few blanks */
	bool own_flows;   /* --details=all: JSON has a flow for each operation of a call */
	bool resumes;     /* an existing file is appended to, see recall and resume */
	const struct gt_writer_part *part; /* NULL: the file is of one process (.pftrace only) */
};

/* A track of a .pftrace that is appended to. */
struct gt_perfetto_entry;

/* State of a file that is appended to. */
struct gt_writer_past {
	uint64_t offset;       /* bytes of it that stay */
	uint64_t names, flows; /* JSON: names of tracks and starts of flows in it */
	bool has_whole_step;   /* JSON: the step of a trace that has none is in it */
	/* .pftrace: both sequences start over, with their clocks and interned data; tracks keep
	 * their numbers */
	bool gpus_written;
	const struct gt_perfetto_entry *tracks; /* each with its number */
	size_t track_count;
};

/* A format. */
struct gt_writer_ops {
	const char *name;   /* "chrome", "null" */
	const char *suffix; /* ".pt.trace.json"; NULL: no file, no sink */
	size_t private_size;
	size_t open_bytes; /* of memory that a writer takes to open a file, at most */

	/* called once, before any event: the sink (owned by the caller) and the metadata so far;
	 * with options->resumes no sink: nothing is written before resume() */
	int (*open)(struct gt_writer *w, struct gt_sink *sink, const struct gt_metadata *metadata,
		    const struct gt_writer_options *options);
	/* called for every event, in no particular order of time. Negative errno: this or earlier
	 * events are lost, which the writer has counted; keep calling */
	int (*event)(struct gt_writer *w, const struct gt_event *event);
	/* with options->resumes, called for each event in the file, in its order; @tid: its track
	 * (JSON) */
	void (*recall)(struct gt_writer *w, const struct gt_event *event, uint32_t tid);
	/* then called once, before other events: appends them to what stays of the file, none of
	 * which is dropped when they do not fit. 0 or a negative errno */
	int (*resume)(struct gt_writer *w, struct gt_sink *sink, const struct gt_metadata *metadata,
		      const struct gt_writer_past *past);
	/* called after open when an earlier file is full: takes over what its writer, which is
	 * closed next, has not written yet */
	void (*follow)(struct gt_writer *w, struct gt_writer *before);
	/* true: open another file; if that is impossible, keep writing to this one */
	bool (*is_full)(const struct gt_writer *w);
	/* the ledger of the file, NULL: there is no file */
	struct gt_file *(*file)(struct gt_writer *w);
	/* called when the metadata changed, before the first event that refers to the change */
	int (*metadata)(struct gt_writer *w, const struct gt_metadata *metadata);
	/* called at least twice a second: all events so far become readable in the file, except GPU
	 * operations newer than @settled (trace ns), which may wait to be sorted */
	int (*flush)(struct gt_writer *w, uint64_t settled);
	/* called once at the end: closes the file. @ledger is complete except for the writer's own
	 * counts, which it adds (GT_LEDGER_*_WRITTEN, bytes). */
	int (*close)(struct gt_writer *w, const struct gt_metadata *metadata,
		     struct gt_ledger *ledger);
	/* called last, also after a failed open: frees what open and event allocated */
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
