/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the Perfetto writer share. docs/FORMAT.md says what they write:
 *
 *   perfetto.c         the writer: hands each event to the function that writes its kind
 *   file.c    packets, batches, what a full disk does
 *   header.c  facts, ledger, the first packets
 *   intern.c  names and call stacks, each written before its first use
 *   tracks.c  tracks of the host: process, threads, counters, rows beside a thread
 *   host.c    packets of host events
 *   gpu.c     packets of GPU work
 *
 * Drain thread only.
 */
#ifndef GT_WRITERS_PERFETTO_PERFETTO_H
#define GT_WRITERS_PERFETTO_PERFETTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/guest/memory.h"
#include "core/intern.h"
#include "core/schema/event.h"
#include "core/schema/ledger.h"
#include "core/schema/metadata.h"
#include "core/schema/pftrace.h"
#include "core/stack.h"
#include "writers/file.h"
#include "writers/perfetto/proto.h"
#include "writers/sink.h"
#include "writers/tracks.h"
#include "writers/writer.h"

/* Kinds of GPU work whose common arguments are remembered, a power of two. */
#define GT_PERFETTO_KERNELS 16384u

/* ---- file.c ---- */

/* The file: batch and counts. */
struct gt_perfetto_file {
	struct gt_file output;
	struct gt_proto batch; /* whole packets that are not in the file yet */
};

/* Counts what was appended to the batch, and writes the batch when it is full. @events 0: names
 * only. @key GT_LEDGER_COUNT_: no book. */
int gt_perfetto_file_commit(struct gt_perfetto_file *file, enum gt_ledger_key key, uint32_t events);
int gt_perfetto_file_flush(struct gt_perfetto_file *file);

struct gt_perfetto;
/* Writes the ledger and closes the file. 0 or a negative errno. */
int gt_perfetto_file_close(struct gt_perfetto *pf, struct gt_ledger *ledger);

/* ---- intern.c ---- */

/* What has been written of one interned string, by its id. */
struct gt_perfetto_string {
	uint8_t written; /* bit per table */
	uint32_t cbid;   /* last one told with this name of a call */
};

/* A number for a key of three words; 0: it has none yet. */
struct gt_perfetto_entry {
	uint32_t kind, number;
	uint64_t a, b;
};

/* Interned things and their numbers in the file. */
struct gt_perfetto_map {
	struct gt_perfetto_entry *entries; /* open addressing, a power of two */
	uint32_t slots, used;
};

/* What an interned thing is. */
enum gt_perfetto_key {
	GT_PERFETTO_FRAME = 1, /* address of the frame */
	GT_PERFETTO_THREAD,    /* tid */
	GT_PERFETTO_BESIDE,    /* row */
	GT_PERFETTO_DEVICE,    /* device: track for its counters */
	GT_PERFETTO_COUNTER,   /* name and series, track of its device */
	GT_PERFETTO_QUEUE,     /* kind, device; context, stream */
	GT_PERFETTO_STAGE,     /* category; name */
	GT_PERFETTO_COPY,      /* kinds of copy and memories */
	GT_PERFETTO_CONTEXT,   /* device, context */
};

/* All interned things of a file. */
struct gt_perfetto_names {
	struct gt_perfetto_string *strings; /* by id */
	uint32_t string_count;
	uint8_t *stacks; /* by id: 1 when written */
	uint32_t stack_count;
	struct gt_perfetto_map map;
	uint32_t frames, tracks, specifications; /* last number given */
	struct gt_proto host, gpu; /* interned data that is not in the batch yet, by sequence */
};

/* Makes and frees them. 0 or -ENOMEM. */
int gt_perfetto_names_init(struct gt_perfetto_names *names);
void gt_perfetto_names_fini(struct gt_perfetto_names *names);

/* The number of a key; *@last + 1 when it is new, which is stored and told. */
uint32_t gt_perfetto_number(struct gt_perfetto_names *names, enum gt_perfetto_key kind, uint64_t a,
			    uint64_t b, uint32_t *last, bool *ret_fresh);

/* Each puts what is needed into the interned data that goes out before the event, and returns the
 * iid to use. A NULL string reads "(no name)". */
uint64_t gt_perfetto_name(struct gt_perfetto *pf, const struct gt_string *string);
uint64_t gt_perfetto_value(struct gt_perfetto *pf, const struct gt_string *string, bool on_gpu);
uint64_t gt_perfetto_frame(struct gt_perfetto *pf, const struct gt_stack_frame *frame);
uint64_t gt_perfetto_stack(struct gt_perfetto *pf, const struct gt_stack *stack);

/* An entry of interned data: iid and text. */
void gt_perfetto_put_text(struct gt_proto *data, uint32_t table, uint64_t iid, const char *text,
			  size_t size);

/* A field with text that is made valid UTF-8 and cut to a sane length. */
void gt_perfetto_put_clean(struct gt_proto *data, uint32_t field, const char *text, size_t size);

