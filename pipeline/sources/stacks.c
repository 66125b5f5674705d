/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks of calls, see the header.
 */
#include "pipeline/sources/stacks.h"

#include <string.h>

#include "collectors/call/call.h"
#include "collectors/python/codes.h"
#include "collectors/python/frames.h"
#include "collectors/python/merge.h"
#include "collectors/python/python.h"
#include "collectors/symbols/modules.h"
#include "collectors/unwind/unwind.h"
#include "core/config.h"
#include "core/guest/clock.h"
#include "core/guest/forkgate.h"
#include "core/guest/log.h"
#include "core/guest/text.h"
#include "core/intern.h"
#include "core/schema/metadata.h"
#include "core/stack.h"
#include "pipeline/sources/collector.h"
#include "pipeline/sources/stores.h"

#define PYTHON_MAX ((size_t)16 << 20) /* bytes of --max-rss, see gt_stores_share */

/* From this long on calls that only --api=all records have stacks: frameworks make thousands in a
 * step (cudaGetDevice), which take less than their stack. */
#define QUERY_NS   10000u

/* A stack of both kinds before and after merging. Too large for a small stack. */
static struct {
	const struct gt_stack_frame *native[GT_UNWIND_DEPTH];
	struct gt_python_frame python[GT_PYTHON_DEPTH];
	const struct gt_stack_frame *merged[GT_UNWIND_DEPTH];
} work;

static uint32_t find_native(struct gt_call_stacks *s, const struct gt_call_record *record)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < record->frame_count && count < GT_UNWIND_DEPTH; i++) {
		work.native[count] = gt_stacks_find_frame(s->stacks, record->pcs[i]);
		if (!work.native[count])
			break;
		count += !gt_stack_frame_is_interposed(work.native[count]);
	}
	return count;
}

static uint32_t find_python(struct gt_call_stacks *s, const struct gt_call_record *record)
{
	const uint64_t *words = record->pcs + record->frame_count;
	uint32_t count = record->python_count;

	if (count > GT_PYTHON_DEPTH)
		count = GT_PYTHON_DEPTH;
	for (uint32_t i = 0; i < count; i++)
		work.python[i] = (struct gt_python_frame){
			.frame = gt_python_frames_find(s->python, words[i]),
			.is_entry = gt_python_is_entry(words[i]),
		};
	return count;
}

static uint32_t count_ours(uint32_t native)
{
	uint32_t ours = 0;

	while (ours < native && work.native[ours]->ours)
		ours++;
	return ours;
}

static const struct gt_string *find_interpreter(const struct gt_call_stacks *s)
{
	const struct gt_module *module = gt_modules_find(s->modules, gt_python_address());

	return module ? module->path : NULL;
}

/* Leaves the frames in work.merged; returns their number. @whole: with those at the near end that
 * are ours. */
static uint32_t merge(struct gt_call_stacks *s, const struct gt_call_record *record, bool whole)
{
	uint32_t depth = (uint32_t)gt_config_number(s->config, GT_CONFIG_STACK_DEPTH);
	uint32_t native = find_native(s, record), ours = whole ? 0 : count_ours(native);
	struct gt_python_stacks both = {
		.native = work.native + ours,
		.native_count = native - ours,
		.native_cut = record->frame_count >= s->captured_frames ||
			      record->head.flags & GT_CALL_CUT,
		.python = work.python,
		.python_count = find_python(s, record),
		.python_cut = record->python_count >= s->captured_frames,
		.interpreter = find_interpreter(s),
	};

	return gt_python_merge(&both, depth, work.merged);
}

static void report_python(struct gt_call_stacks *s, const char *why)
{
	struct gt_metadata *metadata = s->metadata;
	uint32_t version = gt_python_version();
	char text[sizeof(metadata->python)] = "";

	if (why)
		gt_text_format(text, sizeof(text), "off: %s", why);
	else if (version)
		gt_text_format(text, sizeof(text), "%u.%u.%u", version >> 24, version >> 16 & 255,
			       version >> 8 & 255);
	if (!strcmp(text, metadata->python))
		return;
	memcpy(metadata->python, text, sizeof(text));
	metadata->generation++;
	if (why)
		gt_log_say("Python stacks are off: %s", why);
}

static void look_for_python(struct gt_call_stacks *s)
{
	if (s->python)
		report_python(s, gt_python_start());
}

static bool refresh_modules(struct gt_call_stacks *s, bool (*enter)(void))
{
	uint64_t now = gt_clock_now();

	if (!enter())
		return false;
	if (gt_modules_refresh(s->modules))
		look_for_python(s);
	gt_forkgate_unlock();
	s->modules_seen = now;
	return true;
}

/* A fork that takes so long is not waited for again by the calls that are there already. */
static void await_modules(struct gt_call_stacks *s)
{
	if (!refresh_modules(s, gt_forkgate_timedlock))
		s->modules_seen = gt_clock_now();
}

void gt_call_stacks_refresh(struct gt_call_stacks *s)
{
	refresh_modules(s, gt_forkgate_trylock);
}

