/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the Perfetto writer. docs/FORMAT.md says what they write:
 *
 *   perfetto.c  the writer: calls the function that writes each event
 *   file.c      packets, batches, behaviour at a full disk
 *   header.c    metadata, ledger, the first packets
 *   intern.c    names and call stacks, each written before its first use
 *   tracks.c    tracks of the host: process, threads, counters, additional ones of a thread
 *   host.c      packets of host events
 *   gpu.c       packets of GPU work
 *   extras.c    their arguments that follow from others
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
#include "core/tracks.h"
#include "writers/writer.h"

/* Interned kernels that are remembered, a power of two. */
#define GT_PERFETTO_KERNELS 16384u

/* ---- file.c ---- */

/* The file: batch and counts. */
struct gt_perfetto_file {
	struct gt_file output;
	struct gt_proto batch; /* whole packets that are not in the file yet */
};

/* Counts what was appended to the batch, and writes the batch when it is full. @events 0: names
 * only. @key GT_LEDGER_COUNT_: not counted. */
int gt_perfetto_file_commit(struct gt_perfetto_file *file, enum gt_ledger_key key, uint32_t events);
int gt_perfetto_file_flush(struct gt_perfetto_file *file);

struct gt_perfetto;
/* Writes the ledger and closes the file. 0 or a negative errno. */
int gt_perfetto_file_close(struct gt_perfetto *pf, struct gt_ledger *ledger);

/* ---- intern.c ---- */

/* What has been written of an interned string, by its id. */
struct gt_perfetto_string {
	uint8_t written; /* bit per table */
	uint32_t cbid;   /* last cbid written with this name of a call */
};

/* A number for a key of three words; 0: none yet. */
struct gt_perfetto_entry {
	uint32_t kind, number;
	uint64_t a, b;
};

/* Interned things and their numbers in the file. */
struct gt_perfetto_map {
	struct gt_perfetto_entry *entries; /* open addressing, a power of two */
	uint32_t slots, used;
};

/* Kind of an interned thing. */
enum gt_perfetto_key {
	GT_PERFETTO_FRAME = 1,    /* address of the frame */
	GT_PERFETTO_THREAD,       /* tid */
	GT_PERFETTO_THREAD_TRACK, /* thread, track kind */
	GT_PERFETTO_DEVICE,       /* device: track for its counters */
	GT_PERFETTO_COUNTER,      /* name and series, track of its device */
	GT_PERFETTO_QUEUE,        /* kind, device; context, stream */
	GT_PERFETTO_STAGE,        /* category; name */
	GT_PERFETTO_COPY,         /* kinds of copy and memories */
	GT_PERFETTO_CONTEXT,      /* device, context */
};

/* All interned things of a file. */
struct gt_perfetto_names {
	struct gt_perfetto_string *strings; /* by id */
	uint32_t string_count;
	uint8_t *stacks; /* by id: what of it is written */
	uint32_t stack_count;
	struct gt_perfetto_map map;
	uint32_t frames, tracks, specifications; /* last number assigned */
	struct gt_proto host, gpu; /* interned data that is not in the batch yet, by sequence */
};

/* Makes and frees them. 0 or -ENOMEM. */
int gt_perfetto_names_init(struct gt_perfetto_names *names);
void gt_perfetto_names_fini(struct gt_perfetto_names *names);

/* The number of a key; *@last + 1 if it is new, which is stored in *@last. */
uint32_t gt_perfetto_number(struct gt_perfetto_names *names, enum gt_perfetto_key kind, uint64_t a,
			    uint64_t b, uint32_t *last, bool *ret_fresh);

/* Each writes what is needed as interned data before the event, and returns the iid to use. A NULL
 * string becomes "(no name)". */
uint64_t gt_perfetto_name(struct gt_perfetto *pf, const struct gt_string *string);
uint64_t gt_perfetto_value(struct gt_perfetto *pf, const struct gt_string *string, bool on_gpu);
uint64_t gt_perfetto_frame(struct gt_perfetto *pf, const struct gt_stack_frame *frame);
uint64_t gt_perfetto_stack(struct gt_perfetto *pf, const struct gt_stack *stack);
/* The same for a stack in one line, a text of the GPU sequence. 0: none. */
uint64_t gt_perfetto_stack_line(struct gt_perfetto *pf, const struct gt_stack *stack);

/* An entry of interned data: iid and text. */
void gt_perfetto_put_text(struct gt_proto *data, uint32_t table, uint64_t iid, const char *text,
			  size_t size);

/* A text field, made valid UTF-8 and cut to MAX_TEXT. */
void gt_perfetto_put_clean(struct gt_proto *data, uint32_t field, const char *text, size_t size);

/* State of a string; NULL: no memory. */
struct gt_perfetto_string *gt_perfetto_string(struct gt_perfetto_names *names,
					      const struct gt_string *string);

/* Moves pending interned data into the batch, each in a packet of its own. */
void gt_perfetto_put_names(struct gt_perfetto *pf);

/* ---- gpu.c ---- */

/* An interned kernel: GPU work that is equal except for its own arguments. */
struct gt_perfetto_kernel {
	uint64_t mask;                  /* bit per argument; 0: not used */
	uint64_t arg[GT_PF_ARG_COUNT_]; /* of these; 0 for all others */
	const struct gt_string *name;   /* NULL: follows from the arguments */
	uint32_t iid, stage, queue, context;
};

/* Arguments of kernels that are in the file, by shape. */
struct gt_perfetto_kernels {
	struct gt_perfetto_kernel *slots;
	uint32_t last;  /* iid */
	uint32_t clock; /* which entry of a full set is evicted next */
};

