/* SPDX-License-Identifier: Apache-2.0
 *
 * A pipeline whose sources are a spool, see the header. One thread; the bytes may be anything.
 */
#include "pipeline/replay.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collectors/call/records.h"
#include "collectors/cupti/memory/spooled.h"
#include "core/guest/memory.h"
#include "core/guest/sys.h"
#include "core/guest/text.h"
#include "core/spool_view.h"
#include "core/thread.h"
#include "pipeline/pipeline.h"
#include "pipeline/replay/kept.h"
#include "pipeline/replay/records.h"
#include "pipeline/replay/stores.h"
#include "pipeline/spool/spooled.h"
#include "writers/file.h"

struct recovery {
	struct gt_spool_view view;
	const struct gt_spooled *spooled;
	const struct gt_spooled_claims *claims;
	struct gt_pipeline pipeline;
	struct gt_replay_stores stores;
	struct gt_replay_records records;
	struct gt_replay_kept kept;
};

/* ---- the session that was ---- */

/* "name=value name=value", as the tracer describes its options; those that say where and from what
 * a session records do not concern this one. */
static void take_options(struct gt_config *config, char *rest)
{
	static const int left_out[] = {GT_CONFIG_OUTPUT,   GT_CONFIG_SPOOL,
				       GT_CONFIG_MODE,     GT_CONFIG_CUPTI,
				       GT_CONFIG_MAX_SIZE, GT_CONFIG_FLIGHT_RECORDER};
	char *word;

	while ((word = strsep(&rest, " "))) {
		char *value = strchr(word, '=');
		int id = value ? gt_config_find(word, (size_t)(value - word)) : -1;

		for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
			id = id == left_out[i] ? -1 : id;
		if (id >= 0)
			gt_config_set(config, (enum gt_option_id)id, value + 1);
	}
}

static void end_text(char *text, size_t size)
{
	text[size - 1] = 0;
}

#define END_TEXT(text) end_text(text, sizeof(text))

/* The form of the trace that it completes; of one that was never begun, the options tell it. */
static void choose_form(struct gt_config *config, const char *trace)
{
	const char *name = strrchr(trace, '/');

	if (!name)
		return;
	gt_config_set(config, GT_CONFIG_FORMAT, strstr(name, ".pftrace") ? "perfetto" : "chrome");
	gt_config_set(config, GT_CONFIG_COMPRESS, "off"); /* it is read, and removed */
}

/* In a trace of several files, the event with the frames of a stack may be in an earlier file: then
 * each event has them. */
static void choose_stacks(struct gt_config *config, const char *trace)
{
	if (strstr(trace, ".part") && strcmp(gt_config_text(config, GT_CONFIG_STACKS), "off") != 0)
		gt_config_set(config, GT_CONFIG_STACKS, "full");
}

static void take_config(struct recovery *r, const char *folder)
{
	static char options[sizeof(r->spooled->metadata.options)]; /* the values stay in it */
	char filters[sizeof(r->spooled->metadata.filters)];
	struct gt_config *config = &r->pipeline.config;
	const char *trace = gt_spool_view_header(&r->view)->trace;

	gt_config_init(config);
	memcpy(options, r->spooled->metadata.options, sizeof(options));
	END_TEXT(options);
	take_options(config, options);
	memcpy(filters, r->spooled->metadata.filters, sizeof(filters));
	END_TEXT(filters);
	gt_capture_filter_parse(filters, &r->pipeline.filters.asked);
	gt_config_set(config, GT_CONFIG_MAX_SIZE, "1024G"); /* one file, whatever is in it */
	choose_form(config, trace);
	choose_stacks(config, trace);
	if (folder)
		gt_config_set(config, GT_CONFIG_OUTPUT, folder);
	else
		gt_config_set(config, GT_CONFIG_FORMAT, "null");
}