/* Row of a string; NULL: no memory. */
struct gt_perfetto_string *gt_perfetto_string(struct gt_perfetto_names *names,
					      const struct gt_string *string);

/* Moves pending interned data into the batch, each in a packet of its own. */
void gt_perfetto_put_names(struct gt_perfetto *pf);

/*
 * What stands in a file that is gone on with. Both sequences begin anew, with their clocks and
 * interned data; the numbers of tracks are those of the file.
 */
struct gt_perfetto_past {
	uint64_t offset;                        /* bytes of it */
	uint64_t last;                          /* latest end of its events */
	bool gpus_written;                      /* gt_perfetto_put_gpus */
	const struct gt_perfetto_entry *tracks; /* each with its number */
	size_t track_count;
};

/* The book that the event is counted in; GT_LEDGER_COUNT_: none. */
enum gt_ledger_key gt_perfetto_ledger_key(const struct gt_event *event);

/* ---- gpu.c ---- */

/* GPU work that is alike in everything but its time: one interned kernel. */
struct gt_perfetto_kernel {
	uint64_t mask;                  /* bit per argument; 0: not used */
	uint64_t arg[GT_PF_ARG_COUNT_]; /* of these; 0 for all others */
	const struct gt_string *name;   /* NULL: follows from the arguments */
	uint32_t iid, stage, queue, context;
};

/* Arguments of kernels that the file has already, by shape. */
struct gt_perfetto_kernels {
	struct gt_perfetto_kernel *slots;
	uint32_t last;  /* iid */
	uint32_t clock; /* which of a full set goes next */
};

/* Writes GPU work as a render stage. */
void gt_perfetto_put_gpu(struct gt_perfetto *pf, const struct gt_event *event);

/* ---- perfetto.c ---- */

/* The writer's private data. */
struct gt_perfetto {
	struct gt_metadata metadata;
	struct gt_writer_options options;
	struct gt_perfetto_file file;
	struct gt_perfetto_names names;
	struct gt_perfetto_kernels kernels;
	struct gt_tracks *lanes;
	uint64_t clock[3]; /* time of the last packet, by sequence */
	uint64_t last;     /* latest end of all events */
	uint32_t last_tid; /* whose track is last_track */
	uint32_t last_track;
	bool gpus_written;
};

/* Begins a packet of an event: sequence and time. */
static inline size_t gt_perfetto_begin(struct gt_perfetto *pf, uint32_t sequence, uint64_t ns)
{
	struct gt_proto *batch = &pf->file.batch;
	size_t at = gt_proto_begin(batch, GT_PF_PACKET);

	gt_proto_uint(batch, GT_PF_SEQUENCE, sequence);
	gt_proto_uint(batch, GT_PF_TIMESTAMP, ns - pf->clock[sequence]);
	pf->clock[sequence] = ns;
	return at;
}

/* ---- header.c ---- */

/* The first packets: clock, categories, names of arguments, process, facts. */
void gt_perfetto_put_start(struct gt_perfetto *pf);
void gt_perfetto_put_metadata(struct gt_perfetto *pf);
/* The devices, before the first work on one. */
void gt_perfetto_put_gpus(struct gt_perfetto *pf);
/* What was lost, and the ledger, as the last packets. */
void gt_perfetto_put_end(struct gt_perfetto *pf, const struct gt_ledger *ledger);

/* ---- tracks.c ---- */

/* The number of a track, described in the file at its first use. */
uint32_t gt_perfetto_thread(struct gt_perfetto *pf, uint32_t tid);
uint32_t gt_perfetto_beside(struct gt_perfetto *pf, const struct gt_event *event,
			    enum gt_track_kind kind);
/* The same of a counter; the process and a new name of a thread. */
uint32_t gt_perfetto_counter(struct gt_perfetto *pf, const struct gt_event *event);
void gt_perfetto_put_process(struct gt_perfetto *pf);
void gt_perfetto_rename_thread(struct gt_perfetto *pf, uint32_t tid, const struct gt_string *name);

/* ---- host.c ---- */

/* Each writes one event as packets. */
void gt_perfetto_put_api(struct gt_perfetto *pf, const struct gt_event *event);
void gt_perfetto_put_range(struct gt_perfetto *pf, const struct gt_event *event);
void gt_perfetto_put_mark(struct gt_perfetto *pf, const struct gt_event *event);
void gt_perfetto_put_frame(struct gt_perfetto *pf, const struct gt_event *event);
void gt_perfetto_put_sample(struct gt_perfetto *pf, const struct gt_event *event);
void gt_perfetto_put_overhead(struct gt_perfetto *pf, const struct gt_event *event);
void gt_perfetto_put_counter(struct gt_perfetto *pf, const struct gt_event *event);
void gt_perfetto_put_annotation(struct gt_perfetto *pf, const struct gt_event *event);

#endif
