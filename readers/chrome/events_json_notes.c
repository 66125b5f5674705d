/* SPDX-License-Identifier: Apache-2.0
 *
 * Records with one value of any name: counters and the tracer's notes. One thread per reading.
 */
#include <string.h>

#include "readers/chrome/events_json_args.h"
#include "readers/chrome/events_json_kinds.h"

struct member {
	struct gt_span key, value;
	bool found, of_note;
};

/* Keeps the first member of the arguments; of a note, the first that is not a standard one. */
static const char *skip_value(struct gt_scan *scan, const struct gt_span *key, const char *value,
			      void *data)
{
	static const char *const own[] = {"cause", "what",   "duration (us)",
					  "stack", "frames", "modules"};
	struct member *member = data;
	struct gt_span span;
	const char *behind = gt_scan_value(scan, value, &span);
	bool is_own = false;

	for (size_t i = 0; member->of_note && i < sizeof(own) / sizeof(own[0]); i++)
		is_own |= gt_span_is(key, own[i], strlen(own[i]));
	if (!member->found && !is_own) {
		member->key = *key;
		member->value = span;
		member->found = true;
	}
	return behind;
}

static struct member first_member(const struct gt_trace_event *r, bool of_note)
{
	struct member member = {.of_note = of_note};
	struct gt_scan scan = {0};

	if (r->args.kind != GT_SPAN_OBJECT)
		return member;
	scan.end = r->args.text + r->args.len;
	gt_scan_object(&scan, r->args.text, skip_value, &member);
	return member;
}

int gt_events_json_counter(struct gt_events_json *json, const struct gt_trace_event *r,
			   struct gt_event *event)
{
	struct member member = first_member(r, false);
	struct gt_counter_event *counter = &event->counter;

	event->tid = 0;
	*counter = (struct gt_counter_event){.name = gt_events_json_string(json, &r->name),
					     .on_gpu = r->pid < GT_EVENTS_JSON_FIRST_HOST};
	event->place.device = counter->on_gpu ? (uint32_t)r->pid : 0;
	if (!member.found) {
		json->events->strange++;
		return 0;
	}
	counter->series = gt_events_json_string(json, &member.key);
	if (memchr(member.value.text, '.', member.value.len) ||
	    !gt_span_int(&member.value, &counter->value)) {
		counter->is_real = gt_span_double(&member.value, &counter->real);
		if (!counter->is_real) {
			json->events->strange++;
			return 0;
		}
	}
	return gt_events_give(json->events, event);
}

static const char *text_of(const struct gt_string *string)
{
	return string ? string->text : NULL;
}

int gt_events_json_note(struct gt_events_json *json, const struct gt_trace_event *r,
			struct gt_event *event)
{
	struct member member = first_member(r, true);
	struct gt_span span = {0};
	int64_t value = 0;

	if (r->name.kind != GT_SPAN_STRING) {
		json->events->strange++;
		return 0;
	}
	if (gt_span_member(&r->raw, "s", &span) && gt_span_reads(&span, "p"))
		event->tid = 0; /* of the process */
	event->stack = gt_events_json_stack(json, "stack", "frames", "modules");
	event->note = (struct gt_note_event){.name = text_of(gt_events_json_string(json, &r->name)),
					     .what = text_of(gt_arg_string(json, "what")),
					     .cause = text_of(gt_arg_string(json, "cause"))};
	if (member.found && gt_span_int(&member.value, &value)) {
		event->note.count = (uint64_t)value;
		if (!gt_span_is(&member.key, "count", 5))
			event->note.of_what = text_of(gt_events_json_string(json, &member.key));
	}
	if (gt_arg_find(json, "duration (us)", &span) && gt_span_ns(&span, &value) && value > 0)
		event->end = event->start + (uint64_t)value;
	return gt_events_give(json->events, event);
}