/* Pointers in the metadata are of another process, texts may have no end. */
static void take_metadata(struct recovery *r)
{
	struct gt_metadata *metadata = &r->pipeline.metadata;

	memcpy(metadata, &r->spooled->metadata, sizeof(*metadata));
	END_TEXT(metadata->process);
	END_TEXT(metadata->host);
	END_TEXT(metadata->boot);
	END_TEXT(metadata->run);
	END_TEXT(metadata->job);
	END_TEXT(metadata->launch);
	END_TEXT(metadata->launcher);
	END_TEXT(metadata->backend);
	END_TEXT(metadata->rank_doubt);
	END_TEXT(metadata->cupti_path);
	END_TEXT(metadata->cupti_quirks);
	END_TEXT(metadata->mode_reason);
	END_TEXT(metadata->python);
	END_TEXT(metadata->frameworks);
	END_TEXT(metadata->graphs);
	END_TEXT(metadata->hw_trace);
	END_TEXT(metadata->nvml);
	END_TEXT(metadata->window);
	END_TEXT(metadata->filters);
	END_TEXT(metadata->cost);
	END_TEXT(metadata->command);
	END_TEXT(metadata->memory);
	END_TEXT(metadata->seccomp);
	END_TEXT(metadata->options);
	r->pipeline.join.leaves_out_graphs = !strcmp(metadata->graphs, "off");
	metadata->spool[0] = 0;
	metadata->repaired = (struct gt_metadata_repaired){0};
	memcpy(metadata->segment, r->claims->segment, sizeof(metadata->segment));
	metadata->segment[GT_SEGMENT_BORDER] = metadata->segment[GT_SEGMENT_LAST] = 0;
	/* the first file that has not told its ledger: who joins the files looks at it */
	if (metadata->segment[GT_SEGMENT_NUMBER])
		metadata->segment[GT_SEGMENT_NUMBER]++;
	metadata->has_rank = gt_spool_bool(&r->spooled->metadata.has_rank);
	metadata->version = GT_VERSION;
	metadata->mode = r->spooled->has_cupti ? "cupti" : "hooks only";
	metadata->unwinder = NULL;
	if (metadata->device_count > GT_METADATA_DEVICES)
		metadata->device_count = GT_METADATA_DEVICES;
	for (uint32_t i = 0; i < metadata->device_count; i++) {
		struct gt_device_event *device = &metadata->devices[i];

		device->name = gt_replay_stores_string(&r->stores, device->name);
		if (!device->name)
			device->name = gt_intern_cstr(r->pipeline.stores.strings, "GPU");
		END_TEXT(device->uuid);
		r->pipeline.gpu.translate.devices[i] = *device;
	}
	metadata->generation = 1;
}

/* The program may have been killed before the end of its range was seen. */
static void take_range_end(struct recovery *r)
{
	struct gt_metadata *metadata = &r->pipeline.metadata;
	uint64_t ended = atomic_load(&r->spooled->range_ended);

	if (!ended || metadata->window_end || metadata->window_begin == UINT64_MAX)
		return;
	metadata->window_end = gt_clock_from_monotonic(&r->pipeline.clock, ended);
	if (metadata->window_end < metadata->window_begin)
		metadata->window_end = metadata->window_begin;
}

/* The process may have been busy for long when it died: its last clock sample does not bound
 * the times of its records, one of now does. It changes none of them, for the process may have
 * written some. Not when the machine was restarted or its clock set back. */
static void look_again(struct gt_clock *clock)
{
	const struct gt_clock_sample last = clock->samples[clock->count - 1];
	struct gt_clock_sample *now;
	struct gt_clock later = *clock;
	int64_t step;

	gt_clock_sample(&later, &step);
	now = &later.samples[later.count - 1];
	if (step || now->realtime <= last.realtime || now->monotonic <= last.monotonic)
		return;
	now->realtime = now->monotonic + (last.realtime - last.monotonic);
	*clock = later;
}

static void take_clock(struct recovery *r)
{
	struct gt_clock *clock = &r->pipeline.clock;
	const struct gt_clock_sample *last;

	memcpy(clock, &r->spooled->clock, sizeof(*clock));
	if (clock->count == 0 || clock->count > GT_CLOCK_SAMPLES)
		clock->count = 1;
	last = &clock->samples[clock->count - 1];
	r->pipeline.gpu.translate.then = gt_clock_from_monotonic(clock, last->monotonic);
	look_again(clock);
}

