/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. A line: 7f10-7f20 r-xp 00000000 08:01 1234   /usr/lib/libx.so
 */
#include "core/guest/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/guest/descriptor.h"
#include "core/guest/memory.h"

#define GONE " (deleted)"

struct lines {
	int fd;
	size_t length, at; /* bytes read; start of the next line */
	char text[8192];   /* longer than any line */
};

static bool read_more(struct lines *lines)
{
	ssize_t got;

	lines->length -= lines->at;
	memmove(lines->text, lines->text + lines->at, lines->length);
	lines->at = 0;
	do
		got = read(lines->fd, lines->text + lines->length,
			   sizeof(lines->text) - lines->length);
	while (got < 0 && errno == EINTR);
	lines->length += got > 0 ? (size_t)got : 0;
	return got > 0;
}

/* The next line; NULL: none. */
static char *next_line(struct lines *lines)
{
	char *line, *end;

	do {
		line = lines->text + lines->at;
		end = memchr(line, '\n', lines->length - lines->at);
	} while (!end && read_more(lines));
	if (!end)
		return NULL;
	*end = 0;
	lines->at = (size_t)(end + 1 - lines->text);
	return line;
}

/* Parses hexadecimal digits; *text moves past them. */
static uint64_t parse_address(const char **text)
{
	static const char digits[] = "0123456789abcdef";
	const char *digit;
	uint64_t value = 0;

	for (; **text && (digit = strchr(digits, **text)); (*text)++)
		value = value << 4 | (uint64_t)(digit - digits);
	*text += **text != 0;
	return value;
}

static bool covers(const char *line, uint64_t address)
{
	uint64_t start = parse_address(&line);

	return address >= start && address < parse_address(&line);
}

static bool copy_path(const char *line, char *ret_path, size_t size)
{
	const char *path = strchr(line, '/');
	size_t length = path ? strlen(path) : 0, gone = strlen(GONE);

	if (length > gone && !strcmp(path + length - gone, GONE))
		length -= gone;
	if (!length || length >= size)
		return false;
	memcpy(ret_path, path, length);
	ret_path[length] = 0;
	return true;
}

/* Calls @take with the line of @address. False: there is none. */
static bool find_line(uint64_t address, bool (*take)(const char *line, void *context),
		      void *context)
{
	struct lines *lines = gt_memory_reserve(sizeof(*lines));
	struct gt_descriptor maps;
	int saved = errno;
	bool found = false;
	const char *line;

	if (lines && !gt_descriptor_open(&maps, AT_FDCWD, "/proc/self/maps", O_RDONLY, 0)) {
		lines->fd = maps.fd;
		while ((line = next_line(lines)) && !covers(line, address))
			continue;
		found = line && take(line, context);
		gt_descriptor_close(&maps);
	}
	if (lines)
		gt_memory_unreserve(lines, sizeof(*lines));
	errno = saved;
	return found;
}

struct wanted_path {
	char *path;
	size_t size;
};

static bool take_path(const char *line, void *context)
{
	const struct wanted_path *wanted = context;

	return copy_path(line, wanted->path, wanted->size);
}

bool gt_maps_path(uint64_t address, char *ret_path, size_t size)
{
	struct wanted_path wanted = {.path = ret_path, .size = size};

	return find_line(address, take_path, &wanted);
}

static bool take_range(const char *line, void *context)
{
	uint64_t *range = context;

	range[0] = parse_address(&line);
	range[1] = parse_address(&line);
	return true;
}

bool gt_maps_range(uint64_t address, uint64_t *ret_low, uint64_t *ret_high)
{
	uint64_t range[2];

	if (!find_line(address, take_range, range))
		return false;
	*ret_low = range[0];
	*ret_high = range[1];
	return true;
}
