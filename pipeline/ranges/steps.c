/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges that are steps of a training are called as analysers look for them. Which ones is decided
 * by name (--step-range=NAME) or found out (auto): a range of the global domain that was pushed
 * while none of that domain was open on its thread, and in which GPU work was launched, and that
 * begins again on that thread with the same name; then those of that thread are steps (other
 * threads' records come in no order with its own). A slice is written once, when it ends, so the
 * first one keeps its name and counts as step 0. Libraries have domains of their own and are left
 * out.
 */
#include "pipeline/ranges/steps.h"

#include <string.h>

#include "collectors/nvtx/record.h"
#include "core/guest/log.h"
#include "core/guest/text.h"
#include "pipeline/ranges/internal.h"

#define STEP      "ProfilerStep#"
#define AUTOMATIC "auto"

/* Pushed on a thread where nothing else of the global domain was open. */
static bool is_outermost(const struct gt_range *range)
{
	return !range->started && !range->domain && !range->key && !range->event.is_operator;
}

static bool was_seen(const struct gt_range_steps *steps, const struct gt_range *range)
{
	for (uint32_t i = 0; i < steps->seen_count && i < GT_RANGE_CANDIDATES; i++)
		if (steps->seen[i].tid == range->tid && steps->seen[i].name == range->event.name)
			return true;
	return false;
}

static bool is_repeated(struct gt_range_steps *steps, const struct gt_range *range)
{
	if (!is_outermost(range))
		return false;
	if (!steps->found && was_seen(steps, range)) {
		steps->found = range->event.name;
		steps->tid = range->tid;
		steps->count = 1;
		gt_log_verbose("--step-range=" AUTOMATIC ": the ranges called '%s' are steps",
			       steps->found->text);
	}
	return steps->found == range->event.name && steps->tid == range->tid;
}

static bool is_step(struct gt_range_steps *steps, const struct gt_range *range)
{
	if (!*steps->wanted)
		return false;
	if (!strcmp(steps->wanted, AUTOMATIC))
		return is_repeated(steps, range);
	return !strcmp(steps->wanted, range->event.name->text);
}

/* A step inside a step stays what it is. */
static bool is_in_step(const struct gt_range *range)
{
	for (range = range->below; range; range = range->below)
		if (!strncmp(range->event.name->text, STEP, strlen(STEP)))
			return true;
	return false;
}

bool gt_range_steps_begin(struct gt_range_steps *steps, struct gt_range *range)
{
	char text[48];
	size_t n;

	if (!is_step(steps, range) || is_in_step(range))
		return false;
	n = gt_text_format(text, sizeof(text), STEP "%lu", (unsigned long)steps->count++);
	range->event.name = gt_intern_get(steps->strings, text, n);
	return true;
}

void gt_range_steps_end(struct gt_range_steps *steps, const struct gt_range *range)
{
	uint32_t i = steps->seen_count % GT_RANGE_CANDIDATES;

	if (steps->found || strcmp(steps->wanted, AUTOMATIC) != 0 || !is_outermost(range) ||
	    !range->has_work || was_seen(steps, range))
		return;
	steps->seen[i].tid = range->tid; /* the oldest makes room */
	steps->seen[i].name = range->event.name;
	steps->seen_count++;
}
