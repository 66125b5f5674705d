/* SPDX-License-Identifier: Apache-2.0
 *
 * readers/chrome/keys.h, and readers/chrome/fields.h on it: what a taker has learned from events
 * before changes nothing of what it takes from the next one.
 */
#include "readers/chrome/keys.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "readers/chrome/fields.h"

#define TEXT 1024

static struct gt_keys keys;

static unsigned int learn(unsigned int last, const char *text, uint8_t field)
{
	return gt_keys_learn(&keys, last, text, strlen(text), field);
}

static unsigned int expect(unsigned int last, const char *text)
{
	char padded[TEXT] = "";

	snprintf(padded, sizeof(padded), "%s", text);
	return gt_keys_expect(&keys, last, padded);
}

Test(keys, are_expected_behind_those_that_they_followed)
{
	unsigned int ts, dur, pid;

	gt_keys_init(&keys);
	cr_assert_eq(expect(GT_KEY_BEGIN, "\"ts\": 1"), GT_KEY_NONE);
	ts = learn(GT_KEY_BEGIN, "\"ts\": ", 1);
	dur = learn(ts, ", \"dur\": ", 2);
	pid = learn(ts, ", \"pid\": ", 3);
	cr_assert_eq(expect(GT_KEY_BEGIN, "\"ts\": 1"), ts);
	cr_assert_eq(expect(ts, ", \"dur\": 1"), dur);
	cr_assert_eq(expect(ts, ", \"pid\": 1"), pid);
	cr_assert_eq(keys.key[pid].field, 3);
	cr_assert_eq(expect(dur, ", \"pid\": 1"), GT_KEY_NONE, "nothing followed it");
	cr_assert_eq(learn(dur, ", \"pid\": ", 3), pid, "known text is not stored twice");
	cr_assert_eq(expect(dur, ", \"pid\": 1"), pid);
	cr_assert_eq(expect(ts, ", \"pid\":1"), GT_KEY_NONE);
	cr_assert_eq(expect(ts, ", \"pid"), GT_KEY_NONE, "cut");
	cr_assert_neq(learn(GT_KEY_BEGIN, ", \"pid\": ", 4), pid, "the same text, another field");
}

Test(keys, that_are_too_long_are_not_learned)
{
	char text[GT_KEY_BYTES + 2];

	gt_keys_init(&keys);
	memset(text, 'x', sizeof(text));
	text[GT_KEY_BYTES + 1] = 0;
	cr_assert_eq(learn(GT_KEY_BEGIN, text, 1), GT_KEY_NONE);
	text[GT_KEY_BYTES] = 0;
	cr_assert_neq(learn(GT_KEY_BEGIN, text, 1), GT_KEY_NONE);
	cr_assert_neq(expect(GT_KEY_BEGIN, text), GT_KEY_NONE);
}

Test(keys, start_again_when_there_are_too_many)
{
	unsigned int known;
	char text[TEXT];

	gt_keys_init(&keys);
	for (int i = 0; i < 10 * GT_KEYS_MOST; i++) {
		snprintf(text, sizeof(text), "\"key %d\": ", i);
		cr_assert_lt(learn(GT_KEY_BEGIN, text, 1), GT_KEYS_MOST);
	}
	known = learn(GT_KEY_BEGIN, "\"ph\": ", 2);
	cr_assert_eq(expect(GT_KEY_BEGIN, "\"ph\": \"X\""), known);
}

/* Events of several tools, and what is no event. */
static const char *const events[] = {
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k<int, 4>\", \"pid\": 0, \"tid\": 7, "
	"\"ts\": 5000000003.059, \"dur\": 4.000, \"args\": {\"queued\": 0, \"device\": 0, "
	"\"stream\": 7, \"correlation\": 1, \"registers per thread\": 122, \"grid\": [64, 8, 1], "
	"\"est. achieved occupancy %\": 48, \"stack\": 1}}",
	"{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 4100, "
	"\"tid\": 4100, \"ts\": 12.5, \"dur\": 3, \"args\": {\"cbid\": 211, \"correlation\": 1, "
	"\"stack\": 2, \"frames\": [\"step (train.cu:10)\", \"a \\\"b\\\"\"]}}",
	"{\"ph\": \"s\", \"id\": 1, \"pid\": 4100, \"tid\": 4100, \"ts\": 0.01, \"cat\": \"ac2g\", "
	"\"name\": \"ac2g\"}",
	"{\"ph\":\"f\",\"id\":1,\"pid\":0,\"tid\":7,\"ts\":1e3,\"cat\":\"ac2g\",\"bp\":\"e\"}",
	"{ \"name\" : \"a\\u0041\" , \"ph\" :\n\"i\", \"ts\": -1.25, \"args\": {} }",
	"{\"ph\": \"C\", \"ts\": 1, \"pid\": \"7\", \"tid\": \"Spans\", \"args\": {\"a\": NaN}}",
	"{\"args\": {\"stream\": {\"args\": {\"stream\": [1, [2], {\"ts\": 3}]}}, \"device\": 1}, "
	"\"args\": 5, \"ts\": \"12\", \"n\\u0061me\": \"x\"}",
	"{\"ph\": \"X\", \"args\": {\"queued\": 0,, \"device\": 0}}",
	"{\"ph\": \"X\" \"cat\": \"kernel\"}",
	"{\"ph\": \"X\", \"cat\": , \"name\": 1}",
	"{\"a key that is longer than what is learned of one\": 1, \"ts\": 1.0001, \"dur\": 1.5e3}",
	"{}",
};

#define EVENTS (sizeof(events) / sizeof(events[0]))

