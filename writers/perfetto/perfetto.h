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
 *   kernels.c   the table of interned kernels
 *   stages.c    tracks of GPU work, names of its slices, contexts
 *   extras.c    their arguments that follow from others
 *
 * Drain thread only.
 */
#ifndef GT_WRITERS_PERFETTO_PERFETTO_H
#define GT_WRITERS_PERFETTO_PERFETTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
int gt_perfetto_file_flush(struct gt_perfetto_file *file);
static inline int gt_perfetto_file_commit(struct gt_perfetto_file *file, enum gt_ledger_key key,
					  uint32_t events)
{
	gt_file_count(&file->output, &(struct gt_file_tally){.key = key, .events = events});
	if (file->batch.length < file->output.batch && !file->batch.failed)
		return 0;
	return gt_perfetto_file_flush(file);
}

struct gt_perfetto;
/* Writes the ledger and closes the file. 0 or a negative errno. */
int gt_perfetto_file_close(struct gt_perfetto *pf, struct gt_ledger *ledger);

/* ---- intern.c ---- */

/* Tables in which a string can be, a bit each. */
enum gt_perfetto_table {
	GT_PERFETTO_NAME = 1,
	GT_PERFETTO_FUNCTION = 2,
	GT_PERFETTO_MODULE = 4,
	GT_PERFETTO_SOURCE = 8,
	GT_PERFETTO_HOST_VALUE = 16,
	GT_PERFETTO_GPU_VALUE = 32,
};

/* What has been written of an interned string, by its id. */
struct gt_perfetto_string {
	uint8_t written; /* bit per table */
	uint32_t cbid;   /* last cbid written with this name of a call */
	uint32_t stage;  /* of kernels of this name, 0: none yet */
};

/* What of a stack is written, a bit each. */
enum { GT_PERFETTO_STACK_FRAMES = 1, GT_PERFETTO_STACK_LINE = 2 };

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
uint64_t gt_perfetto_new_name(struct gt_perfetto *pf, const struct gt_string *string);
uint64_t gt_perfetto_value(struct gt_perfetto *pf, const struct gt_string *string, bool on_gpu);
uint64_t gt_perfetto_frame(struct gt_perfetto *pf, const struct gt_stack_frame *frame);
uint64_t gt_perfetto_new_stack(struct gt_perfetto *pf, const struct gt_stack *stack);
/* The same for a stack in one line, a text of the GPU sequence. 0: none. */
uint64_t gt_perfetto_stack_line(struct gt_perfetto *pf, const struct gt_stack *stack);

/* An entry of interned data: iid and text. */
void gt_perfetto_put_text(struct gt_proto *data, uint32_t table, uint64_t iid, const char *text,
			  size_t size);

/* A text field, made valid UTF-8 and cut to MAX_TEXT. */
void gt_perfetto_put_clean(struct gt_proto *data, uint32_t field, const char *text, size_t size);

/* Makes room for the state of a string; NULL: no memory. */
struct gt_perfetto_string *gt_perfetto_more_strings(struct gt_perfetto_names *names, uint32_t id);

/* The state of a string; NULL: no memory. */
static inline struct gt_perfetto_string *gt_perfetto_string(struct gt_perfetto_names *names,
							    const struct gt_string *string)
{
	if (string->id < names->string_count)
		return &names->strings[string->id];
	return gt_perfetto_more_strings(names, string->id);
}

/* See gt_perfetto_put_names(). */
void gt_perfetto_put_pending(struct gt_perfetto *pf);

/* ---- gpu.c ---- */

/* Writes GPU work as a render stage. */
void gt_perfetto_put_gpu(struct gt_perfetto *pf, const struct gt_event *event);

/* ---- kernels.c ---- */

#define GT_PERFETTO_SIZES  16u
#define GT_PERFETTO_LIMITS 5u

/* All that the shared arguments of GPU work follow from, as it is in the event. Compared as bytes:
 * no padding. */
struct gt_perfetto_shape {
	const void *name, *other, *created, *nvtx, *forward, *stack;
	uint64_t node, blocks, warps;
	uint32_t sizes[GT_PERFETTO_SIZES]; /* of a kernel, grid to graph; others have others */
	uint32_t device, context, stream, channel;
	uint32_t percents[2], kind;
	uint16_t limits[GT_PERFETTO_LIMITS], flags;
};

