/* SPDX-License-Identifier: Apache-2.0
 *
 * The first and the last packets. The session's metadata are annotations of an instant, written
 * again when they change: the last instant counts. The ledger is in the last packet of a closed
 * file.
 */
#include "writers/perfetto/perfetto.h"

#include <errno.h>

#include "core/guest/text.h"

static const char *const categories[GT_PF_CATEGORY_END_] = {
	[GT_PF_CATEGORY_RUNTIME] = "cuda_runtime",
	[GT_PF_CATEGORY_DRIVER] = "cuda_driver",
	[GT_PF_CATEGORY_ANNOTATION] = "user_annotation",
	[GT_PF_CATEGORY_OVERHEAD] = "overhead",
	[GT_PF_CATEGORY_GPUTRACE] = "gputrace",
	[GT_PF_CATEGORY_STACK] = "call_stack",
	[GT_PF_CATEGORY_OPERATOR] = "cpu_op",
	[GT_PF_CATEGORY_TENSOR] = "cpu_instant_event",
	[GT_PF_CATEGORY_LIBRARY] = "library",
	[GT_PF_CATEGORY_OS] = "osrt",
	[GT_PF_CATEGORY_UNIFIED] = "unified_memory",
};

static const char *const note_names[GT_PF_ANNOTATION_COUNT_] = {
#define GT_PF_ANNOTATION(id, name) [GT_PF_ANNOTATION_##id] = name,
#include "core/schema/pftrace_args.def"
};

static const char *const arg_names[GT_PF_ARG_COUNT_] = {
#define GT_PF_ARG(id, name, type, where) [GT_PF_ARG_##id] = name,
#include "core/schema/pftrace_args.def"
};

static const char *const extra_names[GT_PF_EXTRA_COUNT_] = {
#define GT_PF_EXTRA(id, name) [GT_PF_EXTRA_##id] = name,
#include "core/schema/pftrace_args.def"
};

/* ---- annotations with their names in place ---- */

static void put_uint(struct gt_proto *out, uint32_t field, const char *name, uint64_t value)
{
	size_t at = gt_proto_begin(out, field);

	gt_proto_cstr(out, GT_PF_ANNOTATION_NAME, name);
	gt_proto_uint(out, GT_PF_ANNOTATION_UINT, value);
	gt_proto_end(out, at);
}

static void put_int(struct gt_proto *out, const char *name, int64_t value)
{
	size_t at = gt_proto_begin(out, GT_PF_EVENT_ANNOTATION);

	gt_proto_cstr(out, GT_PF_ANNOTATION_NAME, name);
	gt_proto_int(out, GT_PF_ANNOTATION_INT, value);
	gt_proto_end(out, at);
}

static void put_text(struct gt_proto *out, uint32_t field, const char *name, const char *text)
{
	size_t at;

	if (!text || !text[0])
		return;
	at = gt_proto_begin(out, field);
	gt_proto_cstr(out, GT_PF_ANNOTATION_NAME, name);
	gt_perfetto_put_clean(out, GT_PF_ANNOTATION_STRING, text, strlen(text));
	gt_proto_end(out, at);
}

/* ---- the first packets ---- */

static size_t begin_plain(struct gt_perfetto *pf, uint32_t sequence)
{
	size_t at = gt_proto_begin(&pf->file.batch, GT_PF_PACKET);

	gt_proto_uint(&pf->file.batch, GT_PF_SEQUENCE, gt_perfetto_sequence(pf, sequence));
	return at;
}

static void put_clock(struct gt_proto *batch, uint32_t id, uint64_t ns, bool incremental)
{
	size_t at = gt_proto_begin(batch, GT_PF_CLOCKS);

	gt_proto_uint(batch, GT_PF_CLOCK_ID, id);
	gt_proto_uint(batch, GT_PF_CLOCK_TIME, ns);
	if (incremental)
		gt_proto_uint(batch, GT_PF_CLOCK_INCREMENTAL, 1);
	gt_proto_end(batch, at);
}

/* Times of a sequence are relative to the previous packet; the first one to the start of the
 * session. */