/* What a scan says, in comparable form. */
struct outcome {
	size_t behind, at; /* bytes into the text */
	const char *why;
	bool loose;
	struct gt_trace_event record;
};

static struct outcome outcome_of(struct gt_fields *taker, const char *text, size_t length)
{
	struct gt_scan scan = {.end = text + length, .at = text};
	struct outcome outcome;
	const char *behind;

	memset(&taker->record, 0, sizeof(taker->record));
	behind = gt_fields_scan(&scan, text, taker);
	memset(&outcome, 0, sizeof(outcome));
	outcome.behind = behind ? (size_t)(behind - text) : 0;
	outcome.at = behind ? 0 : (size_t)(scan.at - text);
	outcome.why = behind ? NULL : scan.why;
	outcome.loose = scan.loose;
	if (behind)
		outcome.record = taker->record;
	return outcome;
}

static bool is_same_span(const struct gt_span *a, const struct gt_span *b)
{
	return a->text == b->text && a->len == b->len && a->kind == b->kind &&
	       a->escaped == b->escaped;
}

static bool is_same_record(const struct gt_trace_event *a, const struct gt_trace_event *b)
{
	bool same =
		a->ph == b->ph && a->has_ts == b->has_ts && a->has_dur == b->has_dur &&
		a->has_pid == b->has_pid && a->has_tid == b->has_tid && a->has_id == b->has_id &&
		a->ts == b->ts && a->dur == b->dur && a->pid == b->pid && a->tid == b->tid &&
		a->id == b->id && a->arg_mask == b->arg_mask && is_same_span(&a->name, &b->name) &&
		is_same_span(&a->cat, &b->cat) && is_same_span(&a->pid_text, &b->pid_text) &&
		is_same_span(&a->tid_text, &b->tid_text) &&
		is_same_span(&a->id_text, &b->id_text) && is_same_span(&a->ts_text, &b->ts_text) &&
		is_same_span(&a->dur_text, &b->dur_text) && is_same_span(&a->args, &b->args);

	for (int i = 0; i < GT_ARG_COUNT_; i++)
		same &= !(a->arg_mask >> i & 1) || is_same_span(&a->arg[i], &b->arg[i]);
	return same;
}

static struct gt_fields used, fresh;

/* Compares a taker that has seen other events with one that has not. */
static void check_same(const char *event, size_t length)
{
	char *text = calloc(1, length + GT_INPUT_PADDING);
	struct outcome a, b;

	memcpy(text, event, length);
	memset(&fresh, 0, sizeof(fresh));
	gt_fields_init(&fresh);
	a = outcome_of(&fresh, text, length);
	b = outcome_of(&used, text, length);
	cr_assert_eq(a.behind, b.behind, "%s", text);
	cr_assert_eq(a.at, b.at, "%s: %zu %zu", text, a.at, b.at);
	cr_assert_eq(a.why, b.why, "%s", text);
	cr_assert_eq(a.loose, b.loose, "%s", text);
	cr_assert(is_same_record(&a.record, &b.record), "%s", text);
	free(text);
}

/* The same numbers in each run. */
static uint32_t draw(uint32_t below)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

Test(fields, do_not_depend_on_events_before)
{
	static const char bytes[] = "\",:{}[] \\\n\t0aX.e-\0\x80";

	gt_fields_init(&used);
	for (int round = 0; round < 20000; round++) {
		const char *event = events[draw(EVENTS)];
		size_t length = strlen(event);
		char text[TEXT];

		memcpy(text, event, length);
		if (draw(4) == 0)
			length = 1 + draw((uint32_t)length);
		for (uint32_t i = draw(3); i > 0; i--)
			text[1 + draw((uint32_t)length)] = bytes[draw(sizeof(bytes) - 1)];
		check_same(text, length);
	}
}

/* So many names that the taker forgets what it knows, in the middle of an event, too. */
Test(fields, of_which_each_has_a_name_of_its_own)
{
	char text[TEXT];

	gt_fields_init(&used);
	for (int i = 0; i < 2000; i++) {
		snprintf(text, sizeof(text),
			 "{\"key %u\": 1, \"ph\": \"C\", \"args\": {\"key %u\": 1, \"name\": 2, "
			 "\"key %u\": 2, \"name\": 3}, \"name\": \"x\", \"pid\": 1, \"dur\": 1}",
			 draw(300), draw(300), draw(300));
		check_same(text, strlen(text));
	}
}

Test(fields, of_each_event)
{
	char text[TEXT] = "";

	gt_fields_init(&used);
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < EVENTS; i++)
			check_same(events[i], strlen(events[i]));
	memcpy(text, events[0], strlen(events[0]));
	outcome_of(&used, text, strlen(text));
	cr_assert_eq(used.record.ts, 5000000003059);
	cr_assert_eq(used.record.dur, 4000);
	cr_assert(gt_span_is(&used.record.arg[GT_ARG_REGISTERS], "122", 3));
	cr_assert(gt_span_is(&used.record.arg[GT_ARG_GRID], "[64, 8, 1]", 10));
}

Test(fields, of_keys_with_escapes)
{
	static const char event[] = "{\"\\u0070h\": \"X\", \"args\": {\"s\\u0074ream\": 7}}";
	char text[TEXT] = "";

	gt_fields_init(&used);
	memcpy(text, event, strlen(event));
	for (int round = 0; round < 2; round++) {
		outcome_of(&used, text, strlen(text));
		cr_assert_eq(used.record.ph, 'X');
		cr_assert(gt_record_has(&used.record, GT_ARG_STREAM));
		cr_assert(gt_span_is(&used.record.arg[GT_ARG_STREAM], "7", 1));
	}
}
