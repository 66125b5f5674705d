/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands before and behind the events of a merged file.
 */
#include <inttypes.h>
#include <string.h>

#include "transform/job/merging.h"

/* As the traces say it; at least the ranks that there are, however many processes each has. */
static int64_t world_of(const struct gt_merge_sources *sources)
{
	int64_t world = 0, ranks = 0;

	for (size_t i = 0; i < sources->count; i++) {
		ranks += !i || sources->of[i].rank != sources->of[i - 1].rank;
		if (sources->of[i].world_size > world)
			world = sources->of[i].world_size;
	}
	return world > ranks ? world : ranks;
}

/* The first that a trace has; one that JSON would have to escape is none. */
static const char *backend_of(const struct gt_merge_sources *sources)
{
	for (size_t i = 0; i < sources->count; i++) {
		const char *backend = sources->of[i].backend;

		if (backend && !backend[strspn(backend, "abcdefghijklmnopqrstuvwxyz0123456789_:,")])
			return backend;
	}
	return NULL;
}

/* Empty, or the member with its comma. */
static void put_backend(struct gt_merging *m)
{
	const char *backend = backend_of(&m->sources);

	if (backend)
		fprintf(m->out, "\"backend\": \"%s\", ", backend);
}

void gt_merge_put_head(struct gt_merging *m)
{
	const struct gt_merge_sources *sources = &m->sources;
	const struct gt_merge_source *first = &sources->of[0];
	const char *metadata = NULL;

	for (size_t i = sources->count; i-- > 0;)
		metadata = sources->of[i].metadata ? sources->of[i].metadata : metadata;
	fputs("{\n\"schemaVersion\": 1,\n", m->out);
	gt_merge_devices_put(&m->devices, m->out);
	fputs("\"distributedInfo\": {", m->out);
	put_backend(m);
	fprintf(m->out, "\"rank\": %" PRId64 ", \"world_size\": %" PRId64 "},\n",
		sources->processes == 1 ? first->rank : 0, world_of(sources));
	if (metadata)
		fprintf(m->out, "\"metadata\": %s,\n", metadata);
	gt_merge_clocks_put(&m->clocks, m->out);
	if (first->border) /* what was before is missing */
		fprintf(m->out, "\"segment\": %s,\n", first->segment);
	fputs("\"displayTimeUnit\": \"ns\",\n", m->out);
	if (m->has_base)
		fprintf(m->out, "\"baseTimeNanoseconds\": %" PRId64 ",\n", m->base);
	fputs("\"traceEvents\": [\n", m->out);
}

static void put_ledger(struct gt_merging *m)
{
	const char *gap = "";

	fputs(", \"ledger\": {", m->out);
	for (int i = 0; i < GT_LEDGER_COUNT_; i++) {
		if (!m->ledger.count[i])
			continue;
		fprintf(m->out, "%s\"%s\": %" PRIu64, gap, gt_ledger_rows[i].json,
			m->ledger.count[i]);
		gap = ", ";
	}
	fputc('}', m->out);
}

/* What is not known of the inputs is not known of the merged file (readers/chrome/reader.h,
 * bookless). */
static void put_unknown(struct gt_merging *m)
{
	if (m->result->without_ledger)
		fprintf(m->out, ", \"merged\": {\"files\": %zu, \"without_ledger\": %" PRIu64 "}",
			m->sources.count, m->result->without_ledger);
}

void gt_merge_put_tail(struct gt_merging *m)
{
	fputs("\n]", m->out);
	if (m->ledger.count[GT_LEDGER_NAMES_WRITTEN])
		gt_ledger_add(&m->ledger, GT_LEDGER_NAMES_WRITTEN, m->row_names);
	gt_merge_settle(&m->ledger, &m->left_out);
	if (m->has_ledger)
		put_ledger(m);
	put_unknown(m);
	fputs(", \"traceName\": \"merged\"}\n", m->out);
}
