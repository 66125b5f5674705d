/* SPDX-License-Identifier: Apache-2.0
 *
 * See merged.h. Where all files have the names of processes, none is opened.
 */
#include "trace/file/merged.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "readers/vec.h"
#include "trace/file/header.h"

/* A process in a file. */
struct merged_process {
	char host[256];
	int64_t pid, rank;
	size_t path;
};

/* All of them, in the order of the files. */
struct merged_list {
	GT_VEC(struct merged_process) all;
	const size_t *in; /* ret_in */
	bool *is_merged;  /* by path */
};

static int add(struct merged_list *list, const struct gt_header *header, int64_t rank, size_t path)
{
	struct merged_process one = {.rank = rank, .path = path};

	if (!gt_header_text(header, "metadata", "hostname", one.host, sizeof(one.host)) ||
	    !gt_header_int(header, "metadata", "pid", &one.pid))
		return 0; /* nobody can say which it is */
	return gt_vec_push(&list->all, one) ? 0 : -ENOMEM;
}

/* One of "processes". */
static int add_element(struct merged_list *list, const struct gt_span *of, size_t path)
{
	const struct gt_span key = {.text = "metadata", .len = 8, .kind = GT_SPAN_STRING};
	struct gt_span metadata, number;
	struct gt_header own = {0};
	int64_t rank = 0;
	int rc = 0;

	if (of->kind != GT_SPAN_OBJECT || !gt_span_member(of, "metadata", &metadata))
		return 0;
	if (gt_span_member(of, "rank", &number))
		gt_span_int(&number, &rank);
	rc = gt_header_add(&own, &key, &metadata, false);
	if (!rc)
		rc = add(list, &own, rank, path);
	gt_header_fini(&own);
	return rc;
}

static int add_json(struct merged_list *list, const struct gt_header *header, size_t path)
{
	struct gt_span all, of;
	uint32_t position = 0;
	char *copy = NULL;
	int rc = 0;

	if (gt_header_span(header, "processes", &copy, &all) && all.kind == GT_SPAN_ARRAY) {
		list->is_merged[path] = true;
		while (!rc && gt_span_next(&all, &position, &of))
			rc = add_element(list, &of, path);
	}
	free(copy);
	return rc;
}

static int add_parts(struct merged_list *list, const char *file, uint32_t parts, size_t path)
{
	int rc = 0;

	list->is_merged[path] = true;
	for (uint32_t part = 0; !rc && part < parts; part++) {
		struct gt_reading reading = {0};

		if (!gt_file_header_part(file, part, &reading))
			rc = add(list, &reading.header, reading.header.rank, path);
		gt_reading_fini(&reading);
	}
	return rc;
}

static int look_at(struct merged_list *list, const char *file, size_t path)
{
	struct gt_reading reading = {0};
	int rc = gt_file_header(file, &reading) < 0 ? -ENODATA : 0;

	if (!rc && reading.parts > 1)
		rc = add_parts(list, file, reading.parts, path);
	else if (!rc)
		rc = add_json(list, &reading.header, path);
	if (!rc && !list->is_merged[path])
		rc = add(list, &reading.header, reading.header.rank, path);
	gt_reading_fini(&reading);
	return rc == -ENODATA ? 0 : rc;
}

static bool is_one(const struct merged_process *a, const struct merged_process *b)
{
	return a->pid == b->pid && a->rank == b->rank && !strcmp(a->host, b->host);
}

/* A file that stays and has the process, too, only a merged one if @merged; its own path: none. */
static size_t other_with(const struct merged_list *list, const struct merged_process *one,
			 bool merged)
{
	for (size_t i = 0; i < list->all.count; i++) {
		const struct merged_process *other = &list->all.at[i];

		if (other->path != one->path && list->in[other->path] == other->path &&
		    (!merged || list->is_merged[other->path]) && is_one(one, other))
			return other->path;
	}
	return one->path;
}

/* A file that has the first process, if others have all of them; its own path: they have not. */
static size_t whole_in(const struct merged_list *list, size_t path)
{
	size_t found = path, other;

	for (size_t i = list->all.count; i; i--) {
		if (list->all.at[i - 1].path != path)
			continue;
		other = other_with(list, &list->all.at[i - 1], false);
		if (other == path)
			return path;
		found = other;
	}
	return found;
}

/* Of two merged files the first one stays, and what holds one process where it is there for all. */
static void judge(const struct merged_list *list, size_t count, size_t *ret_in)
{
	for (size_t i = count; i; i--)
		if (list->is_merged[i - 1])
			ret_in[i - 1] = whole_in(list, i - 1);
	for (size_t i = 0; i < list->all.count; i++)
		if (!list->is_merged[list->all.at[i].path])
			ret_in[list->all.at[i].path] = other_with(list, &list->all.at[i], true);
}

int gt_job_merged(char *const *paths, const bool *is_own, size_t count, size_t *ret_in)
{
	struct merged_list list = {.in = ret_in, .is_merged = calloc(count + 1, sizeof(bool))};
	bool any = false;
	int rc = list.is_merged ? 0 : -ENOMEM;

	for (size_t i = 0; i < count; i++) {
		ret_in[i] = i;
		if (!rc && !is_own[i])
			rc = look_at(&list, paths[i], i);
		any |= !rc && list.is_merged[i];
	}
	for (size_t i = 0; !rc && any && i < count; i++)
		if (is_own[i])
			rc = look_at(&list, paths[i], i);
	if (!rc && any)
		judge(&list, count, ret_in);
	gt_vec_free(&list.all);
	free(list.is_merged);
	return rc;
}
