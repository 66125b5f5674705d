/* SPDX-License-Identifier: Apache-2.0
 *
 * A new writer for each file: what a file needs to be read alone is written by a writer that
 * begins.
 */
#include "pipeline/output/segments.h"

#include <errno.h>
#include <string.h>

#include "collectors/call/call.h"
#include "core/guest/log.h"
#include "core/guest/memory.h"
#include "pipeline/output/output.h"
#include "pipeline/spool/spooled.h"
#include "writers/file.h"

#define NAMED_FIRST 256u
#define NAMED_MAX   4096u
#define NEIGHBOURS  (GT_CALL_OWN_IDS / 2)

/* Others must not reach a limit (--max-rss, a cgroup) before the next file begins. */
static void reserve_memory(struct gt_segments *segments)
{
	if (segments->possible && !segments->reserved && gt_memory_charge(segments->next_bytes))
		segments->reserved = segments->next_bytes;
}

static void free_reserve(struct gt_segments *segments)
{
	gt_memory_uncharge(segments->reserved);
	segments->reserved = 0;
}

void gt_segments_init(struct gt_segments *segments, uint32_t keep, bool possible, size_t next_bytes)
{
	segments->next_bytes = next_bytes;
	segments->keep = keep;
	segments->possible = possible && keep != 1;
	if (segments->possible && keep) {
		segments->closed = gt_memory_map((keep - 1) * sizeof(*segments->closed));
		segments->possible = segments->closed != NULL;
	}
	reserve_memory(segments);
}

void gt_segments_discard(struct gt_segments *segments)
{
	for (uint32_t i = 0; i < segments->going_count; i++)
		gt_sink_discard(segments->going[i]);
	segments->going_count = 0;
}

static void end_files(struct gt_segments *segments)
{
	for (uint32_t i = 0; i < segments->closed_count; i++)
		gt_sink_close(
			segments->closed[(segments->closed_at + i) % (segments->keep - 1)].sink);
	gt_segments_discard(segments);
	if (segments->closed)
		gt_memory_unmap(segments->closed, (segments->keep - 1) * sizeof(*segments->closed));
	segments->closed = NULL;
	segments->closed_at = segments->closed_count = 0;
	free_reserve(segments);
}

void gt_segments_fini(struct gt_segments *segments)
{
	end_files(segments);
	gt_memory_unmap(segments->named, segments->named_capacity * sizeof(*segments->named));
	*segments = (struct gt_segments){0};
}

static bool is_same_name(const struct gt_event *a, const struct gt_event *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == GT_EVENT_THREAD)
		return a->tid == b->tid;
	return a->place.device == b->place.device && a->place.context == b->place.context &&
	       a->place.stream == b->place.stream;
}

static struct gt_event *place_of_name(struct gt_segments *segments, const struct gt_event *event)
{
	uint32_t more = segments->named_capacity ? segments->named_capacity * 2 : NAMED_FIRST;
	struct gt_event *grown;

	for (uint32_t i = 0; i < segments->named_count; i++)
		if (is_same_name(&segments->named[i], event))
			return &segments->named[i];
	if (segments->named_count == segments->named_capacity) {
		if (more > NAMED_MAX) /* the oldest one's thread has most likely ended */
			return &segments->named[segments->named_next++ % NAMED_MAX];
		grown = gt_memory_grow(segments->named, segments->named_capacity * sizeof(*grown),
				       more * sizeof(*grown));
		if (!grown)
			return NULL;
		segments->named = grown;
		segments->named_capacity = more;
	}
	return &segments->named[segments->named_count++];
}

void gt_segments_tell_names(const struct gt_segments *segments, struct gt_writer *writer)
{
	for (uint32_t i = 0; i < segments->named_count; i++)
		writer->ops->event(writer, &segments->named[i]);
}

/*
 * Whether a call with the id @id came after that with @newest. Ids go up, but for neighbours on
 * other threads, and go round; far away are those of another source, which numbers on its own:
 * CUPTI's and ours take turns.
 */
static bool is_newer(uint32_t id, uint32_t newest)
{
	return newest - id >= NEIGHBOURS;
}

/* Apart, as few events are names. */
static __attribute__((noinline)) void keep_name(struct gt_segments *segments,
						const struct gt_event *event)
{
	struct gt_event *place = place_of_name(segments, event);

	if (place)
		*place = *event;
}

void gt_segments_see(struct gt_segments *segments, const struct gt_event *event)
{
	if (!segments->possible && !segments->remembers)
		return;
	if (event->end > segments->newest)
		segments->newest = event->end;
	if (event->kind == GT_EVENT_API && event->correlation &&
	    is_newer(event->correlation, (uint32_t)segments->newest_call))
		segments->newest_call = event->correlation;
	if (event->kind == GT_EVENT_THREAD || event->kind == GT_EVENT_STREAM)
		keep_name(segments, event);
}

