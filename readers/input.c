/* SPDX-License-Identifier: Apache-2.0
 *
 * See input.h. zlib reads plain files too, so there is one path for both. One thread per input.
 */
#include "readers/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "readers/progress.h"

#define CHUNK   (256u << 10)
#define LARGEST (1u << 30)
#define LOOK    64 /* bytes checked for the format */

static int open_file(struct gt_input *in, int fd)
{
	struct stat st = {0};

	if (!fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		close(fd);
		return -EISDIR;
	}
	in->gz = gzdopen(fd, "r");
	in->room = CHUNK * 2;
	in->buffer = malloc(in->room + GT_INPUT_PADDING);
	if (!in->gz || !in->buffer) {
		if (!in->gz)
			close(fd);
		gt_input_close(in);
		return -ENOMEM;
	}
	in->fd = S_ISREG(st.st_mode) ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	gzbuffer(in->gz, CHUNK);
	in->data = in->buffer;
	memset(in->buffer, 0, GT_INPUT_PADDING);
	return 0;
}

bool gt_input_is_stream(const char *path)
{
	struct stat st;

	if (!strcmp(path, "-"))
		return true;
	return !stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

int gt_input_open(struct gt_input *in, const char *path)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);

	*in = (struct gt_input){.path = path, .fd = -1};
	return fd < 0 ? -errno : open_file(in, fd);
}

int gt_input_open_fd(struct gt_input *in, const char *path, int fd)
{
	*in = (struct gt_input){.path = path, .silent = true, .fd = -1};
	return open_file(in, fd);
}

/* Takes back the progress of a file that was not read to its end: it will be read again. */
static void report_end(struct gt_input *in)
{
	if (!in->silent && !in->ended)
		gt_progress_add(-(int64_t)in->reported);
}

void gt_input_close(struct gt_input *in)
{
	if (in->gz) {
		report_end(in);
		gzclose_r(in->gz);
		if (in->fd >= 0)
			close(in->fd);
	}
	free(in->buffer);
	in->gz = NULL;
	in->buffer = NULL;
	in->fd = -1;
}

static uint64_t count_lines(const char *p, size_t size)
{
	const char *end = p + size;
	uint64_t lines = 0;

	while ((p = memchr(p, '\n', (size_t)(end - p)))) {
		lines++;
		p++;
	}
	return lines;
}

void gt_input_consume(struct gt_input *in, size_t n)
{
	in->lines += count_lines(in->data, n);
	in->bytes += n;
	in->start += n;
	in->data += n;
	in->size -= n;
}

void gt_input_skip(struct gt_input *in, uint64_t n, uint64_t lines)
{
	size_t held = n < in->size ? (size_t)n : in->size;

	in->lines += lines;
	in->bytes += n;
	in->start += held;
	in->data += held;
	in->size -= held;
	in->skipped += n - held;
	if (!in->silent && in->skipped > CHUNK && in->bytes - in->reported > CHUNK) {
		gt_progress_add((int64_t)(in->bytes - in->reported));
		in->reported = in->bytes;
	}
}

/* The window, which is empty, goes to where the consumed bytes end. */
static int catch_up(struct gt_input *in)
{
	if (gzseek(in->gz, (z_off_t)in->skipped, SEEK_CUR) < 0)
		return errno ? -errno : -EIO;
	in->skipped = 0;
	return 0;
}

/* Moves the window to the front of the buffer and makes room for another chunk. */
static int make_room(struct gt_input *in)
{
	char *bigger;

	if (in->start) {
		memmove(in->buffer, in->data, in->size);
		in->start = 0;
	}
	if (in->room - in->size < CHUNK) {
		if (in->room >= LARGEST)
			return -EFBIG;
		bigger = realloc(in->buffer, in->room * 2 + GT_INPUT_PADDING);
		if (!bigger)
			return -ENOMEM;
		in->buffer = bigger;
		in->room *= 2;
	}
	in->data = in->buffer;
	return 0;
}

static void report(struct gt_input *in)
{
	z_off_t at = in->silent ? 0 : gzoffset(in->gz);

	if (at > 0 && (uint64_t)at > in->reported) {
		gt_progress_add(at - (int64_t)in->reported);
		in->reported = (uint64_t)at;
	}
}

int gt_input_more(struct gt_input *in)
{
	int rc = make_room(in), n, code;

	if (!rc && in->skipped)
		rc = catch_up(in);
	if (rc < 0)
		return rc;
	if (in->ended)
		return 0;
	n = gzread(in->gz, in->buffer + in->size, (unsigned int)(in->room - in->size));
	in->compressed = !gzdirect(in->gz);
	if (n <= 0) {
		const char *text = gzerror(in->gz, &code), *what = strstr(text, ">: ");

		in->ended = true;
		if (code == Z_ERRNO)
			rc = -errno;
		else if (code != Z_OK && code != Z_STREAM_END)
			in->damage = code == Z_BUF_ERROR ? "the compressed data breaks off"
							 : (what ? what + 3 : text);
		n = 0;
	}
	report(in);
	in->size += (size_t)n;
	memset(in->buffer + in->size, 0, GT_INPUT_PADDING);
	return rc < 0 ? rc : n > 0;
}

/* A protobuf trace begins with the tag of its first packet, a newline; control characters follow,
 * which JSON never contains. */
bool gt_input_is_pftrace(const struct gt_input *in)
{
	size_t size = in->size < LOOK ? in->size : LOOK;

	if (!size || in->data[0] != '\n')
		return false;
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)in->data[i] < ' ' && !memchr("\t\r\n", in->data[i], 3))
			return true;
	return false;
}

void gt_input_position(const struct gt_input *in, size_t offset, uint64_t *ret_line,
		       uint64_t *ret_byte)
{
	*ret_line = in->lines + count_lines(in->data, offset) + 1;
	*ret_byte = in->bytes + offset;
}
