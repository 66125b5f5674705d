/* SPDX-License-Identifier: Apache-2.0
 *
 * See window.h.
 */
#include "transform/job/window.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace/file/header.h"
#include "transform/as_json.h"
#include "transform/job/merging.h"

#define FLOWS_A_WORD 32 /* two bits each */

enum end_bit { BEGINNING = 1, END = 2 };

/* ---- keys ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
	a = (a ^ b) * 0x9e3779b97f4a7c15u;
	return a ^ a >> 29;
}

static uint64_t mix_text(uint64_t hash, const struct gt_span *text)
{
	for (uint32_t i = 0; text->kind != GT_SPAN_NONE && i < text->len; i++)
		hash = (hash ^ (unsigned char)text->text[i]) * 0x100000001b3u;
	return mix(hash, text->len);
}

static int64_t row_of(const struct gt_trace_event *record)
{
	return (int64_t)mix((uint64_t)record->pid, (uint64_t)record->tid);
}

/* The word and the shift of the bits of a flow. ac2g is numbered like the calls. */
static uint64_t flow_key(const struct gt_span *cat, int64_t id, unsigned int *ret_shift)
{
	uint64_t kind = gt_span_is(cat, "ac2g", 4) ? 0 : mix_text(1, cat) << 44;

	*ret_shift = 2 * (unsigned int)((uint64_t)id % FLOWS_A_WORD);
	return kind + (uint64_t)id / FLOWS_A_WORD + 1;
}

/* ---- what is in the window ---- */

static bool is_inside(const struct gt_merge_window *window, int64_t t)
{
	return window->from <= t && t <= window->to;
}

static int64_t end_of(const struct gt_merging *m, const struct gt_trace_event *record)
{
	int64_t end;

	if (!record->has_dur || record->dur <= 0)
		return m->now;
	if (__builtin_add_overflow(record->ts, record->dur, &end))
		return INT64_MAX;
	return gt_merge_time(m, end);
}

static bool reaches_in(const struct gt_merging *m, const struct gt_trace_event *record)
{
	return m->now <= m->window.to && end_of(m, record) >= m->window.from;
}

/* Of an end of an arrow: whether a slice that is kept begins there, or its moment is inside. */
static bool is_end_inside(const struct gt_merging *m, const struct gt_trace_event *record)
{
	return is_inside(&m->window, m->now) ||
	       (m->now < m->window.from &&
		gt_pairmap_find(&m->window.begun, row_of(record), record->ts));
}

/* ---- first: what the rest of the process needs ---- */

static int mark_flow(struct gt_merge_window *window, const struct gt_span *cat, int64_t id,
		     enum end_bit bit)
{
	unsigned int shift;
	struct gt_keymap_entry *entry = gt_keymap_get(&window->flows, flow_key(cat, id, &shift));

	if (!entry)
		return -ENOMEM;
	entry->value = (int64_t)((uint64_t)entry->value | (uint64_t)bit << shift);
	return 0;
}

static int mark_slice(struct gt_merging *m, const struct gt_trace_event *record)
{
	static const struct gt_span ac2g = {.text = "ac2g", .len = 4, .kind = GT_SPAN_STRING};
	int64_t id = gt_record_int(record, GT_ARG_CORRELATION, 0);
	bool is_work = gt_record_has(record, GT_ARG_STREAM) || record->pid < GT_MERGE_FIRST_HOST;

	if (m->now < m->window.from &&
	    !gt_pairmap_get(&m->window.begun, row_of(record), record->ts))
		return -ENOMEM;
	return id > 0 ? mark_flow(&m->window, &ac2g, id, is_work ? END : BEGINNING) : 0;
}

static bool may_be_kept(struct gt_merging *m, const struct gt_trace_event *record)
{
	switch (record->ph) {
	case 'X':
		return reaches_in(m, record);
	case 'B': /* its end is not known yet */
		return m->now <= m->window.to;
	default:
		return is_inside(&m->window, m->now);
	}
}

