/* SPDX-License-Identifier: Apache-2.0
 *
 * See archive.h. Each process is a machine of its own in the manifest, since Perfetto takes what
 * has one pid on one machine for one process, and all traces have their GPUs under small pids.
 */
#include "transform/job/archive.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "readers/input.h"
#include "trace/file/header.h"
#include "transform/job/json_end.h"
#include "transform/job/member_names.h"
#include "transform/job/sources.h"
#include "transform/job/window.h"
#include "transform/job/zip.h"

#define FAR ((int64_t)1 << 61) /* ns: an offset that Perfetto could not add to a time */

struct zipping {
	struct gt_zip zip;
	struct gt_merge_sources sources;
	struct gt_clocks clocks;       /* by process */
	char (*names)[GT_MEMBER_NAME]; /* by source */
	struct gt_merge_result *result;
};

/* ---- the manifest ---- */

static const char *name_of(const struct zipping *z, const struct gt_merge_source *source)
{
	return z->names[source - z->sources.of];
}

/* By how much a time of the job is ahead of what this file shows at that moment: a .pftrace shows
 * CLOCK_REALTIME, a JSON what is left of it without its base. A manifest has one number for the
 * whole file: where the clocks run apart that of its middle, and the rest is *@ret_error. */
static int64_t ahead(const struct zipping *z, const struct gt_merge_source *source,
		     double *ret_error)
{
	const struct gt_clock_line *line = &z->clocks.of[source->process].line;
	int64_t base = source->is_pftrace ? 0 : source->base;
	int64_t middle = line->x, span = 0;

	if (source->first > 0 && source->last > source->first) {
		middle = source->first + (source->last - source->first) / 2;
		span = source->last - source->first;
	}
	*ret_error = fabs(line->drift) * (double)span / 2;
	return base + gt_clock_line_at(line, middle);
}

