/* SPDX-License-Identifier: Apache-2.0
 *
 * Metadata events: only the five names that every reader knows (process_name, process_labels,
 * process_sort_index, thread_name, thread_sort_index), each before the first event of its track.
 */
#include "writers/chrome/chrome.h"

#include <errno.h>

#include "core/guest/text.h"
#include "core/hash.h"
#include "core/schema/event_names.h"

#define FIRST_THREADS  256u
#define MAX_THREADS    131072u
#define GPU_SORT_INDEX 5000000u /* below every host process */

int gt_chrome_names_init(struct gt_chrome_names *names)
{
	names->threads = gt_memory_map(FIRST_THREADS * sizeof(*names->threads));
	if (!names->threads)
		return -ENOMEM;
	names->thread_slots = FIRST_THREADS;
	return 0;
}

void gt_chrome_names_fini(struct gt_chrome_names *names)
{
	gt_memory_unmap(names->threads, names->thread_slots * sizeof(*names->threads));
}

/* ,{"ph": "M", "name": NAME, "pid": P, "tid": T, "ts": TS, "args": {  and at the end }} */
#define begin_metadata(chrome, json, name, pid, tid)                                               \
	do {                                                                                       \
		(chrome)->tally.names++;                                                           \
		gt_json_raw(json, ",{", 2);                                                        \
		gt_json_literal(json, "ph", "M");                                                  \
		gt_json_literal(json, "name", name);                                               \
		gt_chrome_put_where(chrome, json, pid, tid, (chrome)->metadata.start);             \
		gt_json_key(json, "args");                                                         \
		gt_json_char(json, '{');                                                           \
	} while (0)

static void end_metadata(struct gt_json *json)
{
	gt_json_raw(json, "}}\n", 3);
}

static void put_sort_index(struct gt_json *json, uint32_t index)
{
	gt_json_member_u64(json, "sort_index", index);
	end_metadata(json);
}

void gt_chrome_name_process(struct gt_chrome *chrome)
{
	struct gt_json *json = &chrome->file.batch;
	uint32_t pid = gt_chrome_pid(chrome);

	begin_metadata(chrome, json, "process_labels", pid, 0);
	gt_json_literal(json, "labels", "CPU");
	end_metadata(json);
	begin_metadata(chrome, json, "process_sort_index", pid, 0);
	put_sort_index(json, pid);
	gt_file_count(&chrome->file.output, &chrome->tally);
}

static struct gt_chrome_thread *slot_of(struct gt_chrome_thread *threads, uint32_t slots,
					uint32_t tid)
{
	uint32_t i = (uint32_t)gt_hash_word(tid);

	for (;; i++) {
		struct gt_chrome_thread *thread = &threads[i & (slots - 1)];

		if (thread->tid == 0 || thread->tid == tid)
			return thread;
	}
}

static bool grow(struct gt_chrome_names *names)
{
	uint32_t wanted = names->thread_slots * 2;
	struct gt_chrome_thread *threads;

	if (wanted > MAX_THREADS)
		return false;
	threads = gt_memory_map(wanted * sizeof(*threads));
	if (!threads)
		return false;
	for (uint32_t i = 0; i < names->thread_slots; i++)
		if (names->threads[i].tid)
			*slot_of(threads, wanted, names->threads[i].tid) = names->threads[i];
	gt_memory_unmap(names->threads, names->thread_slots * sizeof(*threads));
	names->threads = threads;
	names->thread_slots = wanted;
	return true;
}

/* NULL: too many threads; the track has no name. */
static struct gt_chrome_thread *thread_of(struct gt_chrome_names *names, uint32_t tid)
{
	struct gt_chrome_thread *thread = slot_of(names->threads, names->thread_slots, tid);

	if (tid == 0 || thread->tid == tid)
		return tid ? thread : NULL;
	if (names->thread_count >= names->thread_slots / 2) {
		if (!grow(names))
			return NULL;
		thread = slot_of(names->threads, names->thread_slots, tid);
	}
	names->thread_count++;
	*thread = (struct gt_chrome_thread){.tid = tid};
	return thread;
}

static void put_thread(struct gt_chrome *chrome, const struct gt_chrome_thread *thread)
{
	struct gt_json *json = &chrome->file.batch;
	uint32_t pid = gt_chrome_pid(chrome);
	char text[32];

	begin_metadata(chrome, json, "thread_name", pid, thread->tid);
	gt_json_key(json, "name");
	if (thread->name) {
		gt_chrome_put_string(&chrome->texts, json, thread->name);
	} else {
		gt_text_format(text, sizeof(text), "thread %u", thread->tid);
		gt_json_cstr(json, text);
	}
	end_metadata(json);
}

void gt_chrome_name_thread(struct gt_chrome *chrome, uint32_t tid)
{
	struct gt_json *json = &chrome->file.batch;
	struct gt_chrome_thread *thread = thread_of(&chrome->names, tid);

	if (!thread || thread->printed)
		return;
	thread->printed = true;
	put_thread(chrome, thread);
	begin_metadata(chrome, json, "thread_sort_index", gt_chrome_pid(chrome), tid);
	put_sort_index(json, tid);
}

void gt_chrome_name_whole(struct gt_chrome *chrome)
{
	struct gt_json *json = &chrome->file.batch;

	begin_metadata(chrome, json, "thread_name", gt_chrome_pid(chrome), GT_TRACK_WHOLE);
	gt_json_literal(json, "name", GT_WHOLE_STEP_ROW);
	end_metadata(json);
}