/* The next file to be closed reports the losses of a removed one, too. */
static void unclaim(struct gt_ledger *claimed, const struct gt_ledger *removed)
{
	const struct gt_ledger losses = gt_ledger_losses(removed);

	for (int i = 0; i < GT_LEDGER_COUNT_; i++)
		claimed->count[i] -= losses.count[i];
}

/* When as many files as may be kept are there, the oldest must go. NULL: there is room for the next
 * one. */
static const struct gt_segment *oldest_of(const struct gt_segments *segments)
{
	return segments->keep && segments->closed_count >= segments->keep - 1
		       ? &segments->closed[segments->closed_at]
		       : NULL;
}

/* What the headers of two files say. */
struct turn_headers {
	uint64_t full[GT_SEGMENT_COUNT_], next[GT_SEGMENT_COUNT_];
	uint64_t removed; /* events in the oldest file */
	bool has_oldest;  /* there is one that must go */
};

/* @oldest: that must go; NULL: none. */
static struct turn_headers make_headers(const struct gt_output *output,
					const struct gt_segment *oldest)
{
	const uint64_t *now = output->metadata->segment;
	struct turn_headers headers = {.has_oldest = oldest != NULL};

	memcpy(headers.full, now, sizeof(headers.full));
	if (!headers.full[GT_SEGMENT_NUMBER])
		headers.full[GT_SEGMENT_NUMBER] = 1;
	if (oldest)
		headers.removed = gt_segment_remove(headers.full, &oldest->ledger);
	memcpy(headers.next, headers.full, sizeof(headers.next));
	headers.next[GT_SEGMENT_NUMBER]++;
	headers.next[GT_SEGMENT_BORDER] = output->segments.newest_call;
	return headers;
}

/* It is not kept any more, as the @headers say. */
static struct gt_segment take_oldest(struct gt_segments *segments,
				     const struct turn_headers *headers)
{
	struct gt_segment oldest = segments->closed[segments->closed_at];

	if (headers->full[GT_SEGMENT_FILES_REMOVED] == 1)
		gt_log_say("%s and later files are removed as newer ones come (--keep)",
			   gt_sink_path(oldest.sink));
	segments->removed += headers->removed;
	unclaim(&segments->claimed, &oldest.ledger);
	segments->closed_at = (segments->closed_at + 1) % (segments->keep - 1);
	segments->closed_count--;
	return oldest;
}

static void keep_closed(struct gt_segments *segments, struct gt_sink *sink,
			const struct gt_ledger *ledger)
{
	struct gt_segment *newest;

	if (!segments->keep) {
		gt_sink_close(sink);
		return;
	}
	gt_sink_retire(sink);
	newest = &segments->closed[(segments->closed_at + segments->closed_count) %
				   (segments->keep - 1)];
	*newest = (struct gt_segment){.sink = sink, .ledger = *ledger};
	segments->closed_count++;
}

void gt_segments_leave(struct gt_ledger *claim, const struct gt_ledger *written,
		       const struct gt_losses *lost)
{
	uint64_t *count = claim->count;

	for (int i = 0; i < GT_LEDGER_KINDS_; i++) {
		const struct gt_ledger_kind *kind = &gt_ledger_kinds[i];

		count[kind->received] =
			written->count[kind->written] + gt_ledger_left_out(claim, kind);
		if (kind->untimed != GT_LEDGER_COUNT_)
			count[kind->received] += count[kind->untimed];
		if (lost)
			count[kind->received] += lost->kinds[i];
	}
	count[GT_LEDGER_CALLS_SEEN] = count[GT_LEDGER_CALLS_RECEIVED];
}

struct gt_ledger gt_segments_claim_written(const struct gt_ledger *written)
{
	struct gt_ledger claim = {0};

	for (int i = 0; i < GT_LEDGER_KINDS_; i++)
		claim.count[gt_ledger_kinds[i].received] =
			written->count[gt_ledger_kinds[i].written];
	claim.count[GT_LEDGER_CALLS_SEEN] = claim.count[GT_LEDGER_CALLS_RECEIVED];
	return claim;
}

void gt_segments_say_unclosed(const struct gt_file *file, const char *what_of_it)
{
	const char *path = gt_sink_path(file->sink);

	if (file->has_end)
		gt_log_say("%s could not be closed: once there is room, gputrace repair does it",
			   path);
	else
		gt_log_say("%s has no ledger: it could not be closed; %s", path, what_of_it);
}

/*
 * The ledger of a file that is full: what the session counted since the last one, but of calls and
 * records only those that stand in this file, as others that were received wait for the next one.
 */
