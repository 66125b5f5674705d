/* SPDX-License-Identifier: Apache-2.0
 *
 * The collectors there are, and the loops over them, see the header.
 */
#include "pipeline/collector.h"

#include <string.h>

#include "pipeline/emit.h"
#include "pipeline/session.h"

#define MOST_COUNTS 16 /* of one collector */

extern const struct gt_collector gt_calls_collector;
extern const struct gt_collector gt_stores_collector;
extern const struct gt_collector gt_stacks_collector;
extern const struct gt_collector gt_graph_collector;
extern const struct gt_collector gt_gpu_collector;
extern const struct gt_collector gt_ranges_collector;
extern const struct gt_collector gt_samples_collector;

/* In the order of their start: what CUPTI's callbacks need exists before it. */
const struct gt_collector *const gt_collectors[] = {
	&gt_calls_collector, &gt_stores_collector, &gt_stacks_collector,  &gt_graph_collector,
	&gt_gpu_collector,   &gt_ranges_collector, &gt_samples_collector, NULL,
};

#define COLLECTORS (sizeof(gt_collectors) / sizeof(gt_collectors[0]) - 1)

static uint64_t reported[COLLECTORS][MOST_COUNTS];

int gt_collectors_start(struct gt_session *s)
{
	int error = 0;

	memset(reported, 0, sizeof(reported));
	for (size_t i = 0; i < COLLECTORS && !error; i++)
		if (gt_collectors[i]->start)
			error = gt_collectors[i]->start(s);
	return error;
}

uint64_t gt_collectors_drain(struct gt_session *s)
{
	uint64_t records = 0;

	for (size_t i = 0; i < COLLECTORS; i++)
		if (gt_collectors[i]->drain)
			records += gt_collectors[i]->drain(s);
	return records;
}

static void report_count(struct gt_session *s, const struct gt_collector_count *row,
			 uint64_t *before)
{
	uint64_t now = row->now(s);

	if (now > *before)
		gt_emit_note(s, row->note, row->what, row->cause, row->of_what, now - *before);
	*before = now;
}

void gt_collectors_report(struct gt_session *s)
{
	for (size_t i = 0; i < COLLECTORS; i++) {
		const struct gt_collector *collector = gt_collectors[i];

		if (collector->report)
			collector->report(s);
		for (size_t k = 0; k < collector->count_count; k++)
			if (collector->counts[k].note)
				report_count(s, &collector->counts[k], &reported[i][k]);
	}
}

void gt_collectors_count(struct gt_session *s)
{
	for (size_t i = 0; i < COLLECTORS; i++) {
		const struct gt_collector *collector = gt_collectors[i];

		for (size_t k = 0; k < collector->count_count; k++)
			if (collector->counts[k].key < GT_LEDGER_COUNT_)
				s->ledger.count[collector->counts[k].key] =
					collector->counts[k].now(s);
		if (collector->count)
			collector->count(s);
	}
}

void gt_collectors_stop(struct gt_session *s)
{
	for (size_t i = 0; i < COLLECTORS; i++)
		if (gt_collectors[i]->stop)
			gt_collectors[i]->stop(s);
}

/* The last to start is the first to go. */
void gt_collectors_release(void)
{
	for (size_t i = COLLECTORS; i-- > 0;)
		if (gt_collectors[i]->release)
			gt_collectors[i]->release();
}