/* Bytes of queue, stage and kernel in a slice, at most. */
#define GT_PERFETTO_TAIL 19u

/* An interned kernel: GPU work that is equal except for its own arguments. */
struct gt_perfetto_kernel {
	struct gt_perfetto_shape shape;
	uint32_t configuration; /* of the kernel that it was found for last; 0: it has none */
	uint32_t iid;
	uint8_t tail[GT_PERFETTO_TAIL], tail_size;
};

/* The number of a stream's track, looked up last. */
struct gt_perfetto_queue {
	uint32_t device, context, stream, kind;
	uint32_t iid; /* 0: none */
};

#define GT_PERFETTO_QUEUES 16u
#define GT_PERFETTO_RECENT 64u

/* Those that are in the file. */
struct gt_perfetto_kernels {
	struct gt_perfetto_kernel *slots;
	uint32_t *tags;   /* of the hashes of their shapes; 0: not used */
	uint32_t last;    /* iid */
	uint32_t clock;   /* which entry of a full set is evicted next */
	uint64_t context; /* the last one that was looked up, plus 1 */
	struct gt_perfetto_kernel *recent[GT_PERFETTO_RECENT]; /* found last, by what most differ
								* in; NULL: none */
	struct gt_perfetto_queue queues[GT_PERFETTO_QUEUES];   /* by stream */
};

/* Makes and frees the table. 0 or -ENOMEM. */
int gt_perfetto_kernels_init(struct gt_perfetto_kernels *kernels);
void gt_perfetto_kernels_fini(struct gt_perfetto_kernels *kernels);

/* Slices share graph nodes and call stacks while all kernels fit into the table. Beyond that,
 * replays of large graphs, or launches from many places, would evict each other and each slice
 * would bring its own kernel. */
static inline bool gt_perfetto_has_many(const struct gt_perfetto_kernels *kernels)
{
	return kernels->last >= GT_PERFETTO_KERNELS;
}

/* The kernel of GPU work; a new one gets its iid, and the caller writes it. */
struct gt_perfetto_kernel *gt_perfetto_find_kernel(struct gt_perfetto *pf,
						   const struct gt_event *event, bool *ret_known);

/* ---- stages.c ---- */

/* Each is interned data from then on. The track of a stream: one for its work, others for waits and
 * ranges. */
uint32_t gt_perfetto_queue(struct gt_perfetto *pf, const struct gt_event *event);
/* The name of a slice. */
uint32_t gt_perfetto_stage(struct gt_perfetto *pf, const struct gt_event *event);
/* CUPTI's id of a context, unique in the process. */
void gt_perfetto_context(struct gt_perfetto *pf, uint32_t context);

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

/* Most names and stacks are written: these are the functions above. */
static inline uint64_t gt_perfetto_name(struct gt_perfetto *pf, const struct gt_string *string)
{
	const struct gt_perfetto_names *names = &pf->names;

	if (string && string->id < names->string_count &&
	    names->strings[string->id].written & GT_PERFETTO_NAME)
		return string->id;
	return gt_perfetto_new_name(pf, string);
}

/* See gt_perfetto_name(). */
static inline uint64_t gt_perfetto_stack(struct gt_perfetto *pf, const struct gt_stack *stack)
{
	const struct gt_perfetto_names *names = &pf->names;

	if (stack && stack->id < names->stack_count &&
	    names->stacks[stack->id] & GT_PERFETTO_STACK_FRAMES)
		return stack->id;
	return gt_perfetto_new_stack(pf, stack);
}

/* Moves pending interned data into the batch, each in a packet of its own. */
static inline void gt_perfetto_put_names(struct gt_perfetto *pf)
{
	const struct gt_proto *host = &pf->names.host, *gpu = &pf->names.gpu;

	if (host->length | gpu->length || host->failed || gpu->failed)
		gt_perfetto_put_pending(pf);
}

/* Whether JSON has a flow start for @event: the first work of each call of this file. Here GPU work
 * names its call instead. */
