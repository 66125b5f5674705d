/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands before and behind the events of a merged file.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "transform/job/edits.h"
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

/* A moment of CLOCK_REALTIME, as the clock of the trace has it: moved with the times, or the clock
 * would be related to those of its host once more. In quotes or not; 0: not known. */
static void edit_clock(const struct gt_merging *m, const struct gt_merge_source *source,
		       const struct gt_span *members, const char *key, struct gt_edits *edits)
{
	const struct gt_clock_line *line = &m->clocks.of[source->process].line;
	struct gt_edit *edit = NULL;
	struct gt_span span;
	int64_t ns;

	if (gt_span_member(members, key, &span) && gt_span_int(&span, &ns) && ns > 0)
		edit = gt_edits_new(edits, &span);
	if (edit)
		snprintf(edit->text, sizeof(edit->text), "%" PRId64,
			 ns + gt_clock_line_at(line, ns));
}

/* The start of a trace, in us behind the base of the merged file. */
static void edit_start(struct gt_merging *m, const struct gt_merge_source *source,
		       const struct gt_span *members, struct gt_edits *edits)
{
	struct gt_edit *edit = NULL;
	struct gt_span span;
	int64_t ns;

	if (gt_span_member(members, "clock_start_us", &span) && gt_span_ns(&span, &ns))
		edit = gt_edits_new(edits, &span);
	if (!edit)
		return;
	gt_merge_take_in_hand(m, source);
	gt_merge_us(gt_merge_time(m, ns), edit->text);
}

static void put_metadata(struct gt_merging *m, const struct gt_merge_source *source,
			 const struct gt_span *members)
{
	struct gt_edits edits;
	struct gt_span version;

	edits.count = 0;
	if (gt_span_member(members, "gputrace_version", &version)) {
		edit_clock(m, source, members, "clock_first_realtime_ns", &edits);
		edit_clock(m, source, members, "clock_last_realtime_ns", &edits);
		edit_start(m, source, members, &edits);
	}
	fputs("\"metadata\": ", m->out);
	gt_edits_put(&edits, members, m->out);
}

/* Of several files of a process the last one knows the most. */
static const struct gt_merge_source *metadata_of(const struct gt_merge_sources *sources, size_t end,
						 size_t first)
{
	while (end-- > first)
		if (sources->of[end].members.kind == GT_SPAN_OBJECT)
			return &sources->of[end];
	return NULL;
}

static void put_one(struct gt_merging *m, size_t process, int64_t rank,
		    const struct gt_merge_source *source, const struct gt_span *members)
{
	fprintf(m->out, "%s{\"process\": %zu, \"rank\": %" PRId64, process ? ",\n" : "", process,
		rank);
	if (source && members->kind == GT_SPAN_OBJECT) {
		fputs(", ", m->out);
		put_metadata(m, source, members);
	}
	fputc('}', m->out);
}

/* What the trace of each process told. */
static void put_processes(struct gt_merging *m)
{
	const struct gt_merge_sources *sources = &m->sources;

	if (sources->processes < 2)
		return;
	fputs("\"processes\": [\n", m->out);
	for (size_t i = 0, end; i < sources->count; i = end) {
		const struct gt_merge_source *source;

		end = gt_merge_process_end(sources, i);
		source = metadata_of(sources, end, i);
		for (size_t k = 0; k < sources->of[i].inner_count; k++)
			put_one(m, sources->of[i].inner[k].process, sources->of[i].inner[k].rank,
				&sources->of[i], &sources->of[i].inner[k].members);
		if (!sources->of[i].inner_count)
			put_one(m, sources->of[i].process, sources->of[i].rank, source,
				source ? &source->members : NULL);
	}
	fputs("],\n", m->out);
}

/* With what merges before this one did. */
static void put_clocks(struct gt_merging *m)
{
	const struct gt_merge_sources *sources = &m->sources;
	struct gt_clock_line *before = calloc(sources->processes + 1, sizeof(*before));

	for (size_t i = 0; before && i < sources->count; i++)
		for (size_t k = 0; k < sources->of[i].inner_count; k++)
			before[sources->of[i].inner[k].process] = sources->of[i].inner[k].line;
	gt_merge_clocks_put(&m->clocks, before, m->out);
	free(before);
}

void gt_merge_put_head(struct gt_merging *m)
{
	const struct gt_merge_sources *sources = &m->sources;
	const struct gt_merge_source *first = &sources->of[0], *teller = NULL;

	for (size_t i = sources->count; i-- > 0;)
		if (sources->of[i].members.kind == GT_SPAN_OBJECT)
			teller = &sources->of[i];
	fputs("{\n\"schemaVersion\": 1,\n", m->out);
	gt_merge_devices_put(&m->devices, m->out);
	fputs("\"distributedInfo\": {", m->out);
	put_backend(m);
	fprintf(m->out, "\"rank\": %" PRId64 ", \"world_size\": %" PRId64 "},\n",
		sources->processes == 1 ? first->rank : 0, world_of(sources));
	if (teller) {
		put_metadata(m, teller, &teller->members);
		fputs(",\n", m->out);
	}
	put_processes(m);
	put_clocks(m);
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
