/* SPDX-License-Identifier: Apache-2.0
 *
 * See same.h.
 */
#include "trace/file/same.h"

#include <string.h>

#include "readers/input.h"
#include "trace/file/header.h"

#define BEGINNING (64u << 10) /* bytes that are compared */

/* What is packed is looked at unpacked. */
static bool begin_alike(struct gt_input *a, struct gt_input *b)
{
	size_t size;

	while (a->size < BEGINNING && gt_input_more(a) > 0)
		continue;
	while (b->size < BEGINNING && gt_input_more(b) > 0)
		continue;
	size = a->size < b->size ? a->size : b->size;
	if (size > BEGINNING)
		size = BEGINNING;
	else if (a->size != b->size && size < BEGINNING)
		return false;
	return size && !memcmp(a->data, b->data, size);
}

static bool files_begin_alike(const char *path, const char *other)
{
	struct gt_input a, b;
	bool alike = false;

	if (gt_input_open(&a, path))
		return false;
	if (!gt_input_open(&b, other)) {
		alike = begin_alike(&a, &b);
		gt_input_close(&b);
	}
	gt_input_close(&a);
	return alike;
}

static bool name_one_process(const struct gt_header *a, const struct gt_header *b)
{
	int64_t pid, other;

	return gt_header_int(a, "metadata", "pid", &pid) &&
	       gt_header_int(b, "metadata", "pid", &other) && pid == other && a->has_base &&
	       b->has_base && a->base_ns == b->base_ns && a->rank == b->rank;
}

bool gt_is_same_trace(const char *path, const char *other)
{
	struct gt_reading a, b;
	bool same;

	if (files_begin_alike(path, other))
		return true;
	same = gt_file_header(path, &a) >= 0;
	same = gt_file_header(other, &b) >= 0 && same && name_one_process(&a.header, &b.header);
	gt_reading_fini(&a);
	gt_reading_fini(&b);
	return same;
}