static void put_format(struct gt_zip *zip, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void put_format(struct gt_zip *zip, const char *format, ...)
{
	char text[2048];
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	gt_zip_put(zip, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

static void put_clocks(struct zipping *z, const struct gt_merge_source *source,
		       const struct gt_merge_source *reference, double *worst)
{
	double error, other;
	int64_t offset;

	if (source == reference)
		return;
	if (__builtin_sub_overflow(ahead(z, source, &error), ahead(z, reference, &other),
				   &offset) ||
	    offset > FAR || offset < -FAR) /* not known: where it would be by itself */
		return;
	*worst = fmax(*worst, error + other);
	put_format(&z->zip, ",\n   \"clocks\": {%s\"sync_to\": {\"file\": \"%s\"%s}, ",
		   source->is_pftrace ? "\"clock\": \"REALTIME\", " : "", name_of(z, reference),
		   reference->is_pftrace ? ", \"clock\": \"REALTIME\"" : "");
	put_format(&z->zip, "\"offset_ns\": %" PRId64 "}", offset);
}

static bool are_called_alike(const struct gt_merge_source *a, const struct gt_merge_source *b)
{
	return a->rank == b->rank && a->pid == b->pid && !strcmp(a->clock.host, b->clock.host);
}

/* Whether another process has the same rank, host and pid, as in another container. */
static bool has_double(const struct zipping *z, const struct gt_merge_source *source)
{
	const struct gt_merge_source *first = z->sources.of, *end = first + z->sources.count;
	const struct gt_merge_source *at;

	for (at = source; at > first && at[-1].rank == source->rank; at--)
		if (at[-1].process != source->process && are_called_alike(&at[-1], source))
			return true;
	for (at = source + 1; at < end && at->rank == source->rank; at++)
		if (at->process != source->process && are_called_alike(at, source))
			return true;
	return false;
}

static void put_file(struct zipping *z, const struct gt_merge_source *source,
		     const struct gt_merge_source *reference, double *worst)
{
	char host[sizeof(source->clock.host)];

	snprintf(host, sizeof(host), "%s", source->clock.host);
	gt_member_name_clean(host);
	put_format(&z->zip, "%s\n  {\"path\": \"%s\", \"machine\": {\"name\": \"rank %" PRId64,
		   source == z->sources.of ? "" : ",", name_of(z, source), source->rank);
	if (*host)
		put_format(&z->zip, " on %s", host);
	if (source->pid > 0)
		put_format(&z->zip, " pid %" PRId64, source->pid);
	if (source->pid <= 0 || has_double(z, source))
		put_format(&z->zip, " (%zu)", source->process);
	put_format(&z->zip, "\"}");
	put_clocks(z, source, reference, worst);
	put_format(&z->zip, "}");
}

/* The first file of the process whose clock is the job's; without one in the zip another, of which
 * the manifest then tells how far the others are. */
static const struct gt_merge_source *find_reference(const struct zipping *z)
{
	const struct gt_merge_source *source = z->sources.of, *end = source + z->sources.count;

	while (source + 1 < end && source->process != z->clocks.reference)
		source++;
	return source;
}

/* First, so that a reader that takes a zip as a stream knows it. */
static void put_manifest(struct zipping *z)
{
	const struct gt_merge_source *reference = find_reference(z);
	int64_t error = z->result->clocks.error;
	double worst = 0;

	gt_zip_open(&z->zip, GT_MANIFEST);
	put_format(&z->zip, "{\"perfetto_manifest\": {\"version\": 1,\n \"files\": [");
	for (size_t i = 0; i < z->sources.count; i++)
		put_file(z, &z->sources.of[i], reference, &worst);
	put_format(&z->zip, "],\n \"attributes\": {\"gputrace.files\": %zu", z->sources.count);
	if (z->result->clocks.collectives && error >= 0) {
		z->result->clocks.error = error + llround(fmin(worst, 4e18));
		put_format(&z->zip, ", \"gputrace.clock_error_ns\": %" PRId64,
			   z->result->clocks.error);
	}
	put_format(&z->zip, "}}}\n");
	gt_zip_close(&z->zip);
}

/* ---- the traces ---- */

/* One that was cut stays so: the viewer reads what is there. */
static int copy(struct zipping *z, const struct gt_merge_source *source)
{
	struct gt_json_end end = {0};
	struct gt_input in;
	int rc = gt_input_open(&in, source->path);

	if (rc)
		return rc;
	gt_zip_open(&z->zip, name_of(z, source));
	while (rc >= 0 && !z->zip.error) {
		rc = gt_input_more(&in);
		if (!source->is_pftrace)
			gt_json_end_see(&end, in.data, in.size);
		gt_zip_put(&z->zip, in.data, in.size);
		gt_input_consume(&in, in.size);
		if (rc <= 0)
			break;
	}
	if ((in.damage ||
	     (source->is_pftrace ? !gt_file_is_whole_pftrace(source->path, source->parts)
				 : !gt_json_end_is_here(&end))) &&
	    !z->result->cut++)
		z->result->cut_path = source->path;
	gt_zip_close(&z->zip);
	gt_input_close(&in);
	return rc < 0 ? rc : z->zip.error;
}

static void drop_source(struct gt_merge_sources *sources, size_t i)
{
	struct gt_merge_source *source = &sources->of[i];

	free(source->devices);
	free(source->metadata);
	free(source->segment);
	free(source->backend);
	memmove(source, source + 1, (--sources->count - i) * sizeof(*source));
}

/* Nothing is rewritten: of traces with something in the window all is in the zip. -ENODATA: there
 * are none. */
static int choose_by_time(struct zipping *z, const struct gt_merge_request *request)
{
	int rc = gt_merge_extents(&z->sources, &z->clocks, request);

	for (size_t i = z->sources.count; !rc && i-- > 0;) {
		const struct gt_merge_source *source = &z->sources.of[i];

		if (source->first_slice > source->to || source->last_slice < source->from)
			drop_source(&z->sources, i);
		else
			z->result->kept++;
	}
	if (rc || z->sources.count)
		return rc;
	snprintf(z->result->error, sizeof(z->result->error),
		 "no trace has anything in this window of time");
	return -ENODATA;
}

static int zip_all(struct zipping *z, FILE *out)
{
	int rc = gt_zip_begin(&z->zip, out), end;

	if (!rc)
		put_manifest(z);
	for (size_t i = 0; !rc && i < z->sources.count; i++) {
		rc = copy(z, &z->sources.of[i]);
		if (rc && !z->zip.error)
			snprintf(z->result->error, sizeof(z->result->error), "%.512s: %s",
				 z->sources.of[i].path, strerror(-rc));
	}
	end = gt_zip_end(&z->zip);
	rc = rc ? rc : end;
	if (rc == -EFBIG || rc == -EOVERFLOW)
		snprintf(z->result->error, sizeof(z->result->error),
			 "more than %s, which a zip that Perfetto reads cannot hold: take some "
			 "ranks (--ranks, --host), or merge into a .json",
			 rc == -EFBIG ? "4 GiB" : "65534 traces");
	return rc;
}

int gt_merge_zip(char *const *paths, size_t count, const struct gt_merge_request *request,
		 FILE *out, struct gt_merge_result *ret_result)
{
	struct zipping z = {.result = ret_result};
	int rc;

	*ret_result = (struct gt_merge_result){0};
	rc = gt_merge_sources_read(paths, count, false, &z.sources, ret_result);
	if (!rc)
		rc = gt_merge_sources_clocks(&z.sources, request->force, &z.clocks, ret_result);
	if (!rc && request->has_time)
		rc = choose_by_time(&z, request);
	if (!rc) {
		z.names = gt_member_names(&z.sources);
		rc = z.names ? zip_all(&z, out) : -ENOMEM;
	}
	free(z.names);
	gt_clocks_fini(&z.clocks);
	gt_merge_sources_fini(&z.sources);
	return rc;
}
