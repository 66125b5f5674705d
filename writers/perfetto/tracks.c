/* SPDX-License-Identifier: Apache-2.0
 *
 * Tracks of the host: one for the process, one per thread, additional ones of a thread for slices
 * that need not nest with its calls, one per counter. Each is described before its first event.
 * Numbers are small and sequential, because every event except the first thread's has one.
 */
#include "writers/perfetto/perfetto.h"

#include <string.h>

#include "core/guest/text.h"

static size_t begin_track(struct gt_perfetto *pf, uint32_t uuid, uint32_t parent,
			  size_t *ret_packet)
{
	struct gt_proto *batch = &pf->file.batch;
	size_t at;

	*ret_packet = gt_proto_begin(batch, GT_PF_PACKET);
	gt_proto_uint(batch, GT_PF_SEQUENCE, gt_perfetto_sequence(pf, GT_PF_SEQUENCE_HOST));
	at = gt_proto_begin(batch, GT_PF_TRACK);
	gt_proto_uint(batch, GT_PF_TRACK_UUID, gt_perfetto_track(pf, uuid));
	if (parent)
		gt_proto_uint(batch, GT_PF_TRACK_PARENT, gt_perfetto_track(pf, parent));
	return at;
}

static void end_track(struct gt_perfetto *pf, size_t at, size_t packet)
{
	gt_proto_end(&pf->file.batch, at);
	gt_proto_end(&pf->file.batch, packet);
}

void gt_perfetto_put_process(struct gt_perfetto *pf)
{
	struct gt_proto *batch = &pf->file.batch;
	const char *name = pf->metadata.process[0] ? pf->metadata.process : "?";
	size_t packet, at, process;
	char label[32];

	at = begin_track(pf, GT_PF_TRACK_OF_PROCESS, 0, &packet);
	process = gt_proto_begin(batch, GT_PF_TRACK_PROCESS);
	gt_proto_uint(batch, GT_PF_PROCESS_PID, gt_perfetto_pid(pf));
	if (pf->options.part) /* viewers show the processes in this order */
		gt_proto_uint(batch, GT_PF_PROCESS_SORT_INDEX, pf->options.part->number);
	gt_perfetto_put_clean(batch, GT_PF_PROCESS_NAME, name, strlen(name));
	if (pf->metadata.has_rank) {
		gt_text_format(label, sizeof(label), "rank %d", pf->metadata.rank);
		gt_proto_cstr(batch, GT_PF_PROCESS_LABELS, label);
	}
	gt_proto_end(batch, process);
	end_track(pf, at, packet);
}

static void put_thread(struct gt_perfetto *pf, uint32_t uuid, uint32_t tid,
		       const struct gt_string *name)
{
	struct gt_proto *batch = &pf->file.batch;
	size_t packet, at = begin_track(pf, uuid, GT_PF_TRACK_OF_PROCESS, &packet);
	size_t thread = gt_proto_begin(batch, GT_PF_TRACK_THREAD);

	gt_proto_uint(batch, GT_PF_THREAD_PID, gt_perfetto_pid(pf));
	gt_proto_uint(batch, GT_PF_THREAD_TID, tid);
	if (name)
		gt_perfetto_put_clean(batch, GT_PF_THREAD_NAME, name->text, name->length);
	gt_proto_end(batch, thread);
	end_track(pf, at, packet);
}

uint32_t gt_perfetto_other_thread(struct gt_perfetto *pf, uint32_t tid)
{
	bool fresh;

	pf->last_tid = tid;
	pf->last_track = gt_perfetto_number(&pf->names, GT_PERFETTO_THREAD, tid, 0,
					    &pf->names.tracks, &fresh);
	if (fresh)
		put_thread(pf, pf->last_track, tid, NULL);
	return pf->last_track;
}

void gt_perfetto_rename_thread(struct gt_perfetto *pf, uint32_t tid, const struct gt_string *name)
{
	bool fresh;
	uint32_t uuid = gt_perfetto_number(&pf->names, GT_PERFETTO_THREAD, tid, 0,
					   &pf->names.tracks, &fresh);

	put_thread(pf, uuid, tid, name);
}

