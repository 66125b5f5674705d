/* SPDX-License-Identifier: Apache-2.0
 *
 * See first_block.h.
 */
#include "trace/first_block.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "readers/chrome/scan.h"

size_t gt_first_block_size(const struct gt_first_block *b)
{
	return b->size < GT_FIRST_BLOCK ? b->size : GT_FIRST_BLOCK;
}

static const char *skip_member(struct gt_scan *scan, const struct gt_span *key, const char *value,
			       void *data)
{
	const char **events = data;
	struct gt_span span;

	if (!gt_span_is(key, "traceEvents", 11))
		return gt_scan_value(scan, value, &span);
	*events = *value == '[' ? value + 1 : NULL;
	return NULL;
}

/* Where the first event should begin. NULL: the text ends before, or is something else. */
static const char *find_first(const struct gt_first_block *b, struct gt_scan *scan)
{
	const char *p = gt_scan_blanks(b->text), *events = NULL;

	if (*p == '[')
		return gt_scan_blanks(p + 1);
	if (*p == '{')
		gt_scan_object(scan, p, skip_member, &events);
	return events ? gt_scan_blanks(events) : NULL;
}

/* The first event is whole, and what follows it in the block may stand there. */
static bool is_whole(const struct gt_first_block *b)
{
	struct gt_scan scan = {.end = b->text + gt_first_block_size(b)};
	const char *p = find_first(b, &scan);
	struct gt_span event;

	p = p ? gt_scan_value(&scan, p, &event) : NULL;
	if (!p)
		return false;
	p = gt_scan_blanks(p);
	if (p < scan.end && *p == ',')
		p = gt_scan_blanks(p + 1);
	return p >= scan.end || *p == '{' || *p == ']';
}

const char *gt_first_block_find(const struct gt_first_block *b, const char *from, const char *what)
{
	return memmem(from, (size_t)(b->text + gt_first_block_size(b) - from), what, strlen(what));
}

/* Somebody else's file with wrong JSON in it is left alone: ours has whole lines behind its
 * block. */
static bool is_ours(const struct gt_first_block *b)
{
	if (b->bytes > GT_FIRST_BLOCK &&
	    (b->text[GT_FIRST_BLOCK - 1] != '\n' || !strchr(",]", b->text[GT_FIRST_BLOCK]) ||
	     !b->text[GT_FIRST_BLOCK]))
		return false;
	if (*b->text != '[' && *b->text != '{')
		return b->bytes == 0 && b->name.is_ours;
	return b->name.is_ours || gt_first_block_find(b, b->text, "\"process_name\"") ||
	       gt_first_block_find(b, b->text, "\"schemaVersion\"");
}

static int read_block(struct gt_first_block *b, const char *path)
{
	struct stat st;
	int fd, rc = 0;
	ssize_t n;

	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode)) /* a pipe would be waited for */
		return -EINVAL;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		rc = -errno;
	b->bytes = rc ? 0 : (uint64_t)st.st_size;
	while (!rc && b->size <= GT_FIRST_BLOCK && b->size < b->bytes) {
		n = pread(fd, b->text + b->size, GT_FIRST_BLOCK + 1 - b->size, (off_t)b->size);
		if (n <= 0 && errno != EINTR)
			rc = n < 0 ? -errno : -EIO;
		b->size += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	return rc;
}

/* Compressed files and those of the other form are no business of this one. */
static bool is_json(const struct gt_first_block *b)
{
	return !b->size || *b->text == '[' || *b->text == '{';
}

bool gt_first_block_is_torn(const struct gt_first_block *b)
{
	return is_json(b) && !is_whole(b) && is_ours(b);
}

int gt_first_block_read_as(struct gt_first_block *b, const char *path, const char *name)
{
	memset(b, 0, sizeof(*b));
	gt_file_name_parse(name, &b->name);
	return read_block(b, path);
}

int gt_first_block_read(struct gt_first_block *b, const char *path)
{
	return gt_first_block_read_as(b, path, path);
}

bool gt_first_block_file_is_torn_as(const char *path, const char *name)
{
	struct gt_first_block *b = malloc(sizeof(*b));
	bool is_torn = b && !gt_first_block_read_as(b, path, name) && gt_first_block_is_torn(b);

	free(b);
	return is_torn;
}

bool gt_first_block_file_is_torn(const char *path)
{
	return gt_first_block_file_is_torn_as(path, path);
}