const struct gt_stack *gt_call_stacks_of_call(struct gt_call_stacks *s,
					      const struct gt_call_record *record)
{
	const struct gt_stack *stack;

	if (!record->stack_key)
		return NULL;
	/* a module may have been loaded, and have launched, since this round began: addresses in
	 * one that is not known would stay without a name */
	if (record->frame_count && record->start > s->modules_seen)
		await_modules(s);
	if (!record->python_count)
		return gt_stacks_get(s->stacks, record->stack_key,
				     record->frame_count ? record->pcs : NULL, record->frame_count);
	stack = gt_stacks_find(s->stacks, record->stack_key);
	return stack ? stack
		     : gt_stacks_put(s->stacks, record->stack_key, work.merged,
				     merge(s, record, false));
}

static uint64_t key_of(const struct gt_stack_frame *frame)
{
	return frame->kind == GT_FRAME_PYTHON
		       ? (uint64_t)frame->function * 3 + (uint64_t)frame->file * 5 + frame->line
		       : (uint64_t)frame;
}

/* Where Python runs, addresses inside the interpreter differ from sample to sample and are merged
 * away; what is left is the stack. */
const struct gt_stack *gt_call_stacks_of_sample(struct gt_call_stacks *s,
						const struct gt_call_record *record)
{
	uint32_t count = record->python_count ? merge(s, record, false) : 0;
	uint64_t key = count;
	const struct gt_stack *stack;

	if (!count)
		return gt_call_stacks_of_call(s, record);
	for (uint32_t i = 0; i < count; i++) {
		key = (key ^ key_of(work.merged[i])) * 0xd6e8feb86659fd93u;
		key ^= key >> 32;
	}
	stack = gt_stacks_find(s->stacks, key | 1);
	return stack ? stack : gt_stacks_put(s->stacks, key | 1, work.merged, count);
}

const struct gt_stack *gt_call_stacks_of_crash(struct gt_call_stacks *s,
					       const struct gt_call_record *record)
{
	uint64_t key = ~record->stack_key | 1; /* not that of the same stack, cut */
	const struct gt_stack *stack;

	gt_call_stacks_refresh(s);
	stack = gt_stacks_find(s->stacks, key);
	return stack ? stack : gt_stacks_put(s->stacks, key, work.merged, merge(s, record, true));
}

void gt_call_stacks_freeze(struct gt_call_stacks *s)
{
	s->modules_seen = UINT64_MAX;
}

/* The user asks for frames of the program; those of CUDA and ours lie in front of them. */
static uint32_t captured_frames(uint32_t depth)
{
	return depth + GT_CALL_OWN_FRAMES < GT_UNWIND_DEPTH ? depth + GT_CALL_OWN_FRAMES
							    : GT_UNWIND_DEPTH;
}

void gt_call_stacks_set_threshold(const struct gt_config *config)
{
	uint64_t ns = (uint64_t)gt_config_number(config, GT_CONFIG_STACK_THRESHOLD);
	bool all_calls = !strcmp(gt_config_text(config, GT_CONFIG_API), "all");

	gt_call_set_stack_threshold(ns, !ns && all_calls ? QUERY_NS : ns);
}

static int start(void *part)
{
	struct gt_call_stacks *s = part;
	bool off = !strcmp(gt_config_text(s->config, GT_CONFIG_STACKS), "off");
	uint32_t depth = (uint32_t)gt_config_number(s->config, GT_CONFIG_STACK_DEPTH);

	s->metadata->unwinder = off ? "off" : "call frame information";
	if (!off && !strcmp(gt_config_text(s->config, GT_CONFIG_PYTHON), "auto"))
		s->python =
			gt_python_frames_new(s->strings, gt_stores_share(s->config, PYTHON_MAX));
	gt_forkgate_lock();
	look_for_python(s);
	gt_forkgate_unlock();
	gt_stacks_limit(s->stacks, depth);
	s->captured_frames = off ? 0 : captured_frames(depth);
	gt_call_configure(s->captured_frames);
	gt_call_stacks_set_threshold(s->config);
	return 0;
}

void gt_call_stacks_finish(struct gt_call_stacks *s)
{
	look_for_python(s); /* its first stack may have shown that it is another */
}

static uint64_t refused_stacks(const void *part)
{
	const struct gt_call_stacks *s = part;

	return gt_stacks_refused(s->stacks);
}

static const struct gt_collector_count counts[] = {
	{refused_stacks, GT_LEDGER_COUNT_, "thinned", NULL, "call stacks",
	 "calls with new stacks lack them"},
};

/* The drain thread has counted stacks that were lost on their way to the store. */
static void count(void *part, struct gt_ledger *ledger)
{
	const struct gt_call_stacks *s = part;
	struct gt_python_counts python = gt_python_get_counts();

	ledger->count[GT_LEDGER_STACKS_REFUSED] += gt_stacks_refused(s->stacks);
	ledger->count[GT_LEDGER_PYTHON_BROKEN] = python.broken + python.foreign;
	ledger->count[GT_LEDGER_PYTHON_UNNAMED] = gt_python_codes_count().refused;
}

static void leave(void *part, bool stuck)
{
	if (stuck)
		gt_call_stacks_freeze(part);
}

/* Call stacks: native frames, Python frames. */
const struct gt_collector gt_stacks_collector = {
	.name = "stacks",
	.start = start,
	.leave = leave,
	.counts = counts,
	.count_count = sizeof(counts) / sizeof(counts[0]),
	.count = count,
};