static inline bool gt_perfetto_begins_flow(const struct gt_perfetto *pf,
					   const struct gt_event *event)
{
	return event->launch.first && event->launch.known && event->launch.start &&
	       gt_event_is_gpu(event->kind) && event->kind != GT_EVENT_SYNC &&
	       event->correlation > pf->options.border && !pf->options.few_details;
}

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

/* Bytes of the beginning of a packet, at most. */
#define GT_PERFETTO_BEGIN 20u

/* Begins a packet of an event at @packet, which has room for GT_PERFETTO_BEGIN bytes: its length,
 * which goes to packet[1], sequence and time. Returns the end. */
static inline uint8_t *gt_perfetto_put_begin(struct gt_perfetto *pf, uint8_t *packet,
					     uint32_t sequence, uint64_t ns)
{
	uint8_t *at = gt_proto_put_tag(packet, GT_PF_PACKET, GT_PROTO_WIRE_BYTES) + 1;

	at = gt_proto_put_uint(at, GT_PF_SEQUENCE, gt_perfetto_sequence(pf, sequence));
	at = gt_proto_put_uint(at, GT_PF_TIMESTAMP, ns - pf->clock[sequence]);
	pf->clock[sequence] = ns;
	return at;
}

/* Begins a packet of an event, for gt_proto_end. */
static inline size_t gt_perfetto_begin(struct gt_perfetto *pf, uint32_t sequence, uint64_t ns)
{
	struct gt_proto *batch = &pf->file.batch;
	uint8_t *packet = gt_proto_reserve(batch, GT_PERFETTO_BEGIN);
	size_t at = batch->length + 2;

	if (!packet)
		return batch->length;
	gt_proto_written(batch, gt_perfetto_put_begin(pf, packet, sequence, ns));
	return at;
}

/* Bytes of a number as an argument, at most. */
#define GT_PERFETTO_ARG_ROOM 16u

/* The beginning of an argument of GPU work, in a field below 16: the @iid of its name, below 128,
 * and the @tag of the field with its value. Its length, without the first two bytes, goes to at[1].
 * Returns the end. */
static inline uint8_t *gt_perfetto_put_arg_head(uint8_t *at, uint32_t field, uint32_t iid,
						uint8_t tag)
{
	uint32_t head = (field << 3 | GT_PROTO_WIRE_BYTES) |
			(GT_PF_ARG_NAME_IID << 3 | GT_PROTO_WIRE_VARINT) << 16 | iid << 24;

	memcpy(at, &head, sizeof(head)); /* little-endian */
	at[4] = tag;
	return at + 5;
}

/* The whole of it: with a varint, or with a double. */
static inline uint8_t *gt_perfetto_put_arg(uint8_t *at, uint32_t field, uint32_t iid, uint8_t tag,
					   uint64_t value)
{
	uint8_t *end = gt_proto_put_varint(gt_perfetto_put_arg_head(at, field, iid, tag), value);

	at[1] = (uint8_t)(end - at - 2);
	return end;
}

/* See gt_perfetto_put_arg(). */
static inline uint8_t *gt_perfetto_put_real(uint8_t *at, uint32_t field, uint32_t iid, double value)
{
	uint8_t *end = gt_perfetto_put_arg_head(
		at, field, iid, (uint8_t)(GT_PF_ARG_DOUBLE << 3 | GT_PROTO_WIRE_64));

	at[1] = 3 + sizeof(value);
	memcpy(end, &value, sizeof(value));
	return end + sizeof(value);
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
uint32_t gt_perfetto_other_thread(struct gt_perfetto *pf, uint32_t tid);
uint32_t gt_perfetto_thread_track(struct gt_perfetto *pf, const struct gt_event *event,
				  enum gt_track_kind kind);
uint32_t gt_perfetto_unified_track(struct gt_perfetto *pf, const struct gt_event *event);
/* Of a thread, which most often is that of the event before. */
static inline uint32_t gt_perfetto_thread(struct gt_perfetto *pf, uint32_t tid)
{
	if (pf->last_track && pf->last_tid == tid)
		return pf->last_track;
	return gt_perfetto_other_thread(pf, tid);
}

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