static void put_child(struct gt_perfetto *pf, uint32_t uuid, uint32_t parent, const char *name,
		      const char *description, bool counter)
{
	struct gt_proto *batch = &pf->file.batch;
	size_t packet, at = begin_track(pf, uuid, parent, &packet);

	gt_perfetto_put_clean(batch, GT_PF_TRACK_NAME, name, strlen(name));
	if (description)
		gt_perfetto_put_clean(batch, GT_PF_TRACK_DESCRIPTION, description,
				      strlen(description));
	if (counter)
		gt_proto_end(batch, gt_proto_begin(batch, GT_PF_TRACK_COUNTER));
	end_track(pf, at, packet);
}

uint32_t gt_perfetto_thread_track(struct gt_perfetto *pf, const struct gt_event *event,
				  enum gt_track_kind kind)
{
	struct gt_track_request request = {.kind = kind,
					   .device = UINT32_MAX,
					   .stream = event->tid,
					   .start = event->start,
					   .end = event->end};
	static const char *const names[GT_TRACK_KIND_COUNT_] = {
		[GT_TRACK_OVERHEAD] = "tracing overhead",
		[GT_TRACK_RANGE] = "ranges",
		[GT_TRACK_STACK] = "call stacks", /* samples have packets of their own */
	};
	uint32_t thread = gt_perfetto_thread(pf, event->tid), uuid;
	struct gt_track track;
	bool fresh;

	gt_tracks_get(pf->tracks, &request, &track);
	uuid = gt_perfetto_number(&pf->names, GT_PERFETTO_THREAD_TRACK, track.tid, 0,
				  &pf->names.tracks, &fresh);
	if (fresh)
		put_child(pf, uuid, thread, names[kind], NULL, false);
	return uuid;
}

uint32_t gt_perfetto_unified_track(struct gt_perfetto *pf, const struct gt_event *event)
{
	struct gt_track_request request =
		gt_track_of_thread(GT_TRACK_UNIFIED, event->tid, event->start, event->end);
	struct gt_track track;
	char row[16], name[48];
	uint32_t uuid;
	bool fresh;

	gt_tracks_get(pf->tracks, &request, &track);
	uuid = gt_perfetto_number(&pf->names, GT_PERFETTO_THREAD_TRACK, track.tid, 0,
				  &pf->names.tracks, &fresh);
	gt_unified_row_name(event->tid, row, sizeof(row));
	gt_text_format(name, sizeof(name), "%s%s", row, gt_track_suffix(GT_TRACK_UNIFIED));
	if (fresh)
		put_child(pf, uuid, GT_PF_TRACK_OF_PROCESS, name, NULL, false);
	return uuid;
}

/* Counters of a device are children of a track called "device 0", by which the reader finds
 * them. */
static uint32_t device_track(struct gt_perfetto *pf, uint32_t device)
{
	bool fresh;
	uint32_t uuid = gt_perfetto_number(&pf->names, GT_PERFETTO_DEVICE, device, 0,
					   &pf->names.tracks, &fresh);
	char name[32], description[32];

	if (!fresh)
		return uuid;
	gt_text_format(name, sizeof(name), "GPU %u counters", device);
	gt_text_format(description, sizeof(description), "device %u", device);
	put_child(pf, uuid, GT_PF_TRACK_OF_PROCESS, name, description, false);
	return uuid;
}

static const char *text_of(const struct gt_string *string)
{
	return string && string->length ? string->text : "(no name)";
}

uint32_t gt_perfetto_counter(struct gt_perfetto *pf, const struct gt_event *event)
{
	const struct gt_counter_event *counter = &event->counter;
	uint32_t parent = GT_PF_TRACK_OF_PROCESS, uuid;
	uint64_t ids = (uint64_t)(counter->name ? counter->name->id : 0) << 32 |
		       (counter->series ? counter->series->id : 0);
	char name[512];
	bool fresh;

	if (counter->on_gpu)
		parent = device_track(pf, event->place.device);
	uuid = gt_perfetto_number(&pf->names, GT_PERFETTO_COUNTER, ids, parent, &pf->names.tracks,
				  &fresh);
	if (!fresh)
		return uuid;
	gt_text_format(name, sizeof(name), "%s %s", text_of(counter->name),
		       text_of(counter->series));
	put_child(pf, uuid, parent, name, text_of(counter->series), true);
	return uuid;
}
