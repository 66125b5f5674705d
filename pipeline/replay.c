/* SPDX-License-Identifier: Apache-2.0
 *
 * A session whose sources are a spool, see the header. One thread; the bytes may be anything.
 */
#include "pipeline/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collectors/call/call.h"
#include "collectors/call/records.h"
#include "collectors/cupti/buffers.h"
#include "collectors/cupti/replay.h"
#include "collectors/nvtx/record.h"
#include "collectors/nvtx/registry.h"
#include "core/guest/memory.h"
#include "core/guest/sys.h"
#include "core/spool_view.h"
#include "core/thread.h"
#include "pipeline/calls.h"
#include "pipeline/ranges/ranges.h"
#include "pipeline/samples.h"
#include "pipeline/session.h"
#include "pipeline/spooled.h"

#define STACK_MAX  4096u      /* frames of a stack, more than any has */
#define STACKS_MAX (1u << 20) /* ids that can be found again */

struct recovery {
	struct gt_spool_view view;
	const struct gt_spooled *spooled;
	struct gt_session *session;
	struct gt_arena frames;
	const struct gt_stack **by_id; /* STACKS_MAX */
	struct gt_translate_notes *notes;
	const struct gt_spooled_claims *claims;
	struct gt_cupti_spooled buffers[GT_CUPTI_BUFFERS_MAX];
	uint32_t buffer_count;
	uint64_t counters[GT_THREAD_COUNTERS_];
	uint64_t ranges_lost; /* records of NVTX that mean nothing without the process's memory */
	char options[512];
};

static const struct gt_string *take_string(struct recovery *r, const struct gt_string *pointer)
{
	const struct gt_string *string = gt_spool_view_string(&r->view, pointer);

	return string ? gt_intern_get(r->session->strings, string->text, string->length) : NULL;
}

static const struct gt_stack_frame *take_frame(struct recovery *r,
					       const struct gt_stack_frame *pointer)
{
	const struct gt_stack_frame *from =
		gt_spool_view_at(&r->view, gt_spool_address(pointer), sizeof(*from));
	struct gt_stack_frame *frame = from ? gt_arena_get(&r->frames, sizeof(*frame)) : NULL;
	uint32_t kind;

	if (!frame)
		return NULL;
	memcpy(&kind, &from->kind, sizeof(kind));
	frame->kind = kind <= GT_FRAME_JIT ? (enum gt_frame_kind)kind : GT_FRAME_NATIVE;
	frame->function = take_string(r, from->function);
	frame->module = take_string(r, from->module);
	frame->build_id = take_string(r, from->build_id);
	frame->file = take_string(r, from->file);
	frame->line = from->line;
	frame->offset = from->offset;
	frame->ours = gt_spool_bool(&from->ours);
	return frame;
}

/* A stack some of whose frames are not here is not here. */
static void take_stack(void *context, uint64_t key, const struct gt_stack *from)
{
	static const struct gt_stack_frame *frames[STACK_MAX];
	struct recovery *r = context;
	const struct gt_stack *stack;

	if (!from->count || from->count > STACK_MAX || from->id >= STACKS_MAX)
		return;
	for (uint32_t i = 0; i < from->count; i++) {
		frames[i] = take_frame(r, from->frames[i]);
		if (!frames[i])
			return;
	}
	stack = gt_stacks_restore(r->session->stacks, key, from->id, frames, from->count);
	if (stack)
		r->by_id[from->id] = stack;
}

static const struct gt_stack *find_stack(struct recovery *r, const struct gt_stack *pointer)
{
	const struct gt_stack *from =
		gt_spool_view_at(&r->view, gt_spool_address(pointer), sizeof(*from));

	return from && from->id < STACKS_MAX ? r->by_id[from->id] : NULL;
}

static void take_call(void *context, const struct gt_correlate_call *from)
{
	struct recovery *r = context;
	struct gt_correlate_call call = *from;

	call.launch = (struct gt_launch){
		.tid = from->launch.tid,
		.start = from->launch.start,
		.stack = find_stack(r, from->launch.stack),
		.nvtx = take_string(r, from->launch.nvtx),
		.range = from->launch.range,
		.op = from->launch.op,
		.forward = find_stack(r, from->launch.forward),
	};
	gt_correlate_restore(r->session->emit.calls, &call);
}

/* ---- the session that was ---- */