/* The last dump: what a kill has made of it. */
static void describe_dump(struct recovery *r)
{
	struct gt_metadata *metadata = &r->pipeline.metadata;
	uint64_t to = gt_replay_kept_now(&r->kept), start = metadata->start;
	uint64_t from = gt_window_from(metadata, gt_recorder_whole_from(r->kept.store, to), to);

	r->pipeline.output.dump = gt_recorder_dumps(r->kept.store) + 1;
	r->pipeline.output.dump_time = to;
	gt_text_format(metadata->window, sizeof(metadata->window),
		       "from %lu ms to %lu ms, dump %u (killed)",
		       (unsigned long)(from > start ? (from - start) / 1000000u : 0),
		       (unsigned long)(to > start ? (to - start) / 1000000u : 0),
		       r->pipeline.output.dump);
}

/* What the dead process knew, behind its stores. */
static int make_stores(struct recovery *r)
{
	struct gt_pipeline *p = &r->pipeline;
	int error;

	r->kept = (struct gt_replay_kept){
		.view = &r->view, .stores = &r->stores, .outlet = &p->outlet};
	gt_replay_kept_init(&r->kept, r->spooled->recorder);
	r->stores = (struct gt_replay_stores){
		.view = &r->view,
		.strings = p->stores.strings,
		.stacks = p->stores.stacks,
		.has_trace = *gt_spool_view_header(&r->view)->trace || r->kept.store,
	};
	error = gt_replay_stores_init(&r->stores);
	if (error)
		return error;
	take_metadata(r);
	take_range_end(r);
	gt_stacks_limit(p->stores.stacks,
			(uint32_t)gt_config_number(&p->config, GT_CONFIG_STACK_DEPTH));
	gt_modules_restore(p->stores.modules, &r->view);
	gt_call_stacks_freeze(&p->stacks); /* what this process has loaded is another's */
	gt_replay_stores_stacks(&r->stores);
	gt_replay_stores_launches(&r->stores, p->join.calls,
				  &gt_spooled_read(r->spooled)->answered);
	gt_ranges_restore_libraries(p->ranges, &r->view);
	if (r->kept.store)
		describe_dump(r);
	return 0;
}

static int make_pipeline(struct recovery *r, const char *folder)
{
	struct gt_pipeline *p = &r->pipeline;
	struct gt_gpu *gpu = &p->gpu;
	int error;

	take_config(r, folder);
	take_clock(r);
	gt_pipeline_link(p);
	error = gt_pipeline_init(p, NULL);
	if (error)
		return error;
	gt_ranges_new_ids(p->ranges);
	gpu->has_cupti = r->spooled->has_cupti != 0;
	memcpy(gpu->translate.context_device, r->spooled->context_device,
	       sizeof(gpu->translate.context_device));
	gpu->translate.clock_offset = gt_translate_clock_offset(
		r->spooled->metadata.cupti_clock_offset, r->spooled->metadata.cupti_clock_error);
	gpu->translate.version = 0; /* what was insane was left out by who read it first */
	return make_stores(r);
}

/* ---- its records ---- */

/* Who takes them; without memory for the notes it is better not to begin. */
static int make_records(struct recovery *r)
{
	struct gt_pipeline *p = &r->pipeline;
	struct gt_replay_records *records = &r->records;

	records->view = &r->view;
	records->calls = &p->calls;
	records->samples = &p->samples;
	records->join = &p->join;
	records->ranges = p->ranges;
	records->translate = &p->gpu.translate;
	p->join.given_up = r->spooled->given_up;
	p->join.found_before =
		gt_spooled_read(r->spooled)->ledger.count[GT_LEDGER_LAUNCHES_UNLINKED];
	return gt_replay_records_init(records, r->spooled);
}

/* Closed files tell their part themselves. */
static void leave_to_closed_files(const struct recovery *r, uint64_t *count)
{
	for (int i = 0; i < GT_LEDGER_COUNT_; i++) {
		/* less than nothing: work of windows without a file that is awaited no longer */
		int64_t rest = (int64_t)(count[i] - r->claims->ledger.count[i]);

		count[i] = rest > 0 ? (uint64_t)rest : 0;
	}
}

