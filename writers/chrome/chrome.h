/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the Chrome JSON writer. docs/FORMAT.md says what they print:
 *
 *   chrome.c  the writer: sorts GPU work, calls the printer of each event
 *   file.c    the two forms of the file: first block, batches, tail
 *   host.c    lines of host events: calls, ranges, frames, marks, counters, notes, ...
 *   gpu.c     lines of GPU events and their flows
 *   names.c   names of processes, threads and tracks, each printed before its first use
 *   text.c    strings and stacks, escaped once
 *   parts.h   parts of lines that many lines have in common
 *
 * Drain thread only.
 */
#ifndef GT_WRITERS_CHROME_CHROME_H
#define GT_WRITERS_CHROME_CHROME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/guest/memory.h"
#include "core/intern.h"
#include "core/json/code_owner.h"
#include "core/schema/event.h"
#include "core/schema/ledger.h"
#include "core/schema/metadata.h"
#include "core/stack.h"
#include "writers/file.h"
#include "core/json/json.h"
#include "writers/chrome/parts.h"
#include "writers/reorder.h"
#include "writers/sink.h"
#include "core/tracks.h"
#include "writers/writer.h"

/* The first event is padded to this, so that the header can take its place. */
#define GT_CHROME_BLOCK  ((size_t)16 << 10)
/* Calls whose flow start is remembered, a power of two. */
#define GT_CHROME_FLOWS  65536u
/* Steps in which the header is shortened. */
#define GT_CHROME_CUTS   10u
/* GPU events held back to be sorted. */
#define GT_CHROME_WINDOW 8192u

/* ---- file.c ---- */

/* The file: first block, batch, counts. */
struct gt_chrome_file {
	struct gt_file output;
	struct gt_json batch; /* whole lines that are not in the file yet */
	struct gt_json block; /* scratch for first block and tail */
};

struct gt_chrome;

/* Makes what a file needs, writes the first block of a new one, frees it. 0 or a negative errno. */
int gt_chrome_file_init(struct gt_chrome_file *file);
int gt_chrome_file_open(struct gt_chrome *chrome, struct gt_sink *sink);
void gt_chrome_file_fini(struct gt_chrome_file *file);

/* Rewrites the first block after the metadata changed. */
int gt_chrome_file_metadata(struct gt_chrome *chrome);

/* Keeps the lines of the batch from @begin on as one event, or drops them if they are
 * incomplete. */
int gt_chrome_file_commit(struct gt_chrome_file *file, size_t begin,
			  const struct gt_file_tally *tally);

/* Writes the batch out. */
int gt_chrome_file_flush(struct gt_chrome_file *file);

/* Closes the file; @ledger receives the writer's counts. */
int gt_chrome_file_close(struct gt_chrome *chrome, struct gt_ledger *ledger);

/* ---- text.c ---- */

/* A text that is printed often, escaped once. */
struct gt_chrome_text {
	/* escaped, without quotes; NULL: not made yet. Stacks: `, "launched by": "...", "stack": 7`
	 */
	const char *text;
	uint32_t length;
	uint8_t behind;     /* stacks: bytes behind the words */
	bool no_collective; /* kernels: the name says nothing of NCCL */
	bool framed; /* stacks: "frames" was printed; build ids: "modules"; kernels: the mangled
			name */
};

/* Texts by number. */
struct gt_chrome_table {
	struct gt_chrome_text *rows; /* by id */
	uint32_t count;
};

/* The slow part of gt_chrome_row. */
struct gt_chrome_text *gt_chrome_new_row(struct gt_chrome_table *table, uint32_t id);

/* The row of an id. NULL: id 0, or no memory. */
static inline struct gt_chrome_text *gt_chrome_row(struct gt_chrome_table *table, uint32_t id)
{
	if (__builtin_expect(id < table->count, 1))
		return id ? &table->rows[id] : NULL;
	return gt_chrome_new_row(table, id);
}

/* All such texts of a file. */
struct gt_chrome_texts {
	struct gt_arena arena;
	struct gt_chrome_table strings, stacks;
	struct gt_json scratch, escaped;
	const struct gt_line_limits *line; /* of "launched by" */
	uint8_t tight;                     /* as arguments are printed */
};

/* Makes and frees them. 0 or -ENOMEM. */
int gt_chrome_texts_init(struct gt_chrome_texts *texts);
void gt_chrome_texts_fini(struct gt_chrome_texts *texts);

/* A quoted string. NULL and "" become "(no name)", as names must not be empty. */
void gt_chrome_put_string(struct gt_chrome_texts *texts, struct gt_json *json,
			  const struct gt_string *string);

/* "launched by": the innermost frames in one line. */
void gt_chrome_put_launched_by(struct gt_chrome_texts *texts, struct gt_json *json,
			       const struct gt_stack *stack);

/* The members "launched by" and "stack". */
void gt_chrome_put_launch_stack(struct gt_chrome_texts *texts, struct gt_json *json,
				const struct gt_stack *stack);