static struct gt_ledger make_claim(const struct gt_output *output, const struct gt_ledger *written)
{
	struct gt_ledger claim = *output->ledger;

	gt_segments_rest(&output->segments, &claim);
	gt_segments_leave(&claim, written, NULL);
	return claim;
}

void gt_segments_rest(const struct gt_segments *segments, struct gt_ledger *ledger)
{
	/* what only the end of a window counts is 0 in the ledger of a file that is full */
	for (int i = 0; i < GT_LEDGER_COUNT_; i++)
		ledger->count[i] = ledger->count[i] > segments->claimed.count[i]
					   ? ledger->count[i] - segments->claimed.count[i]
					   : 0;
}

/* Each file says what it was so far, or is now. */
static bool is_state(int key)
{
	return gt_ledger_rows[key].sort == GT_LEDGER_PEAK || key == GT_LEDGER_BUFFERS_KEPT ||
	       key == GT_LEDGER_BUFFERS_UNREAD;
}

static void add_claim(struct gt_ledger *claimed, const struct gt_ledger *claim)
{
	for (int i = 0; i < GT_LEDGER_COUNT_; i++)
		if (!is_state(i))
			claimed->count[i] += claim->count[i];
}

struct gt_ledger gt_segments_claimed(const struct gt_segments *segments,
				     const struct gt_ledger *claim)
{
	struct gt_ledger claimed = segments->claimed;

	add_claim(&claimed, claim);
	return claimed;
}

void gt_segments_end(struct gt_segments *segments, const struct gt_ledger *claim)
{
	end_files(segments);
	add_claim(&segments->claimed, claim);
	/* ids do not tell windows apart: a call may have waited for this one to begin */
	segments->newest_call = 0;
}

/* The next file tells what is not in this one, which has no ledger. */
static void leave_unclosed(struct gt_file *next, struct gt_file *full, struct gt_ledger *claim,
			   struct gt_ledger *ledger)
{
	gt_segments_say_unclosed(full, "the next file tells what it lacks");
	if (full->has_end)
		return;
	gt_file_follow(next, full);
	*claim = gt_segments_claim_written(&full->written.ledger);
	*ledger = *claim;
	for (int i = 0; i < GT_LEDGER_KINDS_; i++)
		ledger->count[gt_ledger_kinds[i].written] =
			full->written.ledger.count[gt_ledger_kinds[i].written];
}

static void close_full(struct gt_output *output, struct gt_writer *full, struct gt_sink *sink)
{
	struct gt_segments *segments = &output->segments;
	struct gt_writer *next = output->writer;
	struct gt_ledger claim, ledger;

	full->ops->flush(full, 0);
	/* what that lost has not arrived, for this file: the next one counts and reports it */
	gt_file_follow(next->ops->file(next), full->ops->file(full));
	claim = make_claim(output, &full->ops->file(full)->written.ledger);
	ledger = claim;
	if (full->ops->close(full, output->metadata, &ledger))
		leave_unclosed(next->ops->file(next), full->ops->file(full), &claim, &ledger);
	add_claim(&segments->claimed, &claim);
	gt_spooling_claim(output->spooling, output->metadata->segment, &segments->claimed);
	full->ops->fini(full);
	gt_writer_free(full);
	keep_closed(segments, sink, &ledger);
}

static void set_header(struct gt_output *output, const uint64_t *segment)
{
	memcpy(output->metadata->segment, segment, sizeof(output->metadata->segment));
}

/* A writer with a file of its own, which carries on where the full one stops. NULL: not possible.
 */
static struct gt_writer *open_next(struct gt_output *output, const struct turn_headers *headers,
				   struct gt_sink **ret_sink, int *ret_error)
{
	struct gt_writer_options options = output->options;
	struct gt_writer *writer = gt_writer_new(output->writer->ops->name);
	uint32_t number = (uint32_t)headers->next[GT_SEGMENT_NUMBER];
	uint64_t before[GT_SEGMENT_COUNT_];

	memcpy(before, output->metadata->segment, sizeof(before));
	set_header(output, headers->next);
	*ret_error = -ENOMEM;
	*ret_sink = writer ? gt_sink_open_next(output->sink, number, ret_error) : NULL;
	options.border = output->segments.newest_call;
	if (*ret_sink)
		*ret_error = writer->ops->open(writer, *ret_sink, output->metadata, &options);
	set_header(output, before);
	if (!*ret_error)
		return writer;
	if (*ret_sink)
		gt_sink_discard(*ret_sink);
	if (writer)
		writer->ops->fini(writer);
	gt_writer_free(writer);
	return NULL;
}