/* The handler of the first reading, with a struct gt_merging. */
static int look(const struct gt_trace_event *record, const struct gt_header *header, void *merging)
{
	struct gt_merging *m = merging;
	int rc = 0;

	(void)header;
	if (!record->has_ts)
		return 0;
	m->now = gt_merge_time(m, record->ts);
	if (record->ph == 's' || record->ph == 'f')
		return is_end_inside(m, record) ? mark_flow(&m->window, &record->cat, record->id,
							    record->ph == 's' ? BEGINNING : END)
						: 0;
	if (!may_be_kept(m, record))
		return 0;
	if (record->ph == 'X')
		rc = mark_slice(m, record);
	return rc ? rc : gt_merge_window_needs(&m->window, record);
}

int gt_merge_window_begin(struct gt_merging *m, size_t first, size_t end)
{
	int rc = 0;

	m->window.last_source = &m->sources.of[end - 1];
	for (size_t i = first; rc >= 0 && i < end; i++) {
		struct gt_reading reading = {0};
		struct gt_as_json trace;

		gt_merge_take_in_hand(m, &m->sources.of[i]);
		rc = gt_merge_open(m, &trace);
		if (rc >= 0)
			rc = gt_as_json_read(&trace, look, m, &reading);
		gt_as_json_close(&trace);
		gt_reading_fini(&reading);
		rc = rc == -ENOMEM ? rc : 0; /* the rest is said when it is copied */
	}
	return rc;
}

/* ---- then: one event after the other ---- */

/* What the ledger counts an event as; GT_LEDGER_COUNT_: as nothing. */
static enum gt_ledger_key key_of(const struct gt_trace_event *record)
{
	static const struct {
		char ph;
		const char *cat; /* NULL: any */
		enum gt_ledger_key key;
	} rows[] = {
		{'X', "cuda_runtime", GT_LEDGER_CALLS_WRITTEN},
		{'X', "cuda_driver", GT_LEDGER_CALLS_WRITTEN},
		{'X', "kernel", GT_LEDGER_KERNELS_WRITTEN},
		{'X', "gpu_memcpy", GT_LEDGER_MEMCPYS_WRITTEN},
		{'X', "gpu_memset", GT_LEDGER_MEMSETS_WRITTEN},
		{'X', "gpu_graph", GT_LEDGER_GRAPHS_WRITTEN},
		{'X', "cuda_sync", GT_LEDGER_SYNCS_WRITTEN},
		{'X', "overhead", GT_LEDGER_OVERHEADS_WRITTEN},
		{'X', "call_stack", GT_LEDGER_FRAMES_WRITTEN},
		{'X', "gpu_user_annotation", GT_LEDGER_SHADOWS_WRITTEN},
		{'X', "user_annotation", GT_LEDGER_RANGES_WRITTEN},
		{'X', "cpu_op", GT_LEDGER_RANGES_WRITTEN},
		{'X', "library", GT_LEDGER_RANGES_WRITTEN},
		{'X', "osrt", GT_LEDGER_RANGES_WRITTEN},
		{'i', "user_annotation", GT_LEDGER_RANGES_WRITTEN},
		{'i', "cpu_sample", GT_LEDGER_SAMPLES_WRITTEN},
		{'i', "cpu_instant_event", GT_LEDGER_TENSORS_WRITTEN},
		{'i', "gputrace", GT_LEDGER_NOTES_WRITTEN},
		{'s', "ac2g", GT_LEDGER_FLOWS_WRITTEN},
		{'C', NULL, GT_LEDGER_COUNTERS_WRITTEN},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].ph == record->ph &&
		    (!rows[i].cat || gt_span_is(&record->cat, rows[i].cat, strlen(rows[i].cat))))
			return rows[i].key;
	return GT_LEDGER_COUNT_;
}

void gt_merge_leave_out(struct gt_ledger *ledger, enum gt_ledger_key key)
{
	if (key == GT_LEDGER_COUNT_)
		return;
	ledger->count[key]++;
	for (int i = 0; i < GT_LEDGER_KINDS_; i++)
		if (gt_ledger_kinds[i].written == key)
			ledger->count[gt_ledger_kinds[i].left_out[0]]++;
}