static void put_sequence(struct gt_perfetto *pf, uint32_t sequence)
{
	struct gt_proto *batch = &pf->file.batch;
	uint64_t start = pf->metadata.start;
	size_t packet = begin_plain(pf, sequence), at, event;

	gt_proto_uint(batch, GT_PF_SEQUENCE_FLAGS, GT_PF_STATE_CLEARED);
	at = gt_proto_begin(batch, GT_PF_CLOCK_SNAPSHOT);
	put_clock(batch, GT_PF_CLOCK_REALTIME, start, false);
	put_clock(batch, GT_PF_CLOCK_BOOTTIME, start, false);
	put_clock(batch, GT_PF_CLOCK_DELTA, start, true);
	gt_proto_uint(batch, GT_PF_PRIMARY_CLOCK, GT_PF_CLOCK_REALTIME);
	gt_proto_end(batch, at);
	at = gt_proto_begin(batch, GT_PF_DEFAULTS);
	gt_proto_uint(batch, GT_PF_DEFAULT_CLOCK, GT_PF_CLOCK_DELTA);
	event = gt_proto_begin(batch, GT_PF_DEFAULT_EVENT);
	gt_proto_uint(batch, GT_PF_DEFAULT_TRACK,
		      gt_perfetto_track(pf, GT_PF_TRACK_OF_PROCESS + 1));
	gt_proto_end(batch, event);
	gt_proto_end(batch, at);
	gt_proto_end(batch, packet);
	pf->clock[sequence] = start;
}

static void put_table(struct gt_proto *data, uint32_t table, const char *const *names,
		      unsigned int first, unsigned int count, unsigned int shift)
{
	for (unsigned int i = first; i < count; i++)
		gt_perfetto_put_text(data, table, i + shift, names[i], strlen(names[i]));
}

void gt_perfetto_put_start(struct gt_perfetto *pf)
{
	put_sequence(pf, GT_PF_SEQUENCE_HOST);
	put_sequence(pf, GT_PF_SEQUENCE_GPU);
	put_table(&pf->names.host, GT_PF_EVENT_CATEGORIES, categories, 1, GT_PF_CATEGORY_END_, 0);
	put_table(&pf->names.host, GT_PF_ANNOTATION_NAMES, note_names, 0, GT_PF_ANNOTATION_COUNT_,
		  1);
	put_table(&pf->names.gpu, GT_PF_ARG_NAMES, arg_names, 0, GT_PF_ARG_COUNT_, 1);
	put_table(&pf->names.gpu, GT_PF_ARG_NAMES, extra_names, 0, GT_PF_EXTRA_COUNT_,
		  GT_PF_EXTRA_IID);
	gt_perfetto_put_names(pf);
	gt_perfetto_put_process(pf);
	gt_perfetto_put_metadata(pf);
	if (pf->options.part)
		gt_perfetto_put_gpus(pf);
}

/* ---- metadata ---- */

/* An instant of the process, up to its annotations. */
static size_t begin_instant(struct gt_perfetto *pf, uint64_t ns, const char *name,
			    size_t *ret_packet)
{
	struct gt_proto *batch = &pf->file.batch;
	size_t at;

	*ret_packet = gt_perfetto_begin(pf, GT_PF_SEQUENCE_HOST, ns);
	at = gt_proto_begin(batch, GT_PF_TRACK_EVENT);
	gt_proto_uint(batch, GT_PF_EVENT_TYPE, GT_PF_TYPE_INSTANT);
	gt_proto_uint(batch, GT_PF_EVENT_TRACK, gt_perfetto_track(pf, GT_PF_TRACK_OF_PROCESS));
	gt_proto_cstr(batch, GT_PF_EVENT_CATEGORY_TEXT, categories[GT_PF_CATEGORY_GPUTRACE]);
	gt_proto_cstr(batch, GT_PF_EVENT_NAME, name);
	return at;
}

static void end_instant(struct gt_perfetto *pf, size_t at, size_t packet)
{
	gt_proto_end(&pf->file.batch, at);
	gt_proto_end(&pf->file.batch, packet);
}

static void put_device(struct gt_proto *out, const struct gt_device_event *device)
{
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{"id", device->id},
		{"total_memory", device->total_memory},
		{"compute_major", device->compute_major},
		{"compute_minor", device->compute_minor},
		{"sm_count", device->sm_count},
		{"warp_size", device->warp_size},
		{"max_threads_per_block", device->max_threads_per_block},
		{"max_threads_per_sm", device->max_threads_per_sm},
		{"max_warps_per_sm", device->max_warps_per_sm},
		{"max_blocks_per_sm", device->max_blocks_per_sm},
		{"registers_per_block", device->registers_per_block},
		{"registers_per_sm", device->registers_per_sm},
		{"shared_per_block", device->shared_per_block},
		{"shared_per_block_optin", device->shared_per_block_optin},
		{"shared_per_sm", device->shared_per_sm},
	};
	size_t at = gt_proto_begin(out, GT_PF_EVENT_ANNOTATION);

	gt_proto_cstr(out, GT_PF_ANNOTATION_NAME, "device");
	put_text(out, GT_PF_ANNOTATION_DICT, "name", device->name ? device->name->text : NULL);
	put_text(out, GT_PF_ANNOTATION_DICT, "uuid", *device->uuid ? device->uuid : NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		put_uint(out, GT_PF_ANNOTATION_DICT, rows[i].name, rows[i].value);
	gt_proto_end(out, at);
}