static uint64_t calls_and_operations(const struct gt_ledger *ledger)
{
	const uint64_t *count = ledger->count;

	return count[GT_LEDGER_CALLS_WRITTEN] + count[GT_LEDGER_KERNELS_WRITTEN] +
	       count[GT_LEDGER_MEMCPYS_WRITTEN] + count[GT_LEDGER_MEMSETS_WRITTEN] +
	       count[GT_LEDGER_GRAPHS_WRITTEN];
}

/* While the spool has some of its work, repair must see that the file has it. In memory there is no
 * room for that: the spool notes it. Returns whether the file is gone. */
static bool let_go(struct gt_output *output, const struct gt_segment *oldest, bool has_next)
{
	struct gt_segments *segments = &output->segments;

	if (has_next && output->spooling && output->spooling->spooled &&
	    segments->going_count < GT_SEGMENTS_GOING && !gt_sink_is_in_memory(oldest->sink)) {
		segments->going[segments->going_count++] = oldest->sink;
		return false;
	}
	if (output->spooling)
		gt_spooling_removed(output->spooling, calls_and_operations(&oldest->ledger));
	gt_sink_discard(oldest->sink);
	return true;
}

/* Whoever repairs the newest file after a kill finds in it, or in the spool, what the removed one
 * had. */
static void tell_removal(struct gt_output *output, const struct turn_headers *headers)
{
	uint64_t closed[GT_SEGMENT_COUNT_];

	memcpy(closed, headers->full, sizeof(closed));
	closed[GT_SEGMENT_NUMBER]--;
	set_header(output, headers->full);
	output->metadata->generation++;
	if (output->spooling)
		gt_spooling_claim(output->spooling, closed, &output->segments.claimed);
	output->metadata_written = output->metadata->generation;
	output->writer->ops->metadata(output->writer, output->metadata);
}

static bool is_disk_full(int error)
{
	return error == -ENOSPC || error == -EDQUOT;
}

/* On a full disk there is no next file before the oldest went. */
static struct gt_writer *open_in_its_place(struct gt_output *output,
					   const struct turn_headers *headers,
					   struct gt_sink **ret_sink, int *ret_error)
{
	struct gt_segment oldest = take_oldest(&output->segments, headers);

	tell_removal(output, headers);
	let_go(output, &oldest, false);
	return open_next(output, headers, ret_sink, ret_error);
}

/* Else the oldest file goes once the next one says so: a kill in between leaves more than may be
 * kept. */
static struct gt_writer *open_for_oldest(struct gt_output *output,
					 const struct turn_headers *headers,
					 struct gt_sink **ret_sink, bool *ret_gone, int *ret_error)
{
	struct gt_writer *next = open_next(output, headers, ret_sink, ret_error);
	struct gt_segment oldest;

	if (!next && headers->has_oldest && is_disk_full(*ret_error)) {
		*ret_gone = true;
		return open_in_its_place(output, headers, ret_sink, ret_error);
	}
	if (!next || !headers->has_oldest)
		return next;
	oldest = take_oldest(&output->segments, headers);
	*ret_gone = let_go(output, &oldest, true);
	return next;
}

static void stay(struct gt_output *output, int error)
{
	char reason[32];

	gt_log_say("no file can follow %s (%s)", gt_sink_path(output->sink),
		   gt_sink_reason(error, reason, sizeof(reason)));
	output->segments.possible = false;
	gt_file_stays(output->writer->ops->file(output->writer), error);
}

void gt_segments_tell_removed(struct gt_output *output)
{
	struct gt_segments *segments = &output->segments;
	struct gt_event event = {.kind = GT_EVENT_NOTE};

	if (!segments->removed)
		return;
	event.start = event.end = segments->newest;
	event.note = (struct gt_note_event){.name = "LOST",
					    .what = "older files were removed (--keep)",
					    .cause = "--keep",
					    .of_what = "events",
					    .count = segments->removed};
	segments->removed = 0;
	output->writer->ops->event(output->writer, &event);
}

void gt_segments_turn(struct gt_output *output)
{
	struct gt_segments *segments = &output->segments;
	struct turn_headers headers = make_headers(output, oldest_of(segments));
	struct gt_writer *full = output->writer, *next;
	struct gt_sink *full_sink = output->sink, *sink;
	bool gone = false;
	int error;

	segments->turned = segments->keep != 0;
	free_reserve(segments);
	next = open_for_oldest(output, &headers, &sink, &gone, &error);
	if (!next) {
		stay(output, error);
		return;
	}
	set_header(output, headers.full);
	next->ops->follow(next, full);
	output->writer = next;
	output->sink = sink;
	gt_output_set_name(gt_sink_path(sink));
	close_full(output, full, full_sink);
	reserve_memory(segments);
	set_header(output, headers.next);
	gt_segments_tell_names(segments, next);
	if (gone)
		gt_segments_tell_removed(output);
	gt_log_verbose("writing %s", gt_sink_path(sink));
}
