/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops over collectors, see the header.
 */
#include "pipeline/sources/collector.h"

#include "core/guest/memory.h"
#include "pipeline/output/outlet.h"

int gt_collectors_start(struct gt_collectors *c)
{
	for (struct gt_collector_entry *e = c->entries; e->collector; e++)
		if (e->collector->start) {
			int error = e->collector->start(e->part);

			if (error)
				return error;
		}
	return 0;
}

uint64_t gt_collectors_drain(struct gt_collectors *c)
{
	uint64_t records = 0;

	for (struct gt_collector_entry *e = c->entries; e->collector; e++)
		if (e->collector->drain)
			records += e->collector->drain(e->part);
	return records;
}

static uint64_t drain_others(void *context)
{
	return gt_collectors_drain(context);
}

uint64_t gt_collectors_read(struct gt_collectors *c, size_t bytes)
{
	uint64_t records = 0;

	for (struct gt_collector_entry *e = c->entries; e->collector; e++)
		if (e->collector->read) {
			struct gt_collector_turn turn = {
				.bytes = bytes, .others = drain_others, .context = c};

			records += e->collector->read(e->part, &turn);
		}
	/* calls that returned while we read: their records were there */
	return records + gt_collectors_drain(c);
}

size_t gt_collectors_waiting(const struct gt_collectors *c)
{
	size_t bytes = 0;

	for (const struct gt_collector_entry *e = c->entries; e->collector; e++)
		if (e->collector->waiting)
			bytes += e->collector->waiting(e->part);
	return bytes;
}

uint64_t gt_collectors_outstanding(const struct gt_collectors *c)
{
	uint64_t records = 0;

	for (const struct gt_collector_entry *e = c->entries; e->collector; e++)
		if (e->collector->outstanding)
			records += e->collector->outstanding(e->part);
	return records;
}

uint32_t gt_collectors_threads(const struct gt_collectors *c)
{
	uint32_t threads = 0;

	for (const struct gt_collector_entry *e = c->entries; e->collector; e++)
		if (e->collector->threads)
			threads += e->collector->threads(e->part);
	return threads;
}

void gt_collectors_flush(struct gt_collectors *c, bool forced)
{
	for (struct gt_collector_entry *e = c->entries; e->collector; e++)
		if (e->collector->flush)
			e->collector->flush(e->part, forced);
}

void gt_collectors_fetch(struct gt_collectors *c, bool forced)
{
	for (struct gt_collector_entry *e = c->entries; e->collector; e++)
		if (e->collector->fetch)
			e->collector->fetch(e->part, forced);
}

/* Calls before CUPTI: work that has a record has a call. */
void gt_collectors_begin(struct gt_collectors *c)
{
	for (struct gt_collector_entry *e = c->entries; e->collector; e++)
		if (e->collector->begin)
			e->collector->begin(e->part);
}

void gt_collectors_rest(struct gt_collectors *c)
{
	for (struct gt_collector_entry *e = c->entries; e->collector; e++)
		if (e->collector->rest)
			e->collector->rest(e->part);
}

void gt_collectors_part_with(struct gt_collectors *c)
{
	for (struct gt_collector_entry *e = c->entries; e->collector; e++)
		if (e->collector->part_with)
			e->collector->part_with(e->part);
}

bool gt_collectors_cease(struct gt_collectors *c)
{
	bool all = true;

	for (struct gt_collector_entry *e = c->entries; e->collector; e++)
		if (e->collector->cease)
			all &= e->collector->cease(e->part);
	return all;
}

bool gt_collectors_poll_is_due(struct gt_collectors *c, uint64_t now, bool flushed)
{
	bool any = false;

	for (struct gt_collector_entry *e = c->entries; e->collector; e++)
		if (e->collector->poll_is_due)
			any |= e->is_due = e->collector->poll_is_due(e->part, now, flushed);
	return any;
}

void gt_collectors_poll(struct gt_collectors *c)
{
	for (struct gt_collector_entry *e = c->entries; e->collector; e++)
		if (e->collector->poll)
			if (e->is_due)
				e->collector->poll(e->part);
}

void gt_collectors_polled(struct gt_collectors *c)
{
	for (struct gt_collector_entry *e = c->entries; e->collector; e++)
		if (e->collector->polled)
			if (e->is_due)
				e->collector->polled(e->part);
}

void gt_collectors_check(struct gt_collectors *c, uint64_t now)
{
	for (struct gt_collector_entry *e = c->entries; e->collector; e++)
		if (e->collector->check)
			e->collector->check(e->part, now);
}

void gt_collectors_leave(struct gt_collectors *c, bool stuck)
{
	for (struct gt_collector_entry *e = c->entries; e->collector; e++)
		if (e->collector->leave)
			e->collector->leave(e->part, stuck);
}

static void report_count(struct gt_outlet *outlet, const struct gt_collector_count *row,
			 uint64_t now, uint64_t *before)
{
	const char *cause = row->cause ? row->cause : gt_memory_limit_cause();

	if (now > *before)
		gt_outlet_note(outlet, &(struct gt_note_event){.name = row->note,
							       .what = row->what,
							       .cause = cause,
							       .of_what = row->of_what,
							       .count = now - *before});
	*before = now;
}

void gt_collectors_report(struct gt_collectors *c)
{
	for (struct gt_collector_entry *e = c->entries; e->collector; e++) {
		const struct gt_collector_count *counts = e->collector->counts;

		if (e->collector->report)
			e->collector->report(e->part);
		for (size_t k = 0; k < e->collector->count_count; k++)
			if (counts[k].note)
				report_count(c->outlet, &counts[k], counts[k].now(e->part),
					     &e->reported[k]);
	}
}

void gt_collectors_count(const struct gt_collectors *c, struct gt_ledger *ledger)
{
	for (const struct gt_collector_entry *e = c->entries; e->collector; e++) {
		const struct gt_collector_count *counts = e->collector->counts;

		for (size_t k = 0; k < e->collector->count_count; k++)
			if (counts[k].key < GT_LEDGER_COUNT_)
				ledger->count[counts[k].key] = counts[k].now(e->part);
		if (e->collector->count)
			e->collector->count(e->part, ledger);
	}
}

void gt_collectors_stop(struct gt_collectors *c)
{
	for (struct gt_collector_entry *e = c->entries; e->collector; e++)
		if (e->collector->stop)
			e->collector->stop(e->part);
}

/* The last to start is the first to go. */
void gt_collectors_release(const struct gt_collectors *c)
{
	size_t count = 0;

	while (c->entries[count].collector)
		count++;
	while (count-- > 0)
		if (c->entries[count].collector->release)
			c->entries[count].collector->release();
}