/* "name=value name=value", as the tracer describes its options; those that say where and from what
 * a session records do not concern this one. */
static void take_options(struct recovery *r)
{
	static const int left_out[] = {GT_CONFIG_OUTPUT, GT_CONFIG_SPOOL, GT_CONFIG_MODE,
				       GT_CONFIG_CUPTI, GT_CONFIG_MAX_SIZE};
	struct gt_config *config = &r->session->config;
	char *rest = r->options, *word;

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

/* Pointers in the facts are of another process, texts may have no end. */
static void take_metadata(struct recovery *r)
{
	struct gt_metadata *metadata = &r->session->metadata;

	memcpy(metadata, &r->spooled->metadata, sizeof(*metadata));
	END_TEXT(metadata->process);
	END_TEXT(metadata->host);
	END_TEXT(metadata->run);
	END_TEXT(metadata->cupti_path);
	END_TEXT(metadata->mode_reason);
	END_TEXT(metadata->python);
	END_TEXT(metadata->frameworks);
	END_TEXT(metadata->command);
	END_TEXT(metadata->options);
	metadata->spool[0] = 0;
	metadata->repaired = (struct gt_metadata_repaired){0};
	memset(metadata->segment, 0, sizeof(metadata->segment));
	/* the first file that has not told its ledger: who joins the files looks at it */
	if (r->claims->files)
		metadata->segment[GT_SEGMENT_NUMBER] = r->claims->files + 1;
	metadata->has_rank = gt_spool_bool(&r->spooled->metadata.has_rank);
	metadata->version = GT_VERSION;
	metadata->mode = r->spooled->has_cupti ? "cupti" : "hooks only";
	metadata->unwinder = NULL;
	if (metadata->device_count > GT_METADATA_DEVICES)
		metadata->device_count = GT_METADATA_DEVICES;
	for (uint32_t i = 0; i < metadata->device_count; i++) {
		struct gt_device_event *device = &metadata->devices[i];

		device->name = take_string(r, device->name);
		if (!device->name)
			device->name = gt_intern_cstr(r->session->strings, "GPU");
		r->session->translate.devices[i] = *device;
	}
	metadata->generation = 1;
}

/* The form of the trace that it completes; of one that was never begun, the options tell it. */
static void choose_form(struct recovery *r)
{
	const char *trace = gt_spool_view_header(&r->view)->trace, *ending = strrchr(trace, '.');

	if (ending)
		gt_config_set(&r->session->config, GT_CONFIG_FORMAT,
			      strcmp(ending, ".pftrace") ? "chrome" : "perfetto");
}

/* Of a trace in several files, the event that has a stack's frames may stand in an earlier one:
 * each has them then. */
static void choose_stacks(struct recovery *r)
{
	struct gt_config *config = &r->session->config;

	if (strstr(gt_spool_view_header(&r->view)->trace, ".part") &&
	    strcmp(gt_config_text(config, GT_CONFIG_STACKS), "off") != 0)
		gt_config_set(config, GT_CONFIG_STACKS, "full");
}

/* The process may have been busy for long when it died: its last clock sample does not bound
 * the times of its records, one of now does. Not when the machine was started anew or its clock set
 * back. */
static void look_again(struct gt_clock *clock)
{
	const struct gt_clock_sample *last = &clock->samples[clock->count - 1], *now;
	struct gt_clock later = *clock;
	int64_t step;

	gt_clock_sample(&later, &step);
	now = &later.samples[later.count - 1];
	if (!step && now->realtime > last->realtime && now->monotonic > last->monotonic)
		*clock = later;
}

static void take_clock(struct recovery *r)
{
	struct gt_clock *clock = &r->session->clock;

	memcpy(clock, &r->spooled->clock, sizeof(*clock));
	if (clock->count == 0 || clock->count > GT_CLOCK_SAMPLES)
		clock->count = 1;
	look_again(clock);
}

static int make_session(struct recovery *r, const char *folder)
{
	struct gt_session *s = r->session;
	int error;

	memset(s, 0, sizeof(*s));
	gt_config_init(&s->config);
	memcpy(r->options, r->spooled->metadata.options, sizeof(r->options));
	END_TEXT(r->options);
	take_options(r);
	gt_config_set(&s->config, GT_CONFIG_MAX_SIZE, "1024G"); /* one file, whatever is in it */
	choose_form(r);
	choose_stacks(r);
	if (folder)
		gt_config_set(&s->config, GT_CONFIG_OUTPUT, folder);
	else
		gt_config_set(&s->config, GT_CONFIG_FORMAT, "null");
	gt_output_find(&s->output, &s->config);
	take_clock(r);
	error = gt_session_make_stores(s);
	if (error)
		return error;
	gt_ranges_new_ids(s->ranges);
	take_metadata(r);
	s->has_cupti = r->spooled->has_cupti != 0;
	memcpy(s->translate.context_device, r->spooled->context_device,
	       sizeof(s->translate.context_device));
	s->translate.version = 0; /* what was insane was left out by who read it first */
	gt_stacks_limit(s->stacks, (uint32_t)gt_config_number(&s->config, GT_CONFIG_STACK_DEPTH));
	gt_modules_restore(s->modules, &r->view);
	s->modules_seen = UINT64_MAX; /* what this process has loaded is another's */
	gt_stacks_each(&r->view, take_stack, r);
	gt_correlate_each(&r->view, take_call, r);
	return 0;
}

/* ---- its records ---- */

static bool call_is_whole(const struct gt_call_record *call)
{
	uint64_t frames = (uint64_t)call->frame_count + call->python_count;

	return call->head.size >= sizeof(*call) + frames * sizeof(call->pcs[0]) &&
	       call->domain < GT_API_DOMAIN_COUNT_;
}

/* A stack that nobody had named yet keeps its native frames: what the interpreter's words meant is
 * gone with its memory. */
static void take_call_record(struct recovery *r, const struct gt_ring_record *record)
{
	const struct gt_call_record *call = (const void *)record;
	_Alignas(8) static char copy[sizeof(*call) + 1024 * sizeof(call->pcs[0])];
	struct gt_call_record *mine = (void *)copy;

	if (record->size < sizeof(*call) || record->size > sizeof(copy) || !call_is_whole(call))
		return;
	memcpy(copy, record, record->size);
	mine->python_count = 0;
	if (record->type == GT_RECORD_SAMPLE)
		gt_samples_take(r->session, mine);
	else
		gt_calls_take(r->session, mine);
}

/* What these records mean stands in the record. */
static const bool is_reported[] = {
	[GT_NVTX_PUSH] = true,        [GT_NVTX_POP] = true,          [GT_NVTX_START] = true,
	[GT_NVTX_END] = true,         [GT_NVTX_MARK] = true,         [GT_NVTX_NAME_THREAD] = true,
	[GT_NVTX_NAME_DEVICE] = true, [GT_NVTX_NAME_CONTEXT] = true, [GT_NVTX_NAME_STREAM] = true,
};

static bool range_is_whole(const struct gt_nvtx_record *range)
{
	return range->head.size >= sizeof(*range) && range->text_length <= GT_NVTX_NAME_MAX &&
	       range->head.size >= sizeof(*range) + range->text_length &&
	       range->head.flags < sizeof(is_reported) / sizeof(is_reported[0]) &&
	       is_reported[range->head.flags];
}

/* Registered names, domains and the schemas of payloads are gone with the memory of the process. */
static void take_range_record(struct recovery *r, const struct gt_ring_record *record)
{
	static const char unknown[] = "(name not recovered)";
	const struct gt_nvtx_record *range = (const void *)record;
	_Alignas(8) static char copy[sizeof(*range) + GT_NVTX_NAME_MAX];
	struct gt_nvtx_record *mine = (void *)copy;

	if (!range_is_whole(range)) {
		r->ranges_lost++;
		return;
	}
	memcpy(copy, record, sizeof(*range) + range->text_length);
	mine->cut = gt_spool_bool(&range->cut);
	mine->payload_length = 0;
	if (mine->string) {
		mine->string = 0;
		mine->text_length = sizeof(unknown) - 1;
		memcpy(mine->data, unknown, mine->text_length);
	}
	gt_ranges_record(r->session, mine);
}

static void (*const takers[])(struct recovery *r, const struct gt_ring_record *record) = {
	[GT_RECORD_CALL] = take_call_record,
	[GT_RECORD_NVTX] = take_range_record,
	[GT_RECORD_SAMPLE] = take_call_record,
};

static void take_record(void *context, const struct gt_ring_record *record)
{
	if (record->type < sizeof(takers) / sizeof(takers[0]) && takers[record->type])
		takers[record->type](context, record);
}

static void take_thread(void *context, const struct gt_thread *thread)
{
	struct recovery *r = context;

	for (int i = 0; i < GT_THREAD_COUNTERS_; i++)
		r->counters[i] += atomic_load(&thread->counters[i]);
	gt_ring_each(&r->view, &thread->ring, take_record, r);
}

static void note_buffer(void *context, const struct gt_cupti_spooled *buffer)
{
	struct recovery *r = context;

	if (r->buffer_count < GT_CUPTI_BUFFERS_MAX)
		r->buffers[r->buffer_count++] = *buffer;
}

static int by_order(const void *a, const void *b)
{
	const struct gt_cupti_spooled *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

static void take_buffers(struct recovery *r)
{
	gt_cupti_buffers_each(&r->view, note_buffer, r);
	qsort(r->buffers, r->buffer_count, sizeof(r->buffers[0]), by_order);
	for (uint32_t i = 0; i < r->buffer_count; i++) {
		const struct gt_cupti_spooled *buffer = &r->buffers[i];
		const struct gt_cupti_replay how = {.view = &r->view,
						    .notes = r->notes,
						    .translate = &r->session->translate,
						    .unfinished = buffer->unfinished};
		size_t left;

		r->session->translate.borrowed = buffer->foreign;
		left = gt_cupti_replay(&how, buffer->data, buffer->valid);
		if (!buffer->unfinished)
			gt_ledger_add(&r->session->ledger, GT_LEDGER_RECORDS_UNREADABLE_BYTES,
				      left);
	}
}

static const enum gt_ledger_key counted_here[] = {
	GT_LEDGER_CALLS_RECEIVED,           GT_LEDGER_LAUNCHES_SEEN,
	GT_LEDGER_RECORDS_KERNEL,           GT_LEDGER_RECORDS_MEMCPY,
	GT_LEDGER_RECORDS_MEMSET,           GT_LEDGER_RECORDS_SYNC,
	GT_LEDGER_RECORDS_OVERHEAD,         GT_LEDGER_KERNELS_UNTIMED,
	GT_LEDGER_MEMCPYS_UNTIMED,          GT_LEDGER_MEMSETS_UNTIMED,
	GT_LEDGER_RECORDS_UNREADABLE_BYTES, GT_LEDGER_SAMPLES_RECEIVED};

static bool is_counted_here(enum gt_ledger_key key)
{
	for (size_t i = 0; i < sizeof(counted_here) / sizeof(counted_here[0]); i++)
		if (counted_here[i] == key)
			return true;
	return false;
}

/* Closed files tell their part themselves. What came out of the spool is in none of these sums. */
static void leave_to_closed_files(const struct recovery *r, uint64_t *count)
{
	for (int i = 0; i < GT_LEDGER_COUNT_; i++) {
		uint64_t claimed = r->claims->ledger.count[i];

		if (!is_counted_here((enum gt_ledger_key)i))
			count[i] -= claimed < count[i] ? claimed : count[i];
	}
}

/* What only the process could count stays as it counted it; what came out of the spool was counted
 * here. Whoever joins the two files counts what is in them. */
static void close_ledger(struct recovery *r)
{
	const struct gt_spool_header *header = gt_spool_view_header(&r->view);
	struct gt_session *s = r->session;
	struct gt_correlate_counts calls = gt_correlate_count(s->emit.calls);
	struct gt_ledger here = s->ledger;
	uint64_t *count = s->ledger.count, reported;

	s->ledger = r->spooled->ledger;
	for (size_t i = 0; i < sizeof(counted_here) / sizeof(counted_here[0]); i++)
		count[counted_here[i]] = here.count[counted_here[i]];
	count[GT_LEDGER_SPOOL_REFUSED] = atomic_load(&header->refused);
	count[GT_LEDGER_SPOOL_THREADS] = atomic_load(&header->threads_refused);
	count[GT_LEDGER_CALLS_LOST_THREAD] = r->spooled->threads_refused;
	count[GT_LEDGER_CALLS_NESTED] = r->counters[GT_THREAD_CALLS_NESTED];
	count[GT_LEDGER_CALLS_LOST_RING] = r->counters[GT_THREAD_CALLS_LOST];
	count[GT_LEDGER_CALLS_SEEN] =
		r->counters[GT_THREAD_CALLS_SEEN] + r->spooled->threads_refused;
	count[GT_LEDGER_RANGES_LOST] =
		r->counters[GT_THREAD_RANGES_LOST] + r->ranges_lost + r->spooled->open_ranges;
	leave_to_closed_files(r, count);
	reported = count[GT_LEDGER_CALLS_RECEIVED] + count[GT_LEDGER_CALLS_NESTED] +
		   count[GT_LEDGER_CALLS_LOST_RING] + count[GT_LEDGER_CALLS_LOST_THREAD];
	count[GT_LEDGER_CALLS_OPEN] =
		count[GT_LEDGER_CALLS_SEEN] > reported ? count[GT_LEDGER_CALLS_SEEN] - reported : 0;
	count[GT_LEDGER_OPS_IN_FLIGHT] = calls.in_flight;
	count[GT_LEDGER_CORRELATION_EVICTED] = calls.evicted;
}

/* What could not all be written is none: the spool, which has it, is kept for another time. */
static int close_output(struct gt_session *s)
{
	bool failed = s->output.failed;
	uint64_t *lost = &s->ledger.count[GT_LEDGER_EVENTS_LOST_DISK], before = *lost;
	int error = gt_output_close(&s->output, &s->ledger);

	if (error || failed)
		return -EIO;
	return *lost > before ? -ENOSPC : 0;
}

/* There was no trace yet: this is the one. */
static void report_repaired(struct gt_session *s)
{
	const uint64_t *count = s->ledger.count;

	s->metadata.repaired = (struct gt_metadata_repaired){
		.done = true,
		.calls = count[GT_LEDGER_CALLS_RECEIVED],
		.operations = count[GT_LEDGER_RECORDS_KERNEL] + count[GT_LEDGER_RECORDS_MEMCPY] +
			      count[GT_LEDGER_RECORDS_MEMSET],
		.in_flight = count[GT_LEDGER_OPS_IN_FLIGHT],
	};
}

static int replay(struct recovery *r, const char *folder)
{
	struct gt_session *s = r->session;
	int error = make_session(r, folder);

	if (error)
		return error;
	if (*gt_spool_view_header(&r->view)->trace)
		gt_emit_open(s); /* for its ledger, if for nothing else */
	gt_threads_each(&r->view, take_thread, r);
	take_buffers(r);
	gt_emit_settle(s, true);
	gt_ranges_settle(s, true);
	close_ledger(r);
	if (!*gt_spool_view_header(&r->view)->trace)
		report_repaired(s);
	return close_output(s);
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

	r = (struct recovery){.session = &gt_session};
	error = gt_spool_view_init(&r.view, data, size);
	if (error)
		return error;
	r.spooled = gt_spool_view_root(&r.view, GT_SPOOL_SESSION, sizeof(*r.spooled));
	if (!r.spooled)
		return 0; /* killed while it began: nothing had happened */
	r.claims = &r.spooled->claims[atomic_load(&r.spooled->claim) & 1];
	r.by_id = gt_memory_map(STACKS_MAX * sizeof(*r.by_id));
	r.notes = gt_memory_map(sizeof(*r.notes));
	gt_arena_init(&r.frames, 0);
	error = -ENOMEM;
	if (r.by_id && r.notes) {
		memcpy(r.notes, &r.spooled->notes, sizeof(*r.notes));
		error = replay(&r, folder);
	}
	gt_session_free_stores(r.session);
	gt_arena_fini(&r.frames);
	gt_memory_unmap(r.by_id, STACKS_MAX * sizeof(*r.by_id));
	gt_memory_unmap(r.notes, sizeof(*r.notes));
	return error;
}

int gputrace_recover(const char *path, const char *folder)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), error;
	struct stat st;
	void *data;

	if (fd < 0)
		return -errno;
	error = gt_sys_fstat(fd, &st);
	if (!error && (st.st_uid != geteuid() || !S_ISREG(st.st_mode)))
		error = -EPERM;
	if (error) {
		close(fd);
		return error;
	}
	data = st.st_size ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
			  : MAP_FAILED;
	close(fd);
	if (data == MAP_FAILED)
		return -EBADMSG;
	if ((size_t)st.st_size < sizeof(struct gt_spool_header))
		return -EBADMSG;
	if (!is_this_build(data))
		return -ESTALE;
	return gt_recover_bytes(data, (size_t)st.st_size, folder);
}
