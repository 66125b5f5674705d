/* SPDX-License-Identifier: Apache-2.0
 *
 * The arguments of the record that is being turned into an event. One thread per reading.
 */
#include "readers/chrome/events_json_args.h"

#include <string.h>

static const char *take_arg(struct gt_scan *scan, const struct gt_span *key, const char *value,
			    void *data)
{
	struct gt_events_json_args *args = data;
	struct gt_span span;
	const char *next = gt_scan_value(scan, value, &span);

	if (next && args->count < GT_EVENTS_JSON_ARGS) {
		args->key[args->count] = *key;
		args->value[args->count] = span;
	}
	args->count++;
	return next;
}

void gt_events_json_split_args(struct gt_events_json *json, const struct gt_trace_event *record)
{
	struct gt_scan scan = {0};

	json->args.count = 0;
	json->args.whole = &record->args;
	if (record->args.kind != GT_SPAN_OBJECT)
		return;
	scan.end = record->args.text + record->args.len;
	if (!gt_scan_object(&scan, record->args.text, take_arg, &json->args))
		json->args.count = 0;
}

/* If a key repeats, the last one is valid, as everywhere. */
bool gt_arg_find(const struct gt_events_json *json, const char *key, struct gt_span *ret_value)
{
	const struct gt_events_json_args *args = &json->args;
	size_t len = strlen(key);

	if (args->count > GT_EVENTS_JSON_ARGS)
		return gt_span_member(args->whole, key, ret_value);
	for (size_t i = args->count; i-- > 0;) {
		if (!gt_span_is(&args->key[i], key, len))
			continue;
		*ret_value = args->value[i];
		return true;
	}
	return false;
}

uint64_t gt_arg_number(const struct gt_events_json *json, const char *key)
{
	struct gt_span span;
	int64_t value;

	return gt_arg_find(json, key, &span) && gt_span_int(&span, &value) ? (uint64_t)value : 0;
}

bool gt_arg_is_there(const struct gt_events_json *json, const char *key)
{
	struct gt_span span;

	return gt_arg_find(json, key, &span);
}

const struct gt_string *gt_arg_string(struct gt_events_json *json, const char *key)
{
	struct gt_span span;

	return gt_arg_find(json, key, &span) ? gt_events_json_string(json, &span) : NULL;
}

uint64_t gt_arg_micro(const struct gt_events_json *json, const char *key)
{
	struct gt_span span;
	double value;

	if (!gt_arg_find(json, key, &span) || !gt_span_double(&span, &value) || value < 0 ||
	    value > 1e12)
		return 0;
	return (uint64_t)(value * 1e6 + 0.5);
}

void gt_arg_triple(const struct gt_events_json *json, const char *key, uint32_t *ret_v)
{
	struct gt_span array, element;
	uint32_t position = 0;
	int64_t value;

	if (!gt_arg_find(json, key, &array) || array.kind != GT_SPAN_ARRAY)
		return;
	for (int i = 0; i < 3 && gt_span_next(&array, &position, &element); i++)
		if (gt_span_int(&element, &value))
			ret_v[i] = (uint32_t)value;
}

bool gt_span_reads(const struct gt_span *span, const char *text)
{
	return span->kind == GT_SPAN_STRING && gt_span_is(span, text, strlen(text));
}

const struct gt_string *gt_arg_text(struct gt_events_json *json, const char *key)
{
	struct gt_span span;

	return gt_arg_find(json, key, &span)
		       ? gt_intern_get(json->events->strings, span.text, span.len)
		       : NULL;
}
