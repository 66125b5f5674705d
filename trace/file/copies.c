/* SPDX-License-Identifier: Apache-2.0
 *
 * See copies.h. What a trace begins with has the process, its clocks, and its first events.
 */
#include "trace/file/copies.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/hash.h"
#include "readers/input.h"

#define BEGINNING (64u << 10) /* bytes that are compared */

struct copy_beginning {
	uint64_t hash;
	int64_t bytes; /* of the file as it lies on disk */
	size_t path;
	bool is_known, is_packed;
};

static void look_at(const char *path, struct copy_beginning *ret)
{
	struct gt_input in;
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || gt_input_open(&in, path))
		return;
	in.silent = true;
	while (in.size < BEGINNING && gt_input_more(&in) > 0)
		continue;
	ret->is_known = in.size > 0;
	ret->is_packed = in.compressed;
	ret->bytes = st.st_size;
	ret->hash = gt_hash_bytes(in.data, in.size < BEGINNING ? in.size : BEGINNING);
	gt_input_close(&in);
}

static int by_hash(const void *a, const void *b)
{
	const struct copy_beginning *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->path < y->path ? -1 : x->path > y->path;
}

/* How large a trace is tells only in one form. */
static bool are_copies(const struct copy_beginning *a, const struct copy_beginning *b)
{
	return a->is_known && b->is_known && a->hash == b->hash &&
	       (a->is_packed != b->is_packed || a->bytes == b->bytes);
}

int gt_job_copies(char *const *paths, size_t count, size_t *ret_copy_of)
{
	struct copy_beginning *files = calloc(count + 1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		ret_copy_of[i] = files[i].path = i;
		look_at(paths[i], &files[i]);
	}
	qsort(files, count, sizeof(*files), by_hash);
	for (size_t i = 1; i < count; i++)
		if (are_copies(&files[i - 1], &files[i]))
			ret_copy_of[files[i].path] = ret_copy_of[files[i - 1].path];
	free(files);
	return 0;
}