/* What arrived: with what is in no ring any more, and in buffers that were read. */
static void count_arrivals(const struct recovery *r, struct gt_ledger *ledger,
			   const struct gt_ledger *here)
{
	const uint64_t *released = r->records.released;
	struct gt_ledger sum;

	for (enum gt_ledger_key i = 0; i < GT_LEDGER_COUNT_; i++)
		sum.count[i] = gt_ledger_join(i, ledger->count[i], here->count[i]);
	gt_spooled_copy_read(ledger, &sum);
	ledger->count[GT_LEDGER_CALLS_RECEIVED] =
		released[GT_RECORD_CALL] + here->count[GT_LEDGER_CALLS_RECEIVED];
	ledger->count[GT_LEDGER_SAMPLES_RECEIVED] =
		released[GT_RECORD_SAMPLE] + here->count[GT_LEDGER_SAMPLES_RECEIVED];
	ledger->count[GT_LEDGER_LAUNCHES_SEEN] =
		released[GT_RING_TYPES + GT_RECORD_LAUNCHES] + here->count[GT_LEDGER_LAUNCHES_SEEN];
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Slots are not in the spool: what was in one is lost, as what found none. */
static uint64_t lost_os_calls(const struct gt_os_tally *tally)
{
	uint64_t taken = atomic_load(&tally->taken), settled = atomic_load(&tally->settled);

	return taken > settled ? taken - settled : 0;
}

/* What only the process could count stays as it counted it. Whoever joins the two files counts what
 * is in them. */
static void close_ledger(struct recovery *r)
{
	const struct gt_spool_header *header = gt_spool_view_header(&r->view);
	struct gt_ledger *ledger = &r->pipeline.ledger, here = *ledger;
	struct gt_correlate_counts calls = gt_correlate_count(r->pipeline.join.calls);
	const uint64_t *counters = r->records.counters;
	uint64_t *count = ledger->count, reported, of_lost;

	*ledger = r->spooled->ledger;
	gt_losses_forget(ledger); /* the file tells them */
	gt_spooled_copy_read(ledger, &gt_spooled_read(r->spooled)->ledger);
	gt_spooled_add_rings(ledger, &here);
	gt_spooled_add_read(&here, &r->records.late);
	count_arrivals(r, ledger, &here);
	gt_cupti_spooled_report(&r->view, ledger);
	count[GT_LEDGER_SPOOL_REFUSED] = atomic_load(&header->refused);
	count[GT_LEDGER_SPOOL_THREADS] = atomic_load(&header->threads_refused);
	count[GT_LEDGER_CALLS_LOST_THREAD] = gt_threads_refused_in(&r->view)->calls;
	count[GT_LEDGER_CALLS_NESTED] = counters[GT_THREAD_CALLS_NESTED];
	count[GT_LEDGER_CALLS_LOST_RING] = counters[GT_THREAD_CALLS_LOST];
	count[GT_LEDGER_LAUNCHES_LOST] = counters[GT_THREAD_LAUNCHES_LOST];
	count[GT_LEDGER_CALLS_LATE] = counters[GT_THREAD_CALLS_LATE];
	count[GT_LEDGER_CALLS_PASSED] = counters[GT_THREAD_CALLS_PASSED];
	count[GT_LEDGER_LAUNCHES_PASSED] = counters[GT_THREAD_LAUNCHES_PASSED];
	count[GT_LEDGER_CALLS_FILTERED] = counters[GT_THREAD_CALLS_FILTERED];
	count[GT_LEDGER_CALLS_GOVERNED] = counters[GT_THREAD_CALLS_GOVERNED];
	count[GT_LEDGER_STACKS_GOVERNED] = counters[GT_THREAD_STACKS_GOVERNED];
	count[GT_LEDGER_CALLS_THINNED] = counters[GT_THREAD_CALLS_THINNED];
	count[GT_LEDGER_RANGES_THINNED] = counters[GT_THREAD_RANGES_THINNED];
	count[GT_LEDGER_TENSORS_LOST] = counters[GT_THREAD_TENSORS_LOST];
	count[GT_LEDGER_PYTHON_GOVERNED] = counters[GT_THREAD_PYTHON_GOVERNED];
	count[GT_LEDGER_CALLS_SEEN] = counters[GT_THREAD_CALLS_SEEN];
	/* at least: those that no thread counts, and that were lost behind the last round, are not
	 * in the spool */
	count[GT_LEDGER_RANGES_LOST] =
		larger(count[GT_LEDGER_RANGES_LOST],
		       r->spooled->ranges_lost + counters[GT_THREAD_RANGES_LOST]) +
		r->records.ranges_lost + r->spooled->open_ranges;
	count[GT_LEDGER_OS_CALLS_LOST] =
		larger(count[GT_LEDGER_OS_CALLS_LOST], lost_os_calls(&r->spooled->os_calls));
	count[GT_LEDGER_BUFFERS_UNREAD] = 0; /* they were read here */
	gt_replay_kept_count(&r->kept, ledger);
	of_lost = gt_call_join_lost(&r->pipeline.join, count[GT_LEDGER_LAUNCHES_LOST]);
	leave_to_closed_files(r, count);
	reported = gt_ledger_ended_calls(ledger);
	count[GT_LEDGER_CALLS_OPEN] =
		count[GT_LEDGER_CALLS_SEEN] > reported ? count[GT_LEDGER_CALLS_SEEN] - reported : 0;
	count[GT_LEDGER_OPS_IN_FLIGHT] = calls.in_flight + of_lost + r->pipeline.join.unexpected +
					 r->records.released[GT_RING_TYPES + GT_RECORD_UNEXPECTED];
	count[GT_LEDGER_CORRELATION_EVICTED] = calls.evicted;
}

/* With what is in the file. */
static struct gt_ledger with_written(const struct recovery *r, const struct gt_file *file)
{
	struct gt_ledger ledger = r->pipeline.ledger;

	for (int i = 0; i < GT_LEDGER_KINDS_; i++)
		ledger.count[gt_ledger_kinds[i].written] +=
			file->written.ledger.count[gt_ledger_kinds[i].written];
	return ledger;
}

/* A recorder that is smaller than a round gave up what was still in a ring or a buffer, and so is
 * written now. */
static void settle_older(struct recovery *r, struct gt_ledger *ledger)
{
	if (!r->kept.store)
		return;
	gt_ledger_settle_older(ledger);
	for (int i = 0; i < GT_LEDGER_KINDS_; i++) {
		enum gt_ledger_key older = gt_ledger_kinds[i].left_out[GT_LEDGER_LEFT_OUT_ - 1];

		r->pipeline.ledger.count[older] = ledger->count[older];
	}
}

/* What the dead process lost. Of a trace that is there, whoever joins the files settles it. */
static void report_losses(struct recovery *r, struct gt_file *file)
{
	struct gt_ledger ledger = with_written(r, file);

	gt_losses_add(&file->lost, &r->spooled->lost);
	if (!file->lost.since)
		file->lost.since = file->newest;
	if (*gt_spool_view_header(&r->view)->trace)
		return;
	settle_older(r, &ledger);
	/* there is no other file to find it in: what left the rings before there was one is lost */
	file->lost.early += gt_losses_add_missing(&file->lost, &ledger);
	file->lost = gt_losses_settle(&file->lost, &ledger);
}

/* What could not all be written is none: the spool, which has it, is kept for another time. */
static int close_output(struct recovery *r)
{
	struct gt_pipeline *p = &r->pipeline;
	struct gt_file *file = gt_output_file(&p->output);
	const uint64_t *count = p->ledger.count;
	bool failed = p->output.failed, is_cut = file && (file->lost.disk || file->lost.memory);
	uint64_t told;
	int error;

	if (file)
		report_losses(r, file);
	told = file ? file->lost.disk + file->lost.memory : 0;
	error = gt_output_close(&p->output);
	if (error || failed)
		return -EIO;
	is_cut |= count[GT_LEDGER_EVENTS_LOST_DISK] + count[GT_LEDGER_EVENTS_LOST_MEMORY] > told;
	return is_cut ? -ENOSPC : 0;
}

/* Parts that get no memory do without in a living process, and count it. Here nothing may be
 * missing: the spool is removed afterwards. */
static bool lacks_memory(void)
{
	struct gt_memory_counts memory = gt_memory_count();

	return memory.refused || memory.failed;
}

/* There was no trace yet: this is the one. */
static void report_repaired(struct recovery *r)
{
	struct gt_pipeline *p = &r->pipeline;
	const struct gt_file *file = gt_output_file(&p->output);
	const uint64_t *count = file ? file->written.ledger.count : p->ledger.count;

	p->metadata.repaired = (struct gt_metadata_repaired){
		.done = true,
		.calls = count[GT_LEDGER_CALLS_WRITTEN],
		.operations = count[GT_LEDGER_KERNELS_WRITTEN] + count[GT_LEDGER_MEMCPYS_WRITTEN] +
			      count[GT_LEDGER_MEMSETS_WRITTEN] + count[GT_LEDGER_GRAPHS_WRITTEN],
		.in_flight = p->ledger.count[GT_LEDGER_OPS_IN_FLIGHT],
	};
}

/* Some of what is recovered may have been in removed files: who joins the files says so. */
static void report_removed(struct recovery *r)
{
	uint64_t events = atomic_load(&r->spooled->removed_early);

	r->pipeline.metadata.repaired = (struct gt_metadata_repaired){
		.done = events != 0,
		.maybe_removed = events,
	};
}

static int replay(struct recovery *r, const char *folder)
{
	struct gt_pipeline *p = &r->pipeline;
	bool has_trace = *gt_spool_view_header(&r->view)->trace;
	int error = make_pipeline(r, folder);

	if (!error)
		error = make_records(r);
	if (error)
		return error;
	if (has_trace)
		gt_outlet_open(&p->outlet); /* for its ledger, if for nothing else */
	gt_replay_kept_write(&r->kept);
	gt_replay_open_ranges(&r->records, r->spooled);
	gt_replay_rings(&r->records);
	gt_replay_buffers(&r->records);
	gt_call_join_settle(&p->join, true);
	gt_ranges_settle(p->ranges, true);
	gt_replay_kept_open(&r->kept);
	close_ledger(r);
	gt_outlet_flush(&p->outlet, true);
	if (has_trace)
		report_removed(r);
	else
		report_repaired(r);
	error = close_output(r);
	return lacks_memory() || r->kept.has_failed ? -ENOMEM : error;
}

static bool is_this_build(const struct gt_spool_header *header)
{
	char build_id[72];

	gt_spooled_build_id(build_id, sizeof(build_id));
	return *build_id && !strcmp(build_id, header->build_id);
}

int gt_recover_bytes(const void *data, unsigned long size, const char *folder)
{
	static struct recovery r;
	int error;

	memset(&r, 0, sizeof(r));
	error = gt_spool_view_init(&r.view, data, size);
	if (error)
		return error;
	r.spooled = gt_spool_view_root(&r.view, GT_SPOOL_SESSION, sizeof(*r.spooled));
	if (!r.spooled)
		return 0; /* killed while it began: nothing had happened */
	r.claims = &r.spooled->claims[atomic_load(&r.spooled->claim) & 1];
	error = replay(&r, folder);
	gt_pipeline_fini(&r.pipeline);
	gt_replay_kept_fini(&r.kept);
	gt_replay_stores_fini(&r.stores);
	gt_replay_records_fini(&r.records);
	return error;
}

/* The file is as long as the spool may become: what was never handed out is not mapped. */
static size_t bytes_used(int fd, size_t file_size)
{
	struct gt_spool_header header;
	uint64_t used;

	if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return 0;
	used = atomic_load(&header.used);
	return used < file_size ? (size_t)used : file_size;
}

/* As the process would have done it behind its last write. @data: a copy. */
static void take_as_closed(uint8_t *data, size_t size)
{
	struct gt_spool_view view;
	struct gt_spooled *spooled;
	struct gt_recorder_store *store;

	if (gt_spool_view_init(&view, data, size))
		return;
	((struct gt_spool_header *)(void *)data)->trace[0] = 0;
	spooled = (void *)(uintptr_t)gt_spool_view_root(&view, GT_SPOOL_SESSION, sizeof(*spooled));
	if (!spooled)
		return;
	atomic_store(&spooled->claim, spooled->closing_claim);
	spooled->lost = (struct gt_losses){0}; /* the closed file tells them */
	store = (void *)(uintptr_t)gt_spool_view_at(&view, gt_spool_address(spooled->recorder),
						    sizeof(*store));
	if (store)
		atomic_store(&store->at, store->closing);
}

int gputrace_recover(int fd, const char *folder, int is_closed)
{
	struct stat st;
	size_t size;
	void *data;
	int error = gt_sys_fstat(fd, &st);

	if (error)
		return error;
	if (st.st_uid != geteuid() || !S_ISREG(st.st_mode))
		return -EPERM;
	size = bytes_used(fd, (size_t)st.st_size);
	if (size < sizeof(struct gt_spool_header))
		return -EBADMSG;
	data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return -errno;
	if (is_closed && is_this_build(data))
		take_as_closed(data, size);
	return is_this_build(data) ? gt_recover_bytes(data, size, folder) : -ESTALE;
}
