/* SPDX-License-Identifier: Apache-2.0
 *
 * Inputs as files: one of its own name in memory, and what is in it afterwards.
 */
#ifndef GT_TESTS_FUZZ_FUZZ_FILE_H
#define GT_TESTS_FUZZ_FUZZ_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <yajl/yajl_parse.h>
#include <yajl/yajl_tree.h>

#include "tests/fuzz/fuzz.h"

static inline void need(bool truth)
{
	if (!truth)
		abort();
}

struct fuzz_file {
	char path[64];
	char *text; /* after fuzz_file_read, a zero behind it */
	size_t size;
};

static inline void fuzz_file_make(struct fuzz_file *file, const uint8_t *data, size_t size)
{
	int fd;

	*file = (struct fuzz_file){0};
	snprintf(file->path, sizeof(file->path), "%s/gputrace-fuzz-XXXXXX", fuzz_folder());
	fd = mkstemp(file->path);
	need(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

static inline void fuzz_file_read(struct fuzz_file *file)
{
	FILE *stream = fopen(file->path, "rb");
	long size;

	need(stream && !fseek(stream, 0, SEEK_END));
	size = ftell(stream);
	need(size >= 0);
	rewind(stream);
	file->size = (size_t)size;
	free(file->text);
	file->text = malloc(file->size + 1);
	need(file->text && fread(file->text, 1, file->size, stream) == file->size);
	file->text[file->size] = 0;
	fclose(stream);
}

static inline bool fuzz_file_is(struct fuzz_file *file, const void *data, size_t size)
{
	fuzz_file_read(file);
	return file->size == size && !memcmp(file->text, data, size);
}

static inline void fuzz_file_remove(struct fuzz_file *file)
{
	unlink(file->path);
	free(file->text);
}

/* One JSON value and nothing else, by a parser that is not the project's. */
static inline bool fuzz_is_strict_json(const char *text, size_t size)
{
	yajl_handle parser = yajl_alloc(NULL, NULL, NULL);
	bool is = yajl_parse(parser, (const unsigned char *)text, size) == yajl_status_ok &&
		  yajl_complete_parse(parser) == yajl_status_ok;

	yajl_free(parser);
	return is;
}

/* Elements of @text, an array, or of the member "traceEvents" of an object. */
static inline size_t fuzz_count_events(const char *text)
{
	const char *path[] = {"traceEvents", NULL};
	char why[128];
	yajl_val tree = yajl_tree_parse(text, why, sizeof(why));
	yajl_val events = YAJL_IS_ARRAY(tree) ? tree
			  : tree              ? yajl_tree_get(tree, path, yajl_t_array)
					      : NULL;
	size_t count = events ? events->u.array.len : 0;

	yajl_tree_free(tree);
	return count;
}

#endif