static bool is_outside(int key)
{
	for (int i = 0; i < GT_LEDGER_KINDS_; i++)
		if ((int)gt_ledger_kinds[i].left_out[0] == key)
			return true;
	return false;
}

void gt_merge_settle(struct gt_ledger *ledger, const struct gt_ledger *left_out)
{
	for (int key = 0; key < GT_LEDGER_COUNT_; key++) {
		uint64_t *count = &ledger->count[key], less = left_out->count[key];

		if (is_outside(key))
			*count += less;
		else
			*count -= less < *count ? less : *count;
	}
}

static int leave_out(struct gt_merging *m, const struct gt_trace_event *record)
{
	gt_merge_leave_out(&m->left_out, key_of(record));
	return gt_merge_window_keep_stacks(&m->window, record);
}

static int keep(struct gt_merging *m)
{
	m->window.kept++;
	return 1;
}

static int take_flow(struct gt_merging *m, const struct gt_trace_event *record)
{
	unsigned int shift;
	const struct gt_keymap_entry *entry =
		gt_keymap_find(&m->window.flows, flow_key(&record->cat, record->id, &shift));
	uint64_t bits = entry ? (uint64_t)entry->value >> shift & (BEGINNING | END) : 0;

	if (is_end_inside(m, record) && bits == (BEGINNING | END))
		return 1;
	return leave_out(m, record);
}

/* ---- what waits ---- */

static struct gt_merge_held *held_at(struct gt_merge_window *window, size_t place)
{
	return place ? &window->held.at[place - 1] : NULL;
}

/* The place + 1 of a new one; 0: no memory. */
static size_t put_in(struct gt_merge_window *window, struct gt_merge_held held)
{
	size_t place = window->free_held;

	if (!place)
		return gt_vec_push(&window->held, held) ? window->held.count : 0;
	window->free_held = held_at(window, place)->below;
	*held_at(window, place) = held;
	return place;
}

static void take_out(struct gt_merge_window *window, size_t place)
{
	struct gt_merge_held *held = held_at(window, place);

	free(held->text);
	*held = (struct gt_merge_held){.below = window->free_held};
	window->free_held = place;
}

/* The same of an event as it will stand. */
static size_t hold(struct gt_merging *m, const struct gt_trace_event *record, int64_t ts,
		   size_t below)
{
	struct gt_merge_held held = {.ts = ts, .below = below};
	FILE *out = open_memstream(&held.text, &held.size);

	if (!out)
		return 0;
	gt_merge_put_event(m, record, out);
	fclose(out);
	return held.text ? put_in(&m->window, held) : 0;
}

static void put_held(struct gt_merging *m, struct gt_merge_held *held)
{
	if (!held->text)
		return;
	fprintf(m->out, "%s%s", m->result->events++ ? ",\n" : "", held->text);
	free(held->text);
	held->text = NULL;
	held->is_there = true;
	m->window.kept++;
}

/* The newest value before the window is the one that counts in it. */
static int take_counter(struct gt_merging *m, const struct gt_trace_event *record)
{
	struct gt_merge_window *window = &m->window;
	struct gt_merge_held *held;
	int64_t *place, now = m->now;
	size_t at;
	int rc;

	if (now > window->to)
		return leave_out(m, record);
	if (now >= window->from)
		return keep(m);
	place = gt_pairmap_get(&window->counters, record->pid,
			       (int64_t)mix(mix_text(2, &record->name), (uint64_t)record->id));
	if (!place)
		return -ENOMEM;
	held = held_at(window, (size_t)*place);
	if (held && held->ts > now)
		return leave_out(m, record);
	rc = held ? leave_out(m, record) : 0;
	if (rc)
		return rc;
	if (held)
		take_out(window, (size_t)*place);
	m->now = window->from;
	at = hold(m, record, now, 0);
	*place = (int64_t)at;
	return at ? 0 : -ENOMEM;
}

