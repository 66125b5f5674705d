/* SPDX-License-Identifier: Apache-2.0
 *
 * --osrt: calls of the operating system (collectors/osrt) as ranges of their threads. Drain thread.
 */
#include <string.h>
#include <unistd.h>

#include "collectors/osrt/osrt.h"
#include "collectors/sampler/sample_record.h"
#include "collectors/unwind/unwind.h"
#include "core/config.h"
#include "core/guest/clock.h"
#include "core/guest/log.h"
#include "core/guest/seccomp.h"
#include "core/guest/sys.h"
#include "core/guest/text.h"
#include "core/intern.h"
#include "core/schema/metadata.h"
#include "pipeline/join/join.h"
#include "pipeline/output/outlet.h"
#include "pipeline/sources/calls.h"
#include "pipeline/sources/collector.h"
#include "pipeline/sources/stacks.h"
#include "pipeline/sources/thread_names.h"
#include "pipeline/spool/spooled.h"

static bool listens;

/* ---- the descriptor ---- */

static enum gt_os_kind kind_of_mode(uint32_t mode)
{
	if (!mode)
		return GT_OS_KIND_UNKNOWN;
	return S_ISREG(mode)                    ? GT_OS_KIND_FILE
	       : S_ISDIR(mode)                  ? GT_OS_KIND_FOLDER
	       : S_ISFIFO(mode)                 ? GT_OS_KIND_PIPE
	       : S_ISSOCK(mode)                 ? GT_OS_KIND_SOCKET
	       : S_ISCHR(mode) || S_ISBLK(mode) ? GT_OS_KIND_DEVICE
						: GT_OS_KIND_OTHER;
}

/* "anon_inode:[eventfd]" */
static enum gt_os_kind kind_of_link(const char *link)
{
	static const struct {
		const char *name;
		enum gt_os_kind kind;
	} kinds[] = {{"[eventfd]", GT_OS_KIND_EVENTFD},
		     {"[eventpoll]", GT_OS_KIND_EPOLL},
		     {"[timerfd]", GT_OS_KIND_TIMERFD}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strstr(link, kinds[i].name))
			return kinds[i].kind;
	return GT_OS_KIND_OTHER;
}

/* The inode may be another file's by now that was made after the call: a file may be taken for
 * that of the call only if it is older, by more than a clock tick, and a file server's lag. */
#define OLDER_NS 1000000000u

static bool is_before(const struct gt_clock *clock, int64_t seconds, uint32_t ns, uint64_t end)
{
	return seconds >= 0 &&
	       gt_clock_from_realtime(clock, (uint64_t)seconds * 1000000000u + ns) + OLDER_NS <
		       gt_clock_from_monotonic(clock, end);
}

static bool was_born_before(const struct gt_clock *clock, int descriptor, uint64_t end)
{
	struct gt_sys_birth birth;

	return gt_seccomp_permits(GT_SYS_statx) && !gt_sys_birth(descriptor, &birth) &&
	       is_before(clock, birth.seconds, birth.ns, end);
}

/* Whether it was open all the time, or is at least an old file, by its inode's times. */
static bool is_certain(const struct gt_clock *clock, const struct gt_os_call *call,
		       const struct stat *now)
{
	if (call->turn && call->turn_then & 1)
		return atomic_load_explicit(call->turn, memory_order_acquire) == call->turn_then;
	return !clock->steps &&
	       (is_before(clock, now->st_ctim.tv_sec, (uint32_t)now->st_ctim.tv_nsec, call->end) ||
		was_born_before(clock, call->descriptor, call->end));
}

/* Whether the descriptor is still what it was during the call. */
static bool is_the_same(const struct gt_clock *clock, const struct gt_osrt_slot *slot)
{
	struct stat now;

	return slot->mode && !gt_sys_fstat(slot->call.descriptor, &now) &&
	       now.st_dev == slot->device && now.st_ino == slot->inode &&
	       is_certain(clock, &slot->call, &now);
}

/* False: it is closed, or another one. */
static bool read_link(const struct gt_clock *clock, const struct gt_osrt_slot *slot, char *ret_text,
		      size_t size)
{
	char path[32];
	ssize_t n;

	if (!gt_seccomp_permits(GT_SYS_readlink) || !is_the_same(clock, slot))
		return false;
	gt_text_format(path, sizeof(path), "/proc/self/fd/%d", slot->call.descriptor);
	n = readlink(path, ret_text, size - 1);
	if (n <= 0 || !is_the_same(clock, slot))
		return false;
	ret_text[n] = 0;
	return true;
}

