/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/window/capture_plan.h"

#define STEPS     "nvtx:ProfilerStep#*"
#define MOST      1000000u /* steps, windows */
#define FIELDS    5u
#define NO_REPEAT (FIELDS - 1)
#define SHUTDOWN  "-shutdown"

/* A decimal number up to MOST. Returns its end; NULL: there is none. */
static const char *take_number(const char *text, uint32_t *ret_number)
{
	uint32_t number = 0;

	if (*text < '0' || *text > '9')
		return NULL;
	for (; *text >= '0' && *text <= '9'; text++) {
		number = number * 10 + (uint32_t)(*text - '0');
		if (number > MOST)
			return NULL;
	}
	*ret_number = number;
	return text;
}

int gt_capture_end_parse(const char *text, bool *ret_ends, uint32_t *ret_windows)
{
	static const char repeat[] = "repeat";
	const size_t length = sizeof(repeat) - 1, shutdown = strlen(SHUTDOWN);

	*ret_ends = true;
	*ret_windows = 1;
	if (!*text || !strcmp(text, "stop") || !strcmp(text, "stop" SHUTDOWN))
		return 0;
	if (!strcmp(text, "none")) {
		*ret_ends = false;
		return 0;
	}
	if (strncmp(text, repeat, length) != 0)
		return -EINVAL;
	*ret_windows = 0;
	if (!text[length])
		return 0;
	if (!strncmp(text + length, SHUTDOWN ":", shutdown + 1))
		text += shutdown;
	text = text[length] == ':' ? take_number(text + length + 1, ret_windows) : NULL;
	if (text && !*text && *ret_windows)
		return 0;
	*ret_windows = 1;
	return -EINVAL;
}

int gt_capture_schedule_parse(const char *text, struct gt_capture_schedule *ret_schedule)
{
	struct gt_capture_schedule made = {0};
	uint32_t *fields[FIELDS] = {&made.skip_first, &made.wait, &made.warmup, &made.active,
				    &made.repeat};
	size_t count = 0;

	*ret_schedule = made;
	if (!*text)
		return 0;
	while (text && count < FIELDS) {
		text = take_number(text, fields[count++]);
		if (!text || !*text)
			break;
		text = *text == ',' && count < FIELDS ? text + 1 : NULL;
	}
	if (!text || *text || count < NO_REPEAT || !made.active)
		return -EINVAL;
	*ret_schedule = made;
	return 0;
}

/* As pipeline/ranges/steps.c finds them: ranges of that name in any domain. */
static int make_steps(const char *name, struct gt_capture_range *ret_range)
{
	int rc;

	if (!name || !*name || !strcmp(name, GT_CAPTURE_STEPS_FOUND))
		return gt_capture_range_parse(STEPS, ret_range);
	*ret_range = (struct gt_capture_range){.domain = "*"};
	rc = gt_capture_range_copy(ret_range->name, name, strlen(name));
	if (rc)
		return rc;
	ret_range->kind = GT_CAPTURE_NVTX;
	return 0;
}

void gt_capture_plan_make(const char *range, const char *end, const char *schedule,
			  const char *steps, struct gt_capture_plan *ret_plan, int *ret_wrong)
{
	struct gt_capture_plan *plan = ret_plan;

	*ret_wrong = -1;
	if (gt_capture_schedule_parse(schedule ? schedule : "", &plan->schedule))
		*ret_wrong = 2;
	if (gt_capture_end_parse(end ? end : "", &plan->ends, &plan->windows))
		*ret_wrong = 1;
	plan->shuts_down = *ret_wrong != 1 && end && strstr(end, SHUTDOWN);
	if (plan->schedule.active) {
		plan->ends = true;
		plan->windows = plan->schedule.repeat;
	}
	if (gt_capture_range_parse(range ? range : "", &plan->range))
		*ret_wrong = 0;
	else if (plan->schedule.active && plan->range.kind == GT_CAPTURE_ALL &&
		 make_steps(steps, &plan->range))
		*ret_wrong = 3;
}

enum gt_capture_phase gt_capture_phase_of(const struct gt_capture_schedule *s, uint64_t step)
{
	uint64_t cycle = (uint64_t)s->wait + s->warmup + s->active, at;

	if (step < s->skip_first)
		return GT_CAPTURE_REST;
	step -= s->skip_first;
	if (s->repeat && step / cycle >= s->repeat)
		return GT_CAPTURE_REST;
	at = step % cycle;
	if (at < s->wait)
		return GT_CAPTURE_REST;
	if (at < s->wait + s->warmup)
		return GT_CAPTURE_WARM_UP;
	return at + 1 == cycle ? GT_CAPTURE_RECORD_LAST : GT_CAPTURE_RECORD;
}