bool gt_chrome_rename_thread(struct gt_chrome *chrome, uint32_t tid, const struct gt_string *name)
{
	struct gt_chrome_thread *thread = thread_of(&chrome->names, tid);

	if (!thread || thread->name == name)
		return false;
	thread->name = name;
	if (thread->printed)
		put_thread(chrome, thread);
	return thread->printed;
}

/* "GPU 0 NVIDIA H200 (rank 0, train)": Perfetto shows neither labels nor the header's metadata. */
static void put_device_name(struct gt_chrome *chrome, uint32_t device,
			    const struct gt_string *model)
{
	struct gt_json *json = &chrome->file.batch;
	char text[256];

	if (model)
		chrome->names.models_printed |= (uint64_t)1 << device;
	gt_text_format(text, sizeof(text), "GPU %u%s%s (rank %d, %s)", device, model ? " " : "",
		       model ? model->text : "", chrome->metadata.rank, chrome->metadata.process);
	begin_metadata(chrome, json, "process_name", device, 0);
	gt_json_member_cstr(json, "name", text);
	end_metadata(json);
}

static const struct gt_string *model_of(const struct gt_metadata *metadata, uint32_t device)
{
	if (device >= metadata->device_count || device >= GT_METADATA_DEVICES ||
	    metadata->devices[device].id != device)
		return NULL;
	return metadata->devices[device].name;
}

void gt_chrome_name_device(struct gt_chrome *chrome, uint32_t device)
{
	struct gt_json *json = &chrome->file.batch;
	char text[32];

	if (device >= 64 || chrome->names.devices_printed & (uint64_t)1 << device)
		return;
	chrome->names.devices_printed |= (uint64_t)1 << device;
	put_device_name(chrome, device, model_of(&chrome->metadata, device));
	begin_metadata(chrome, json, "process_labels", device, 0);
	gt_text_format(text, sizeof(text), "GPU %u", device);
	gt_json_member_cstr(json, "labels", text);
	end_metadata(json);
	begin_metadata(chrome, json, "process_sort_index", device, 0);
	put_sort_index(json, GPU_SORT_INDEX + device);
}

bool gt_chrome_rename_device(struct gt_chrome *chrome, const struct gt_device_event *device)
{
	const struct gt_chrome_names *names = &chrome->names;

	if (device->id >= 64 ||
	    !(names->devices_printed & ~names->models_printed & (uint64_t)1 << device->id))
		return false;
	put_device_name(chrome, device->id, device->name);
	return true;
}

/* The name that the program gave to a stream, or NULL. */
static const struct gt_string *stream_name(const struct gt_chrome_names *names, uint32_t device,
					   uint32_t stream)
{
	for (uint32_t i = 0; i < names->stream_count; i++)
		if (names->streams[i].device == device && names->streams[i].stream == stream)
			return names->streams[i].name;
	return NULL;
}

void gt_chrome_rename_stream(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_chrome_names *names = &chrome->names;
	struct gt_chrome_stream *stream = names->streams;
	struct gt_chrome_stream *end = stream + names->stream_count;

	while (stream < end &&
	       (stream->device != event->place.device || stream->stream != event->place.stream))
		stream++;
	if (stream == &names->streams[GT_CHROME_NAMED_STREAMS])
		return;
	names->stream_count += stream == end;
	*stream = (struct gt_chrome_stream){event->place.device, event->place.stream,
					    event->stream.name};
}

/* Name of a track: "stream 7", "stream 7 waits", "stream 7 (context 2) (3)"; if the program named
 * the stream: "stream 7 copies". */
static void track_name(const struct gt_chrome *chrome, const struct gt_track_request *request,
		       const struct gt_track *track, char *out, size_t size)
{
	const char *owner = gt_track_is_on_host(request->kind) ? "thread" : "stream";
	const struct gt_string *name = NULL;
	char row[32];
	size_t length;

	gt_text_format(row, sizeof(row), "%s %u", owner, request->stream);
	if (request->kind == GT_TRACK_UNIFIED)
		gt_unified_row_name(request->stream, row, sizeof(row));
	if (!gt_track_is_on_host(request->kind))
		name = stream_name(&chrome->names, request->device, request->stream);
	length = gt_text_format(out, size, "%s%s%s%s", row, name ? " " : "", name ? name->text : "",
				gt_track_suffix(track->kind));
	if (track->foreign)
		length += gt_text_format(out + length, size - length, " (context %u)",
					 request->context);
	if (track->k)
		gt_text_format(out + length, size - length, " (%u)", track->k + 1);
}

static void name_track(struct gt_chrome *chrome, const struct gt_track_request *request,
		       const struct gt_track *track)
{
	struct gt_json *json = &chrome->file.batch;
	bool on_host = gt_track_is_on_host(request->kind);
	uint32_t pid = on_host ? gt_chrome_pid(chrome) : request->device;
	char text[256];

	if (!track->fresh)
		return;
	track_name(chrome, request, track, text, sizeof(text));
	begin_metadata(chrome, json, "thread_name", pid, track->tid);
	gt_json_member_cstr(json, "name", text);
	end_metadata(json);
	/* keep all tracks of a stream together */
	begin_metadata(chrome, json, "thread_sort_index", pid, track->tid);
	put_sort_index(json, request->stream);
}

uint32_t gt_chrome_track(struct gt_chrome *chrome, const struct gt_track_request *request)
{
	struct gt_track track;

	if (chrome->is_recalling)
		gt_tracks_recall(chrome->tracks, request, chrome->recalled_tid, &track);
	else
		gt_tracks_get(chrome->tracks, request, &track);
	name_track(chrome, request, &track);
	return track.tid;
}