/* All frames with full paths, as an array. */
void gt_chrome_put_frames(struct gt_chrome_texts *texts, struct gt_json *json,
			  const struct gt_stack *stack);

/* The build-ids of the frames' modules that no earlier slice has, under @key. */
void gt_chrome_put_modules(struct gt_chrome_texts *texts, struct gt_json *json, const char *key,
			   const struct gt_stack *stack);

/* One frame: "function (file.py:42-57)" with the base name of its file. */
void gt_chrome_put_frame_name(struct gt_chrome_texts *texts, struct gt_json *json,
			      const struct gt_stack_frame *frame, uint32_t first_line,
			      uint32_t last_line);
/* One frame as in "frames", with its full path. */
void gt_chrome_put_whole_frame(struct gt_chrome_texts *texts, struct gt_json *json,
			       const struct gt_stack_frame *frame);

/* False: it was found out that the kernel of this name is no collective. */
bool gt_chrome_may_be_collective(struct gt_chrome_texts *texts, const struct gt_string *name);
void gt_chrome_is_no_collective(struct gt_chrome_texts *texts, const struct gt_string *name);

/* True once per stack: the slice that is being printed gets its frames. */
bool gt_chrome_first_use(struct gt_chrome_texts *texts, const struct gt_stack *stack);

/* True once per kernel's name: the slice that is being printed gets the mangled one. */
bool gt_chrome_first_kernel(struct gt_chrome_texts *texts, const struct gt_string *name);

/* ---- names.c ---- */

/* A thread whose track has a name in this file. */
struct gt_chrome_thread {
	uint32_t tid; /* 0: slot not used */
	bool printed;
	const struct gt_string *name;
};

/* Streams whose names are kept. */
#define GT_CHROME_NAMED_STREAMS 256u

/* A stream whose track has a name in this file. */
struct gt_chrome_stream {
	uint32_t device, stream;
	const struct gt_string *name;
};

/* The named tracks of a file. */
struct gt_chrome_names {
	struct gt_chrome_stream streams[GT_CHROME_NAMED_STREAMS];
	uint32_t stream_count;
	struct gt_chrome_thread *threads; /* open addressing */
	uint32_t thread_slots;
	uint32_t thread_count;
	uint64_t devices_printed; /* bit per device */
	uint64_t models_printed;  /* of them, those with the GPU's model */
};

/* Makes and frees them. 0 or -ENOMEM. */
int gt_chrome_names_init(struct gt_chrome_names *names);
void gt_chrome_names_fini(struct gt_chrome_names *names);

/* Labels of the host process; its name is the first event of the file. */
void gt_chrome_name_process(struct gt_chrome *chrome);
/* Prints the name of a thread at its first use. */
void gt_chrome_name_thread(struct gt_chrome *chrome, uint32_t tid);
/* Prints the name of the row of the step of a trace that has none. */
void gt_chrome_name_whole(struct gt_chrome *chrome);
/* Stores a name; prints it if the thread has been used before. True: it was printed. */
bool gt_chrome_rename_thread(struct gt_chrome *chrome, uint32_t tid, const struct gt_string *name);
void gt_chrome_name_device(struct gt_chrome *chrome, uint32_t device);
/* The track of a slice; prints its name at its first use. */
uint32_t gt_chrome_track(struct gt_chrome *chrome, const struct gt_track_request *request);
/* Stores a name that the program gave to a stream, for tracks that are printed later. */
void gt_chrome_rename_stream(struct gt_chrome *chrome, const struct gt_event *event);
/* The device's properties arrived: prints its name again if it was printed without them. */
bool gt_chrome_rename_device(struct gt_chrome *chrome, const struct gt_device_event *device);

/* ---- host.c ---- */

/* One step from the first to the last event. */
void gt_chrome_put_whole_step(struct gt_chrome *chrome);

/* ---- chrome.c ---- */

/* Digits in the batch; none: size 0. */
struct gt_chrome_number {
	size_t at, size;
};

/* The writer's private data. */
struct gt_chrome {
	struct gt_metadata metadata;
	bool has_gpu_work; /* by the metadata; without GPU work, calls print its arguments */
	struct gt_writer_options options;
	struct gt_chrome_file file;
	struct gt_chrome_texts texts;
	struct gt_chrome_names names;
	struct gt_chrome_parts *parts;
	struct gt_reorder *window;
	struct gt_tracks *tracks;
	uint32_t *flows;    /* calls whose flow has started, the newest per slot */
	uint32_t own_flows; /* of operations that are not the first of their call */
	/* where the slice that is being printed has its correlation id and its start, in the batch
	 */
	struct gt_chrome_number id, start;
	uint64_t oldest; /* trace ns: the earliest start of a slice, UINT64_MAX: there is none */
	bool has_steps;  /* or operators, from which readers take the times of steps, too */
	struct gt_file_tally tally; /* of the event being printed */
	bool is_recalling;          /* the event is in the file already, */
	uint32_t recalled_tid;      /* on this track */
};