static void describe_descriptor(const struct gt_calls *calls, const struct gt_osrt_slot *slot,
				struct gt_range_event *range)
{
	enum gt_os_kind kind = kind_of_mode(slot->mode);
	char text[1024];

	if (kind && read_link(calls->clock, slot, text, sizeof(text))) {
		if (kind == GT_OS_KIND_OTHER)
			kind = kind_of_link(text);
		else if (*text == '/')
			range->file = gt_intern_cstr(calls->stacks->strings, text);
	}
	range->os.kind = (uint8_t)kind;
	if (*slot->path)
		range->file = gt_intern_cstr(calls->stacks->strings, slot->path);
}

/* ---- the call ---- */

static const struct gt_stack *stack_of(const struct gt_calls *calls, struct gt_osrt_slot *slot)
{
	static _Alignas(8) char
		buffer[sizeof(struct gt_call_record) + 2 * GT_UNWIND_DEPTH * sizeof(uint64_t)];
	struct gt_call_record *record = (struct gt_call_record *)(void *)buffer;
	uint32_t frames = calls->stacks->captured_frames;

	record->tid = slot->tid;
	if (!frames || !gt_sample_record_fill(&slot->sample, frames, record))
		return NULL;
	return gt_call_stacks_of_sample(calls->stacks, record);
}

static void take(const struct gt_calls *calls, struct gt_osrt_slot *slot)
{
	struct gt_event event = {
		.kind = GT_EVENT_RANGE,
		.tid = slot->tid,
		.start = gt_clock_from_monotonic(calls->clock, slot->call.start),
		.end = gt_clock_from_monotonic(calls->clock, slot->call.end),
		.range = {.is_os = true, .os = gt_os_facts_of(&slot->call)},
	};

	if (gt_calls_leave_out(calls, &event))
		return;
	event.range.name =
		gt_intern_cstr(calls->stacks->strings, gt_os_function_name(slot->call.function));
	describe_descriptor(calls, slot, &event.range);
	event.stack = stack_of(calls, slot);
	gt_thread_names_see(calls->threads, slot->tid, slot->call.start);
	gt_outlet_event(calls->join->outlet, &event);
}

/* ---- the collector ---- */

static bool is_in_window(const struct gt_metadata *metadata)
{
	return metadata->window_begin != UINT64_MAX && !metadata->window_end;
}

static int start(void *part)
{
	const struct gt_calls *calls = part;
	uint64_t threshold = (uint64_t)gt_config_number(calls->stacks->config, GT_CONFIG_OSRT);
	struct gt_os_tally *tally = NULL;

	if (!threshold)
		return 0;
	if (calls->spooling && calls->spooling->spooled)
		tally = &calls->spooling->spooled->os_calls;
	listens = gt_osrt_listen(threshold, calls->stacks->captured_frames != 0, tally) == 0;
	if (!listens)
		gt_log_say("--osrt needs gputrace run, which preloads its library: calls of the "
			   "operating system are not recorded");
	gt_osrt_set_active(listens && is_in_window(calls->stacks->metadata));
	return 0;
}

uint64_t gt_os_calls_take(const struct gt_calls *calls)
{
	struct gt_osrt_slot *slot;
	uint64_t taken = 0;
	uint32_t cursor = 0;

	if (!listens)
		return 0;
	for (; (slot = gt_osrt_next(&cursor)); taken++) {
		take(calls, slot);
		gt_osrt_free(slot);
	}
	return taken;
}

static uint64_t drain(void *part)
{
	const struct gt_calls *calls = part;

	if (!listens)
		return 0;
	gt_osrt_set_active(is_in_window(calls->stacks->metadata));
	return gt_os_calls_take(calls);
}

static uint64_t lost(const void *part)
{
	(void)part;
	return listens ? gt_osrt_lost() : 0;
}

static const struct gt_collector_count counts[] = {
	{lost, GT_LEDGER_OS_CALLS_LOST, "LOST", "slots full", "OS calls",
	 "too many at once: raise the threshold of --osrt"},
};

static void release(void)
{
	gt_osrt_set_active(false);
}

/* --osrt. */
const struct gt_collector gt_os_calls_collector = {
	.name = "osrt",
	.start = start,
	.drain = drain,
	.counts = counts,
	.count_count = sizeof(counts) / sizeof(counts[0]),
	.release = release,
};
