/* SPDX-License-Identifier: Apache-2.0
 *
 * Flows between the files of one process: those to work whose call is in an earlier one, which
 * neither file could draw.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "transform/job/merging.h"

#define CALLS ((size_t)1 << 19) /* that are remembered */

struct gt_merge_call {
	int64_t id, pid, tid, ts; /* as they stand in its file */
	bool has_flow;
};

int gt_merge_connect_begin(struct gt_merging *m)
{
	m->calls = calloc(CALLS, sizeof(*m->calls));
	return m->calls ? 0 : -ENOMEM;
}

void gt_merge_connect_end(struct gt_merging *m)
{
	free(m->calls);
	m->calls = NULL;
}

static struct gt_merge_call *call_of(struct gt_merging *m, int64_t id)
{
	return &m->calls[(size_t)id % CALLS];
}

static bool is_one_of(const struct gt_span *text, const char *const *words)
{
	for (; *words; words++)
		if (gt_span_is(text, *words, strlen(*words)))
			return true;
	return false;
}

static void put_end(struct gt_merging *m, const char *begin, int64_t id,
		    const struct gt_merge_call *at)
{
	int64_t merged = gt_merge_id_sum(id, m->ids[GT_MERGE_ID_CALL].shift);
	char us[GT_MERGE_US_SIZE];

	fprintf(m->out,
		",\n{%s, \"id\": %" PRId64 ", \"pid\": %" PRId64 ", \"tid\": %" PRId64
		", \"ts\": %s, \"cat\": \"ac2g\", \"name\": \"ac2g\"}",
		begin, merged, gt_merge_pid(m, at->pid), at->tid,
		gt_merge_us(gt_merge_time(m, at->ts), us));
	m->result->events++;
}

static void put_flow(struct gt_merging *m, const struct gt_trace_event *record, int64_t id)
{
	struct gt_merge_call *call = call_of(m, id);
	const struct gt_merge_call work = {id, record->pid, record->tid, record->ts, true};

	if (id > m->source->border || call->id != id)
		return;
	if (!call->has_flow) {
		put_end(m, "\"ph\": \"s\"", id, call);
		gt_ledger_add(&m->ledger, GT_LEDGER_FLOWS_WRITTEN, 1);
	}
	call->has_flow = true;
	put_end(m, "\"ph\": \"f\", \"bp\": \"e\"", id, &work);
}

void gt_merge_connect(struct gt_merging *m, const struct gt_trace_event *record)
{
	static const char *const calls[] = {"cuda_runtime", "cuda_driver", NULL};
	static const char *const work[] = {"kernel", "gpu_memcpy", "gpu_memset", "gpu_graph", NULL};
	int64_t id = gt_record_int(record, GT_ARG_CORRELATION, 0);

	if (!m->calls)
		return;
	if (record->ph == 's' && call_of(m, record->id)->id == record->id)
		call_of(m, record->id)->has_flow = true;
	if (record->ph != 'X' || id <= 0)
		return;
	if (is_one_of(&record->cat, calls))
		*call_of(m, id) =
			(struct gt_merge_call){id, record->pid, record->tid, record->ts, false};
	else if (is_one_of(&record->cat, work))
		put_flow(m, record, id);
}