/* ns since the base of the file, never negative. */
static inline uint64_t gt_chrome_time(const struct gt_chrome *chrome, uint64_t ns)
{
	return ns > chrome->metadata.base ? ns - chrome->metadata.base : 0;
}

/* Process id of host tracks: one below 64 would collide with a GPU's. */
static inline uint32_t gt_chrome_pid(const struct gt_chrome *chrome)
{
	return chrome->metadata.pid < 64 ? chrome->metadata.pid + 4194304 : chrome->metadata.pid;
}

/* ,{"ph": ..., "cat": ...  Comma first: every line follows the first event. */
#define gt_chrome_begin(json, phase, category)                                                     \
	do {                                                                                       \
		if (json->tight)                                                                   \
			gt_json_text(json, ",{\"ph\":\"" phase "\",\"cat\":\"" category "\"");     \
		else                                                                               \
			gt_json_text(json, ",{\"ph\": \"" phase "\", \"cat\": \"" category "\"");  \
	} while (0)

/* , "name":  of a line that has begun. */
#define gt_chrome_name(json) gt_json_next(json, "name")

/* "pid": ..., "tid": ..., "ts": */
static inline void gt_chrome_begin_where(const struct gt_chrome *chrome, struct gt_json *json,
					 uint32_t pid, uint32_t tid)
{
	const uint32_t key[4] = {pid, tid, json->tight, GT_CHROME_PART_WHERE};
	struct gt_chrome_short *slot = gt_chrome_short_slot(chrome->parts, key);
	size_t begin = json->length;

	if (gt_chrome_short_put(slot, key, json))
		return;
	gt_json_next(json, "pid");
	gt_json_u64(json, pid);
	gt_json_next(json, "tid");
	gt_json_u64(json, tid);
	gt_json_next(json, "ts");
	gt_chrome_short_keep(slot, key, json, begin);
}

/* "pid": ..., "tid": ..., "ts": ... */
static inline void gt_chrome_put_where(const struct gt_chrome *chrome, struct gt_json *json,
				       uint32_t pid, uint32_t tid, uint64_t ns)
{
	gt_chrome_begin_where(chrome, json, pid, tid);
	gt_json_put_us(json, gt_chrome_time(chrome, ns));
}

/* "args": {  In the short form they have no blanks; those of the line around them stay, as people
 * search files by line. */
static inline void gt_chrome_begin_args(struct gt_chrome *chrome)
{
	struct gt_json *json = &chrome->file.batch;

	gt_json_next(json, "args");
	gt_json_char(json, '{');
	json->tight = chrome->options.few_details || chrome->options.brief;
}

/* The end of the arguments and of the line. */
static inline void gt_chrome_end_args(struct gt_chrome *chrome)
{
	gt_json_raw(&chrome->file.batch, "}}\n", 3);
	chrome->file.batch.tight = chrome->options.few_details;
}

/* "dur": ... */
static inline void gt_chrome_put_duration(const struct gt_chrome *chrome, struct gt_json *json,
					  const struct gt_event *event)
{
	uint64_t start = gt_chrome_time(chrome, event->start);
	uint64_t end = gt_chrome_time(chrome, event->end);

	gt_json_next(json, "dur");
	gt_json_put_us(json, end > start ? end - start : 0);
}

/* ---- host.c, gpu.c ---- */

/* Each appends the lines of one event to the batch and fills the tally. */
void gt_chrome_put_api(struct gt_chrome *chrome, const struct gt_event *event);
void gt_chrome_put_overhead(struct gt_chrome *chrome, const struct gt_event *event);
void gt_chrome_put_range(struct gt_chrome *chrome, const struct gt_event *event);
void gt_chrome_put_unified(struct gt_chrome *chrome, const struct gt_event *event);
void gt_chrome_put_mark(struct gt_chrome *chrome, const struct gt_event *event);
void gt_chrome_put_frame(struct gt_chrome *chrome, const struct gt_event *event);
void gt_chrome_put_sample(struct gt_chrome *chrome, const struct gt_event *event);
void gt_chrome_put_tensor(struct gt_chrome *chrome, const struct gt_event *event);
void gt_chrome_put_counter(struct gt_chrome *chrome, const struct gt_event *event);
void gt_chrome_put_note(struct gt_chrome *chrome, const struct gt_event *event);
void gt_chrome_put_gpu(struct gt_chrome *chrome, const struct gt_event *event);
void gt_chrome_put_gpu_range(struct gt_chrome *chrome, const struct gt_event *event);

/* Arguments of a call of a library, or of a kernel that it launched. */
void gt_chrome_put_library(struct gt_json *json, const struct gt_library_call *call,
			   bool of_kernel);

/* "launched by", "stack", "frames" members of a slice. */
void gt_chrome_put_stack(struct gt_chrome *chrome, const struct gt_stack *stack, bool as_text);

#endif
