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
#include "trace/segment_files.h"
#include "transform/job/zip.h"

#define NAME 256
#define FAR  ((int64_t)1 << 61) /* ns: an offset that Perfetto could not add to a time */

/* A file, as its header tells. */
struct zip_source {
	const char *path;
	char name[NAME]; /* in the zip */
	int64_t rank, pid, base;
	int64_t first, last; /* when it began and ended, ns of its clock; 0: not known */
	size_t process;
	bool is_pftrace;
	struct gt_clock_source clock;
};

struct zipping {
	struct gt_zip zip;
	struct zip_source *sources;
	size_t count;
	struct gt_clocks clocks; /* by process */
	struct gt_merge_result *result;
};

static int64_t time_of(const struct gt_header *header, const char *key)
{
	int64_t ns = 0;

	gt_header_int(header, "metadata", key, &ns);
	return ns;
}

static int take_source(struct zip_source *source, const char *path, struct gt_merge_result *result)
{
	struct gt_reading reading;
	int rc = gt_file_header_whole(path, &reading);
	const struct gt_header *header = &reading.header;

	if (rc >= 0) {
		gt_job_origins_see(&result->origins, header, path);
		*source = (struct zip_source){
			.path = path,
			.rank = header->rank,
			.pid = time_of(header, "pid"),
			.base = header->has_base ? header->base_ns : 0,
			.first = time_of(header, "clock_first_realtime_ns"),
			.last = time_of(header, "clock_last_realtime_ns"),
			.is_pftrace = reading.is_pftrace,
		};
		gt_clock_source_header(header, &source->clock);
	}
	snprintf(result->error, sizeof(result->error), "%s", rc < 0 ? reading.error : "");
	gt_reading_fini(&reading);
	return rc < 0 ? rc : 0;
}

static int by_rank(const void *a, const void *b)
{
	const struct zip_source *x = a, *y = b;

	return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1)
				  : gt_segment_compare(x->path, y->path);
}

/* Those that are traces, by rank. */
static int take_sources(struct zipping *z, char *const *paths, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int rc = take_source(&z->sources[z->count], paths[i], z->result);

		if (rc == -ENOMEM)
			return rc;
		if (rc && !z->result->left_out++)
			strcpy(z->result->left_out_why, z->result->error);
		z->count += !rc;
	}
	if (count && !z->count)
		return -EBADMSG;
	*z->result->error = 0;
	qsort(z->sources, z->count, sizeof(*z->sources), by_rank);
	for (size_t i = 1; i < z->count; i++)
		z->sources[i].process =
			z->sources[i - 1].process +
			!gt_segments_are_of_one(z->sources[i - 1].path, z->sources[i].path);
	return 0;
}

static int find_clocks(struct zipping *z, bool force)
{
	size_t *firsts = calloc(z->count + 1, sizeof(*firsts)), processes = 0;
	struct gt_clock_source *clocks = calloc(z->count + 1, sizeof(*clocks));
	char **paths = calloc(z->count + 1, sizeof(*paths));
	int rc = firsts && clocks && paths ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < z->count; i++) {
		paths[i] = (char *)z->sources[i].path;
		if (i && z->sources[i].process == z->sources[i - 1].process)
			continue;
		clocks[processes] = z->sources[i].clock;
		firsts[processes++] = i;
	}
	if (!rc) {
		firsts[processes] = z->count;
		rc = gt_merge_clocks_find(paths, firsts, clocks, processes, &z->clocks,
					  &z->result->clocks);
	}
	if (!rc && z->result->clocks.unbounded && !force) {
		rc = -EDOM;
		gt_merge_clocks_refuse(&z->result->clocks, z->result->error,
				       sizeof(z->result->error));
	}
	free(firsts);
	free(clocks);
	free(paths);
	return rc;
}

/* ---- names ---- */

/* ASCII that no system and no JSON minds; others would need a flag that Perfetto refuses. */
static void clean(char *name)
{
	for (char *p = name; *p; p++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-",
			    *p))
			*p = '_';
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct zip_source *const *)a)->name,
		      (*(struct zip_source *const *)b)->name);
}

/* The name of a file without its folder and ".gz"; with its number where two are alike. */
static int name_members(struct zipping *z)
{
	struct zip_source **order = calloc(z->count + 1, sizeof(*order));

	for (size_t i = 0; order && i < z->count; i++) {
		struct zip_source *source = order[i] = &z->sources[i];
		const char *slash = strrchr(source->path, '/');
		size_t n;

		snprintf(source->name, NAME - 24, "%s", slash ? slash + 1 : source->path);
		clean(source->name);
		n = strlen(source->name);
		if (n > 3 && !strcmp(source->name + n - 3, ".gz"))
			source->name[n - 3] = 0;
	}
	if (order)
		qsort(order, z->count, sizeof(*order), by_name);
	for (size_t i = 1, first = 0; order && i < z->count; i++) {
		char stem[NAME];

		if (strcmp(order[i]->name, order[first]->name) != 0) {
			first = i;
			continue;
		}
		snprintf(stem, sizeof(stem), "%s", order[i]->name);
		snprintf(order[i]->name, NAME, "%zu_%.*s", i - first + 1, NAME - 24, stem);
	}
	free(order);
	return order || !z->count ? 0 : -ENOMEM;
}

/* ---- the manifest ---- */