/* Of slices that begin and end with an event each: nested on a row, or by their id. */
static int64_t *opens_of(struct gt_merging *m, const struct gt_trace_event *record)
{
	bool has_row = record->ph == 'B' || record->ph == 'E';
	uint64_t id = has_row ? 0 : mix_text(mix_text(3, &record->cat), &record->id_text);

	return gt_pairmap_get(&m->window.opens, has_row ? row_of(record) : record->pid,
			      (int64_t)id);
}

static int take_begin(struct gt_merging *m, const struct gt_trace_event *record)
{
	struct gt_merge_window *window = &m->window;
	int64_t *place = opens_of(m, record);
	struct gt_merge_held held = {0};
	size_t at;

	if (!place)
		return -ENOMEM;
	held.below = (size_t)*place;
	held.is_there = is_inside(window, m->now);
	at = m->now < window->from ? hold(m, record, m->now, held.below) : put_in(window, held);
	if (!at)
		return -ENOMEM;
	*place = (int64_t)at;
	if (m->now < window->from)
		return 0;
	return held.is_there ? keep(m) : leave_out(m, record);
}

static int take_end(struct gt_merging *m, const struct gt_trace_event *record)
{
	struct gt_merge_window *window = &m->window;
	int64_t *place = opens_of(m, record);
	struct gt_merge_held *held;
	bool is_there;
	size_t at;

	if (!place)
		return -ENOMEM;
	if (!*place) /* its beginning is not in the trace */
		return is_inside(window, m->now) ? keep(m) : leave_out(m, record);
	at = (size_t)*place;
	held = held_at(window, at);
	if (m->now >= window->from)
		put_held(m, held);
	is_there = held->is_there;
	*place = (int64_t)held->below;
	take_out(window, at);
	return is_there ? keep(m) : leave_out(m, record);
}

static void put_all_held(struct gt_merging *m)
{
	for (size_t i = 0; i < m->window.held.count; i++)
		put_held(m, &m->window.held.at[i]);
}

/* Behind the window there is its end, which readers look for. */
static int take_instant(struct gt_merging *m, const struct gt_trace_event *record)
{
	if (gt_span_is(&record->name, "Record Window End", 17)) {
		if (m->source == m->window.last_source)
			put_all_held(m);
		m->now = m->now > m->window.to ? m->window.to : m->now;
		m->now = m->now < m->window.from ? m->window.from : m->now;
		return 1;
	}
	return is_inside(&m->window, m->now) ? keep(m) : leave_out(m, record);
}

static int take_slice(struct gt_merging *m, const struct gt_trace_event *record)
{
	return reaches_in(m, record) ? keep(m) : leave_out(m, record);
}

static int take_metadata(struct gt_merging *m, const struct gt_trace_event *record)
{
	(void)record;
	if (m->now < m->window.from)
		m->now = m->window.from;
	return 1;
}

int gt_merge_window_takes(struct gt_merging *m, const struct gt_trace_event *record)
{
	static const struct {
		const char *phases;
		int (*take)(struct gt_merging *m, const struct gt_trace_event *record);
	} rows[] = {
		{"X", take_slice},   {"M", take_metadata}, {"stf", take_flow},
		{"C", take_counter}, {"BbS", take_begin},  {"EeF", take_end},
	};

	if (!record->has_ts || !record->ph)
		return 1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strchr(rows[i].phases, record->ph))
			return rows[i].take(m, record);
	return take_instant(m, record);
}

static void forget(struct gt_merge_window *window)
{
	gt_pairmap_fini(&window->begun);
	gt_keymap_fini(&window->flows);
	gt_pairmap_fini(&window->counters);
	gt_pairmap_fini(&window->opens);
	gt_vec_free(&window->held);
	gt_merge_window_forget_stacks(window);
	*window = (struct gt_merge_window){.is_set = window->is_set,
					   .from = window->from,
					   .to = window->to,
					   .kept = window->kept};
}

/* What is still open reaches over the window. */
void gt_merge_window_end(struct gt_merging *m)
{
	put_all_held(m);
	forget(&m->window);
}