/* Writes GPU work as a render stage. */
void gt_perfetto_put_gpu(struct gt_perfetto *pf, const struct gt_event *event);

/* ---- extras.c ---- */

/* What viewers ask for beside the arguments of an event. */
struct gt_perfetto_extras {
	uint64_t name, line; /* iids of texts, 0: none */
	uint64_t blocks, threads;
	double waves; /* of the launch on all SMs, 0: not known */
	char arch[16];
};

/* Makes them for @event, except the line; its texts are interned data from then on. */
void gt_perfetto_find_extras(struct gt_perfetto *pf, const struct gt_event *event,
			     struct gt_perfetto_extras *ret_extras);
/* Appends them to an interned kernel. */
void gt_perfetto_put_extras(struct gt_proto *data, const struct gt_event *event,
			    const struct gt_perfetto_extras *extras);
/* Appends the line of a stack to the arguments of a slice whose kernel does not have it. */
void gt_perfetto_put_line(struct gt_proto *batch, uint64_t line);

/* ---- perfetto.c ---- */

/* The writer's private data. */
struct gt_perfetto {
	struct gt_metadata metadata;
	struct gt_writer_options options;
	struct gt_perfetto_file file;
	struct gt_perfetto_names names;
	struct gt_perfetto_kernels kernels;
	struct gt_tracks *tracks;
	uint64_t clock[3]; /* time of the last packet, by sequence */
	uint32_t last_tid; /* thread of last_track */
	uint32_t last_track;
	bool gpus_written;
};

/* Whether JSON has a flow start for @event: the first work of each call of this file. Here GPU work
 * names its call instead. */
bool gt_perfetto_begins_flow(const struct gt_perfetto *pf, const struct gt_event *event);

/* Which process of a file of several this is; 0 without. */
static inline uint32_t gt_perfetto_part(const struct gt_perfetto *pf)
{
	return pf->options.part ? pf->options.part->number : 0;
}

/* The pid of the process in the file. */
static inline uint32_t gt_perfetto_pid(const struct gt_perfetto *pf)
{
	return pf->options.part ? pf->options.part->pid : pf->metadata.pid;
}

/* The number of a sequence in the file. */
static inline uint32_t gt_perfetto_sequence(const struct gt_perfetto *pf, uint32_t sequence)
{
	return sequence + GT_PF_SEQUENCES * gt_perfetto_part(pf);
}

/* The number of a track in the file. */
static inline uint64_t gt_perfetto_track(const struct gt_perfetto *pf, uint32_t number)
{
	return number | (uint64_t)gt_perfetto_part(pf) << GT_PF_PART_OF_TRACK;
}

/* The number of a call in the file. */
static inline uint64_t gt_perfetto_call(const struct gt_perfetto *pf, uint32_t correlation)
{
	return correlation | (uint64_t)gt_perfetto_part(pf) << GT_PF_PART_OF_CALL;
}

/* Begins a packet of an event: sequence and time. */
static inline size_t gt_perfetto_begin(struct gt_perfetto *pf, uint32_t sequence, uint64_t ns)
{
	struct gt_proto *batch = &pf->file.batch;
	size_t at = gt_proto_begin(batch, GT_PF_PACKET);

	gt_proto_uint(batch, GT_PF_SEQUENCE, gt_perfetto_sequence(pf, sequence));
	gt_proto_uint(batch, GT_PF_TIMESTAMP, ns - pf->clock[sequence]);
	pf->clock[sequence] = ns;
	return at;
}

/* ---- header.c ---- */

/* The first packets: clock, categories, names of arguments, process, metadata. */
void gt_perfetto_put_start(struct gt_perfetto *pf);
void gt_perfetto_put_metadata(struct gt_perfetto *pf);
/* The devices, before the first work on one. */
void gt_perfetto_put_gpus(struct gt_perfetto *pf);
/* Losses and the ledger, as the last packets. */
void gt_perfetto_put_end(struct gt_perfetto *pf, const struct gt_ledger *ledger);

/* ---- tracks.c ---- */

/* The number of a track, described in the file at its first use. */
uint32_t gt_perfetto_thread(struct gt_perfetto *pf, uint32_t tid);
uint32_t gt_perfetto_thread_track(struct gt_perfetto *pf, const struct gt_event *event,
				  enum gt_track_kind kind);
uint32_t gt_perfetto_unified_track(struct gt_perfetto *pf, const struct gt_event *event);
/* The same for a counter; the process; a new name of a thread. */
uint32_t gt_perfetto_counter(struct gt_perfetto *pf, const struct gt_event *event);
void gt_perfetto_put_process(struct gt_perfetto *pf);
void gt_perfetto_rename_thread(struct gt_perfetto *pf, uint32_t tid, const struct gt_string *name);

/* ---- host.c ---- */

/* Each writes one event as packets. */
void gt_perfetto_put_api(struct gt_perfetto *pf, const struct gt_event *event);
void gt_perfetto_put_range(struct gt_perfetto *pf, const struct gt_event *event);
void gt_perfetto_put_unified(struct gt_perfetto *pf, const struct gt_event *event);
void gt_perfetto_put_mark(struct gt_perfetto *pf, const struct gt_event *event);
void gt_perfetto_put_frame(struct gt_perfetto *pf, const struct gt_event *event);
void gt_perfetto_put_sample(struct gt_perfetto *pf, const struct gt_event *event);
void gt_perfetto_put_overhead(struct gt_perfetto *pf, const struct gt_event *event);
void gt_perfetto_put_tensor(struct gt_perfetto *pf, const struct gt_event *event);
void gt_perfetto_put_counter(struct gt_perfetto *pf, const struct gt_event *event);
void gt_perfetto_put_annotation(struct gt_perfetto *pf, const struct gt_event *event);

#endif