static void put_words(struct gt_proto *out, const struct gt_metadata *metadata)
{
	const struct {
		const char *name, *text;
	} rows[] = {
		{"gputrace_version", metadata->version},
		{"process", metadata->process},
		{"hostname", metadata->host},
		{"boot", metadata->boot},
		{"clock", metadata->clock},
		{"job", metadata->job},
		{"launch", metadata->launch},
		{"launcher", metadata->launcher},
		{"backend", metadata->backend},
		{"run", metadata->run},
		{"rank_doubt", metadata->rank_doubt},
		{"cupti_path", metadata->cupti_path},
		{"cupti_quirks", metadata->cupti_quirks},
		{"mode", metadata->mode},
		{"mode_reason", metadata->mode_reason},
		{"python", metadata->python},
		{"frameworks", metadata->frameworks},
		{"not_recorded", gt_metadata_not_recorded(metadata)},
		{"graphs", metadata->graphs},
		{"hw_trace", metadata->hw_trace},
		{"nvml", metadata->nvml},
		{"attached", metadata->attached},
		{"window", metadata->window},
		{"filters", metadata->filters},
		{"cost", metadata->cost},
		{"merged_clock", metadata->merged_clock},
		{"unwinder", metadata->unwinder},
		{"options", metadata->options},
		{"memory", metadata->memory},
		{"seccomp", metadata->seccomp},
		{"command", metadata->command},
		{"spool", metadata->spool},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		put_text(out, GT_PF_EVENT_ANNOTATION, rows[i].name, rows[i].text);
}

/* This file is one of several of the process. */
static void put_segment(struct gt_proto *out, const struct gt_metadata *metadata)
{
	char name[64];

	for (int i = 0; metadata->segment[GT_SEGMENT_NUMBER] && i < GT_SEGMENT_COUNT_; i++) {
		gt_text_format(name, sizeof(name), "segment_%s", gt_segment_names[i]);
		put_uint(out, GT_PF_EVENT_ANNOTATION, name, metadata->segment[i]);
	}
}

/* For a file that its process did not close. */
static void put_repaired(struct gt_proto *out, const struct gt_metadata_repaired *repaired)
{
	if (!repaired->done)
		return;
	put_uint(out, GT_PF_EVENT_ANNOTATION, "repaired", 1);
	put_uint(out, GT_PF_EVENT_ANNOTATION, "repaired_events", repaired->events);
	put_uint(out, GT_PF_EVENT_ANNOTATION, "repaired_cut_bytes", repaired->cut_bytes);
	put_uint(out, GT_PF_EVENT_ANNOTATION, "recovered_calls", repaired->calls);
	put_uint(out, GT_PF_EVENT_ANNOTATION, "recovered_operations", repaired->operations);
	put_uint(out, GT_PF_EVENT_ANNOTATION, "in_flight", repaired->in_flight);
	if (repaired->maybe_removed)
		put_uint(out, GT_PF_EVENT_ANNOTATION, "maybe_removed", repaired->maybe_removed);
}

static void put_numbers(struct gt_proto *out, const struct gt_metadata *metadata)
{
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{"schema_version", GT_METADATA_SCHEMA},
		{"pid", metadata->pid},
		{"has_rank", metadata->has_rank},
		{"base_ns", metadata->base},
		{"start_ns", metadata->start},
		{"cupti_version", metadata->cupti_version},
		{"cuda_runtime_version", metadata->runtime_version},
		{"cuda_driver_version", metadata->driver_version},
		{"clock_first_monotonic_ns", metadata->clock_first.monotonic},
		{"clock_first_realtime_ns", metadata->clock_first.realtime},
		{"clock_first_error_ns", metadata->clock_first.error_ns},
		{"clock_last_monotonic_ns", metadata->clock_last.monotonic},
		{"clock_last_realtime_ns", metadata->clock_last.realtime},
		{"clock_last_error_ns", metadata->clock_last.error_ns},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		put_uint(out, GT_PF_EVENT_ANNOTATION, rows[i].name, rows[i].value);
	put_segment(out, metadata);
	put_repaired(out, &metadata->repaired);
	if (metadata->cupti_clock_error) {
		put_int(out, "cupti_clock_offset_ns", metadata->cupti_clock_offset);
		put_int(out, "cupti_clock_error_ns", (int64_t)metadata->cupti_clock_error);
	}
	put_int(out, "rank", metadata->rank);
	put_int(out, "world_size", metadata->world_size);
	put_int(out, "local_rank", metadata->local_rank);
	if (metadata->starts)
		put_int(out, "starts", metadata->starts);
}

static uint32_t device_count(const struct gt_metadata *metadata)
{
	return metadata->device_count < GT_METADATA_DEVICES ? metadata->device_count
							    : GT_METADATA_DEVICES;
}

void gt_perfetto_put_metadata(struct gt_perfetto *pf)
{
	const struct gt_metadata *metadata = &pf->metadata;
	struct gt_proto *batch = &pf->file.batch;
	size_t packet, at = begin_instant(pf, metadata->start, GT_PF_HEADER_NAME, &packet);

	put_words(batch, metadata);
	put_numbers(batch, metadata);
	if (pf->options.part)
		put_uint(batch, GT_PF_EVENT_ANNOTATION, "processes", pf->options.part->count);
	for (uint32_t i = 0; i < device_count(metadata); i++)
		if (metadata->devices[i].id == i)
			put_device(batch, &metadata->devices[i]);
	end_instant(pf, at, packet);
}

static void put_gpu(struct gt_proto *batch, const struct gt_writer_gpu *gpu)
{
	size_t at = gt_proto_begin(batch, GT_PF_GPUS);
	const char *name = *gpu->name ? gpu->name : "unknown";
	char text[32];

	gt_perfetto_put_clean(batch, GT_PF_GPU_NAME, name, strlen(name));
	gt_proto_cstr(batch, GT_PF_GPU_VENDOR, "NVIDIA");
	if (*gpu->name) {
		gt_text_format(text, sizeof(text), "sm_%u%u", gpu->major, gpu->minor);
		gt_proto_cstr(batch, GT_PF_GPU_ARCHITECTURE, text);
	}
	gt_proto_end(batch, at);
}

static struct gt_writer_gpu gpu_of(const struct gt_metadata *metadata, uint32_t index)
{
	const struct gt_device_event *device = &metadata->devices[index];
	struct gt_writer_gpu gpu = {.major = device->compute_major, .minor = device->compute_minor};

	if (device->id == index && device->name)
		gt_text_format(gpu.name, sizeof(gpu.name), "%s", device->name->text);
	return gpu;
}

/* The place in this packet is a GPU's number, so that a file has one of them. */
void gt_perfetto_put_gpus(struct gt_perfetto *pf)
{
	const struct gt_writer_part *part = pf->options.part;
	struct gt_proto *batch = &pf->file.batch;
	uint32_t count = part ? part->gpu_count : device_count(&pf->metadata);
	size_t packet, at;

	if (pf->gpus_written || !count)
		return;
	pf->gpus_written = true;
	if (part && part->number)
		return;
	packet = begin_plain(pf, GT_PF_SEQUENCE_GPU);
	at = gt_proto_begin(batch, GT_PF_GPU_INFO);
	for (uint32_t i = 0; i < count; i++) {
		struct gt_writer_gpu own = part ? part->gpus[i] : gpu_of(&pf->metadata, i);

		put_gpu(batch, &own);
	}
	gt_proto_end(batch, at);
	gt_proto_end(batch, packet);
}

/* ---- the last packets ---- */

static void put_loss(void *context, const char *cause, uint64_t events)
{
	struct gt_perfetto *pf = context;
	struct gt_proto *batch = &pf->file.batch;
	size_t packet, at = begin_instant(pf, pf->file.output.lost.since, "LOST", &packet);

	put_text(batch, GT_PF_EVENT_ANNOTATION, note_names[GT_PF_ANNOTATION_CAUSE], cause);
	put_uint(batch, GT_PF_EVENT_ANNOTATION, note_names[GT_PF_ANNOTATION_COUNT], events);
	put_text(batch, GT_PF_EVENT_ANNOTATION, note_names[GT_PF_ANNOTATION_OF_WHAT], "events");
	end_instant(pf, at, packet);
}

/* The clock of the sequence may be after packets that were dropped: the end sets it again and uses
 * no interned data. */
void gt_perfetto_put_end(struct gt_perfetto *pf, const struct gt_ledger *ledger)
{
	const struct gt_file *output = &pf->file.output;
	struct gt_proto *batch = &pf->file.batch;
	size_t packet, at;

	if (output->error || output->lost.disk)
		put_sequence(pf, GT_PF_SEQUENCE_HOST);
	gt_file_each_loss(output, put_loss, pf);
	at = begin_instant(pf, output->newest, GT_PF_LEDGER_NAME, &packet);
	for (int i = 0; i < GT_LEDGER_COUNT_; i++)
		put_uint(batch, GT_PF_EVENT_ANNOTATION, gt_ledger_rows[i].json, ledger->count[i]);
	end_instant(pf, at, packet);
}
