/* SPDX-License-Identifier: Apache-2.0
 *
 * See join_ledger.h.
 */
#include "recover/join_ledger.h"

#include <errno.h>
#include <string.h>

#include "core/stack.h"

static bool count_stack(struct gt_join_count *count, const struct gt_stack *stack)
{
	return !stack || !stack->id || gt_keymap_get(&count->stacks, stack->id);
}

static const struct gt_stack *creator_of(const struct gt_event *event)
{
	if (event->kind == GT_EVENT_KERNEL)
		return event->kernel.created;
	if (event->kind == GT_EVENT_MEMCPY || event->kind == GT_EVENT_MEMSET)
		return event->memory.created;
	if (event->kind == GT_EVENT_GRAPH)
		return event->graph.created;
	return NULL;
}

int gt_join_count(struct gt_join_count *count, const struct gt_event *event)
{
	const struct gt_ledger_kind *untimed = gt_ledger_untimed_kind(event);
	enum gt_ledger_key key = gt_ledger_key_of(event);

	if (key < GT_LEDGER_COUNT_)
		count->ledger.count[key]++;
	if (untimed)
		count->ledger.count[untimed->untimed]++;
	return count_stack(count, event->stack) && count_stack(count, event->launch.stack) &&
			       count_stack(count, event->launch.forward) &&
			       count_stack(count, creator_of(event))
		       ? 0
		       : -ENOMEM;
}

void gt_join_count_fini(struct gt_join_count *count)
{
	gt_keymap_fini(&count->stacks);
}

void gt_join_ledger_take_off(struct gt_ledger *ledger, const struct gt_ledger *reported)
{
	for (int i = 0; i < GT_LEDGER_COUNT_; i++) {
		uint64_t *count = &ledger->count[i];

		*count -= reported->count[i] < *count ? reported->count[i] : *count;
	}
}

/* What was lost, and the calls that were seen: what had not ended has stayed with the process. */
static void balance(struct gt_ledger *ledger, const struct gt_losses *lost)
{
	uint64_t *count = ledger->count, reported;

	gt_losses_forget(ledger);
	gt_losses_count(lost, ledger);
	reported = gt_ledger_ended_calls(ledger);
	count[GT_LEDGER_CALLS_OPEN] =
		count[GT_LEDGER_CALLS_SEEN] > reported ? count[GT_LEDGER_CALLS_SEEN] - reported : 0;
	count[GT_LEDGER_CALLS_SEEN] = reported + count[GT_LEDGER_CALLS_OPEN];
}

/* What is counted in the file, whatever the process had counted. */
static const enum gt_ledger_key counted[] = {
	GT_LEDGER_CALLS_WRITTEN,   GT_LEDGER_KERNELS_WRITTEN,  GT_LEDGER_MEMCPYS_WRITTEN,
	GT_LEDGER_MEMSETS_WRITTEN, GT_LEDGER_SYNCS_WRITTEN,    GT_LEDGER_OVERHEADS_WRITTEN,
	GT_LEDGER_RANGES_WRITTEN,  GT_LEDGER_SHADOWS_WRITTEN,  GT_LEDGER_FRAMES_WRITTEN,
	GT_LEDGER_SAMPLES_WRITTEN, GT_LEDGER_COUNTERS_WRITTEN, GT_LEDGER_NOTES_WRITTEN,
	GT_LEDGER_KERNELS_UNTIMED, GT_LEDGER_MEMCPYS_UNTIMED,  GT_LEDGER_MEMSETS_UNTIMED,
	GT_LEDGER_GRAPHS_WRITTEN,  GT_LEDGER_GRAPHS_UNTIMED,   GT_LEDGER_TENSORS_WRITTEN,
};

/* The file has more than is said to have arrived: the process was killed before it counted that. */
static void receive_all(struct gt_ledger *ledger)
{
	for (int i = 0; i < GT_LEDGER_KINDS_; i++) {
		const struct gt_ledger_kind *kind = &gt_ledger_kinds[i];
		uint64_t there = gt_ledger_settled(ledger, kind);

		if (ledger->count[kind->received] < there)
			ledger->count[kind->received] = there;
	}
}

struct gt_ledger gt_join_ledger(const struct gt_ledger *session, const struct gt_join_count *count,
				struct gt_join_written *written, struct gt_ledger *ret_rest)
{
	struct gt_losses told = gt_losses_of(session);
	struct gt_ledger ledger = *session, by_writer = *written->ledger;

	told.since = written->lost.since;
	told.error = written->lost.error;
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		ledger.count[counted[i]] = count->ledger.count[counted[i]];
	ledger.count[GT_LEDGER_FLOWS_WRITTEN] = by_writer.count[GT_LEDGER_FLOWS_WRITTEN];
	ledger.count[GT_LEDGER_STACKS_WRITTEN] = count->stacks.used;
	ledger.count[GT_LEDGER_NAMES_WRITTEN] = by_writer.count[GT_LEDGER_NAMES_WRITTEN];
	ledger.count[GT_LEDGER_BYTES_WRITTEN] = 0; /* by the writer */
	gt_ledger_settle_older(&ledger);
	receive_all(&ledger);
	told.killed += gt_losses_add_missing(&told, &ledger);
	written->lost = gt_losses_settle(&told, &ledger);
	balance(&ledger, &written->lost);
	gt_losses_count(&written->lost, &by_writer);
	*ret_rest = ledger;
	for (int i = 0; i < GT_LEDGER_COUNT_; i++)
		ret_rest->count[i] -= by_writer.count[i];
	return ledger;
}
