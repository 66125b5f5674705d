/* SPDX-License-Identifier: Apache-2.0
 *
 * See fields.h. Arguments are found by a small hash of their key: this happens a few million times
 * a second. One thread per taker.
 */
#include "readers/chrome/fields.h"

_Static_assert(GT_ARG_COUNT_ <= 64, "arg_mask is one word");

/* Names of keys: members of an event from FIELD_MEMBER_ on, arguments from FIELD_ARG_ on. */
enum {
	FIELD_NO_MEMBER,
	FIELD_ARGS,
	FIELD_MEMBER_,
	FIELD_NO_ARG = 31,
	FIELD_ARG_,
};
_Static_assert(FIELD_ARG_ + GT_ARG_COUNT_ <= UINT8_MAX, "a field is one byte");

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
	gt_keys_init(&r->keys);
	gt_keys_init(&r->arg_keys);
	for (unsigned int i = 0; i < GT_ARG_COUNT_; i++) {
		unsigned int h = arg_hash(arg_keys[i].key, arg_keys[i].len);

		while (r->slot[h])
			h = (h + 1) % GT_TAKER_SLOTS;
		r->slot[h] = (uint8_t)(i + 1);
	}
}

static unsigned int find_arg(const struct gt_fields *r, const struct gt_span *key)
{
	unsigned int h;

	if (!key->len)
		return FIELD_NO_ARG;
	for (h = arg_hash(key->text, key->len); r->slot[h]; h = (h + 1) % GT_TAKER_SLOTS) {
		unsigned int i = r->slot[h] - 1u;

		if (gt_span_is(key, arg_keys[i].key, arg_keys[i].len))
			return FIELD_ARG_ + i;
	}
	return FIELD_NO_ARG;
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

#define MEMBERS (sizeof(members) / sizeof(members[0]))

static unsigned int find_member(const struct gt_fields *r, const struct gt_span *key)
{
	(void)r;
	if (gt_span_is(key, "args", 4))
		return FIELD_ARGS;
	for (unsigned int i = 0; i < MEMBERS; i++)
		if (gt_span_is(key, members[i].key, members[i].len))
			return FIELD_MEMBER_ + i;
	return FIELD_NO_MEMBER;
}

/* A kind of object: how its keys are found, and what is done with a value. */
struct object_kind {
	unsigned int (*find)(const struct gt_fields *r, const struct gt_span *key);
	const char *(*take)(struct gt_scan *scan, const char *value, struct gt_fields *r,
			    unsigned int field);
};

/* The field of a key, which may have escapes. */
static unsigned int find_decoded(const struct gt_fields *r, const struct object_kind *kind,
				 const struct gt_span *key)
{
	char text[6 * GT_KEY_BYTES];
	struct gt_span decoded = {.text = text, .kind = GT_SPAN_STRING};

	if (!key->escaped || key->len > sizeof(text))
		return kind->find(r, key);
	decoded.len = (uint32_t)gt_span_decode(key, text);
	return kind->find(r, &decoded);
}

/* Scans and learns what stands before a value: a comma, but not before the first one, and the key,
 * which is not one of those expected behind *@key. Returns where the value starts, or NULL. */
static const char *scan_new_key(struct gt_scan *scan, const char *p, struct gt_fields *r,
				struct gt_keys *keys, const struct object_kind *kind,
				unsigned int *key, unsigned int *ret_field)
{
	const char *quote = p, *value;
	struct gt_span text;

	if (*key != GT_KEY_BEGIN) {
		if (*p != ',')
			return gt_scan_fail(scan, p, "',' or '}' expected");
		quote = gt_scan_blanks(p + 1);
	}
	value = gt_scan_key(scan, quote, &text);
	if (!value)
		return NULL;
	*ret_field = find_decoded(r, kind, &text);
	*key = gt_keys_learn(keys, *key, p, (size_t)(value - p), (uint8_t)*ret_field);
	return value;
}

/* Walks the members of the object at @p. Returns the byte after it, or NULL. */
static inline __attribute__((always_inline)) const char *walk(struct gt_scan *scan, const char *p,
							      struct gt_fields *r,
							      struct gt_keys *keys,
							      const struct object_kind *kind)
{
	unsigned int key = GT_KEY_BEGIN, field;

	p = gt_scan_blanks(p + 1);
	if (*p == '}')
		return p + 1;
	for (;;) {
		unsigned int expected = gt_keys_expect(keys, key, p);
		const char *value;

		if (expected != GT_KEY_NONE) {
			key = expected;
			value = gt_scan_blanks(p + keys->key[key].length);
			field = keys->key[key].field;
		} else {
			value = scan_new_key(scan, p, r, keys, kind, &key, &field);
			if (!value)
				return NULL;
		}
		p = kind->take(scan, value, r, field);
		if (!p)
			return NULL;
		p = gt_scan_blanks(p);
		if (*p == '}')
			return p + 1;
	}
}

static const char *take_arg(struct gt_scan *scan, const char *value, struct gt_fields *r,
			    unsigned int field)
{
	struct gt_span span;
	const char *next = gt_scan_value(scan, value, &span);

	if (next && field >= FIELD_ARG_) {
		r->record.arg[field - FIELD_ARG_] = span;
		r->record.arg_mask |= 1ull << (field - FIELD_ARG_);
	}
	return next;
}

static const char *take_args(struct gt_scan *scan, const char *value, struct gt_fields *r)
{
	static const struct object_kind args = {find_arg, take_arg};
	const char *next;

	if (*value != '{')
		return gt_scan_value(scan, value, &r->record.args);
	r->record.arg_mask = 0; /* if it repeats, the last one is valid */
	next = walk(scan, value, r, &r->arg_keys, &args);
	if (next)
		r->record.args = (struct gt_span){
			.text = value, .len = (uint32_t)(next - value), .kind = GT_SPAN_OBJECT};
	return next;
}

static const char *take_member(struct gt_scan *scan, const char *value, struct gt_fields *r,
			       unsigned int field)
{
	struct gt_span span;
	const char *next;

	if (field == FIELD_ARGS)
		return take_args(scan, value, r);
	next = gt_scan_value(scan, value, &span);
	if (next && field >= FIELD_MEMBER_)
		members[field - FIELD_MEMBER_].take(&r->record, &span);
	return next;
}

const char *gt_fields_scan(struct gt_scan *scan, const char *p, struct gt_fields *r)
{
	static const struct object_kind event = {find_member, take_member};

	return walk(scan, p, r, &r->keys, &event);
}