/* By how much a time of the job is ahead of what this file shows at that moment: a .pftrace shows
 * CLOCK_REALTIME, a JSON what is left of it without its base. A manifest has one number for the
 * whole file: where the clocks run apart that of its middle, and the rest is *@ret_error. */
static int64_t ahead(const struct zipping *z, const struct zip_source *source, double *ret_error)
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

static void put_clocks(struct zipping *z, const struct zip_source *source,
		       const struct zip_source *reference, double *worst)
{
	double error, other;
	int64_t offset;

	if (source == reference)
		return;
	if (__builtin_sub_overflow(ahead(z, source, &error), ahead(z, reference, &other),
				   &offset) ||
	    offset > FAR || offset < -FAR) /* not known: where it would be by itself */
		return;
	*worst = fmax(*worst, error);
	put_format(&z->zip, ",\n   \"clocks\": {%s\"sync_to\": {\"file\": \"%s\"%s}, ",
		   source->is_pftrace ? "\"clock\": \"REALTIME\", " : "", reference->name,
		   reference->is_pftrace ? ", \"clock\": \"REALTIME\"" : "");
	put_format(&z->zip, "\"offset_ns\": %" PRId64 "}", offset);
}

static void put_file(struct zipping *z, const struct zip_source *source,
		     const struct zip_source *reference, double *worst)
{
	char host[sizeof(source->clock.host)];

	snprintf(host, sizeof(host), "%s", source->clock.host);
	clean(host);
	put_format(&z->zip, "%s\n  {\"path\": \"%s\", \"machine\": {\"name\": \"rank %" PRId64,
		   source == z->sources ? "" : ",", source->name, source->rank);
	if (*host)
		put_format(&z->zip, " on %s", host);
	if (source->pid > 0)
		put_format(&z->zip, " pid %" PRId64, source->pid);
	else
		put_format(&z->zip, " (%zu)", source->process);
	put_format(&z->zip, "\"}");
	put_clocks(z, source, reference, worst);
	put_format(&z->zip, "}");
}

/* The first file of the process whose clock is the job's. */
static const struct zip_source *find_reference(const struct zipping *z)
{
	const struct zip_source *source = z->sources;

	while (source->process != z->clocks.reference)
		source++;
	return source;
}

/* First, so that a reader that takes a zip as a stream knows it. */
static void put_manifest(struct zipping *z)
{
	const struct zip_source *reference = find_reference(z);
	int64_t error = z->result->clocks.error;
	double worst = 0;

	gt_zip_open(&z->zip, "perfetto_manifest.json");
	put_format(&z->zip, "{\"perfetto_manifest\": {\"version\": 1,\n \"files\": [");
	for (size_t i = 0; i < z->count; i++)
		put_file(z, &z->sources[i], reference, &worst);
	put_format(&z->zip, "],\n \"attributes\": {\"gputrace.files\": %zu", z->count);
	if (z->result->clocks.collectives && error >= 0) {
		z->result->clocks.error = error + llround(fmin(worst, 4e18));
		put_format(&z->zip, ", \"gputrace.clock_error_ns\": %" PRId64,
			   z->result->clocks.error);
	}
	put_format(&z->zip, "}}}\n");
	gt_zip_close(&z->zip);
}

/* ---- the traces ---- */

static int copy(struct zipping *z, const struct zip_source *source)
{
	struct gt_input in;
	int rc = gt_input_open(&in, source->path);

	if (rc)
		return rc;
	gt_zip_open(&z->zip, source->name);
	while (rc >= 0 && !z->zip.error) {
		rc = gt_input_more(&in);
		gt_zip_put(&z->zip, in.data, in.size);
		gt_input_consume(&in, in.size);
		if (rc <= 0)
			break;
	}
	if (in.damage && !z->result->cut++)
		z->result->cut_path = source->path;
	gt_zip_close(&z->zip);
	gt_input_close(&in);
	return rc < 0 ? rc : z->zip.error;
}

static int zip_all(struct zipping *z, FILE *out)
{
	int rc = gt_zip_begin(&z->zip, out), end;

	if (!rc)
		put_manifest(z);
	for (size_t i = 0; !rc && i < z->count; i++) {
		rc = copy(z, &z->sources[i]);
		if (rc && !z->zip.error)
			snprintf(z->result->error, sizeof(z->result->error), "%.512s: %s",
				 z->sources[i].path, strerror(-rc));
	}
	end = gt_zip_end(&z->zip);
	rc = rc ? rc : end;
	if (rc == -EFBIG)
		snprintf(z->result->error, sizeof(z->result->error),
			 "more than 4 GiB, which a zip that Perfetto reads cannot hold: take some "
			 "ranks (--ranks, --host), or merge into a .json");
	return rc;
}

int gt_merge_zip(char *const *paths, size_t count, bool force, FILE *out,
		 struct gt_merge_result *ret_result)
{
	struct zipping z = {.sources = calloc(count + 1, sizeof(*z.sources)), .result = ret_result};
	int rc = z.sources ? 0 : -ENOMEM;

	*ret_result = (struct gt_merge_result){0};
	if (!rc)
		rc = take_sources(&z, paths, count);
	if (!rc)
		rc = find_clocks(&z, force);
	if (!rc)
		rc = name_members(&z);
	if (!rc)
		rc = zip_all(&z, out);
	gt_clocks_fini(&z.clocks);
	free(z.sources);
	return rc;
}
