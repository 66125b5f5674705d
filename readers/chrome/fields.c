/* SPDX-License-Identifier: Apache-2.0
 *
 * See fields.h. Arguments are found by a small hash of their key: this happens a few million times
 * a second. One thread per taker.
 */
#include "readers/chrome/fields.h"

_Static_assert(GT_ARG_COUNT_ <= 64, "arg_mask is one word");

static const struct {
	const char *key;
	uint32_t len;
} arg_keys[GT_ARG_COUNT_] = {
#define GT_ARG(id, text) {text, sizeof(text) - 1},
#include "readers/chrome/args.def"
#undef GT_ARG
};

static inline unsigned int arg_hash(const char *key, uint32_t len)
{
	return (len * 7u + (unsigned char)key[0] * 3u + (unsigned char)key[len - 1]) %
	       GT_TAKER_SLOTS;
}

void gt_fields_init(struct gt_fields *r)
{
	for (unsigned int i = 0; i < GT_ARG_COUNT_; i++) {
		unsigned int h = arg_hash(arg_keys[i].key, arg_keys[i].len);

		while (r->slot[h])
			h = (h + 1) % GT_TAKER_SLOTS;
		r->slot[h] = (uint8_t)(i + 1);
	}
}

static int find_arg(const struct gt_fields *r, const struct gt_span *key)
{
	unsigned int h;

	if (!key->len)
		return -1;
	for (h = arg_hash(key->text, key->len); r->slot[h]; h = (h + 1) % GT_TAKER_SLOTS) {
		unsigned int i = r->slot[h] - 1u;

		if (gt_span_is(key, arg_keys[i].key, arg_keys[i].len))
			return (int)i;
	}
	return -1;
}

static const char *arg_member(struct gt_scan *scan, const struct gt_span *key, const char *value,
			      void *data)
{
	struct gt_fields *r = data;
	struct gt_span span;
	const char *next = gt_scan_value(scan, value, &span);
	int arg = next ? find_arg(r, key) : -1;

	if (arg >= 0) {
		r->record.arg[arg] = span;
		r->record.arg_mask |= 1ull << arg;
	}
	return next;
}

static bool is_whole_number(const struct gt_span *span)
{
	uint32_t i = span->len > 1 && span->text[0] == '-';

	if (!span->len || span->len > 19)
		return false;
	while (i < span->len && span->text[i] >= '0' && span->text[i] <= '9')
		i++;
	return i == span->len;
}

/* Reads a pid or tid: a number, also one in quotes, or a text, which is hashed to a negative
 * number. */
static bool read_track(const struct gt_span *span, int64_t *ret_value)
{
	uint32_t hash = 2166136261u;

	if (span->kind == GT_SPAN_NUMBER)
		return gt_span_int(span, ret_value);
	if (span->kind != GT_SPAN_STRING)
		return false;
	if (is_whole_number(span) && gt_span_int(span, ret_value))
		return true;
	for (uint32_t i = 0; i < span->len; i++)
		hash = (hash ^ (unsigned char)span->text[i]) * 16777619u;
	*ret_value = -2 - (int64_t)(hash & 0x3fffffff);
	return true;
}

static void take_phase(struct gt_trace_event *record, const struct gt_span *span)
{
	if (span->kind == GT_SPAN_STRING && span->len == 1)
		record->ph = *span->text;
}

static void take_name(struct gt_trace_event *record, const struct gt_span *span)
{
	record->name = *span;
}

static void take_cat(struct gt_trace_event *record, const struct gt_span *span)
{
	record->cat = *span;
}

static void take_pid(struct gt_trace_event *record, const struct gt_span *span)
{
	record->pid_text = *span;
	record->has_pid = read_track(span, &record->pid);
}

static void take_tid(struct gt_trace_event *record, const struct gt_span *span)
{
	record->tid_text = *span;
	record->has_tid = read_track(span, &record->tid);
}

static void take_ts(struct gt_trace_event *record, const struct gt_span *span)
{
	record->ts_text = *span;
	record->has_ts = gt_span_ns(span, &record->ts);
}

static void take_dur(struct gt_trace_event *record, const struct gt_span *span)
{
	record->dur_text = *span;
	record->has_dur = gt_span_ns(span, &record->dur);
}

static void take_id(struct gt_trace_event *record, const struct gt_span *span)
{
	record->id_text = *span;
	record->has_id = span->kind == GT_SPAN_NUMBER && gt_span_int(span, &record->id);
}

static const struct {
	const char *key;
	uint32_t len;
	void (*take)(struct gt_trace_event *record, const struct gt_span *span);
} members[] = {
	{"ph", 2, take_phase}, {"ts", 2, take_ts},   {"id", 2, take_id},   {"pid", 3, take_pid},
	{"tid", 3, take_tid},  {"cat", 3, take_cat}, {"dur", 3, take_dur}, {"name", 4, take_name},
};

const char *gt_fields_member(struct gt_scan *scan, const struct gt_span *key, const char *value,
			     void *data)
{
	struct gt_fields *r = data;
	struct gt_span span;
	const char *next;

	if (gt_span_is(key, "args", 4) && *value == '{') {
		r->record.arg_mask = 0; /* if it repeats, the last one is valid */
		next = gt_scan_object(scan, value, arg_member, r);
		if (next)
			r->record.args = (struct gt_span){.text = value,
							  .len = (uint32_t)(next - value),
							  .kind = GT_SPAN_OBJECT};
		return next;
	}
	next = gt_scan_value(scan, value, &span);
	if (!next)
		return NULL;
	if (gt_span_is(key, "args", 4))
		r->record.args = span;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (gt_span_is(key, members[i].key, members[i].len)) {
			members[i].take(&r->record, &span);
			break;
		}
	}
	return next;
}
