/* SPDX-License-Identifier: Apache-2.0
 *
 * See unpack.h.
 */
#include "recover/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "readers/input.h"

#define CHUNK       ((size_t)256 << 10)
#define GZIP_MAGIC  "\x1f\x8b"
#define ENDING      ".gz"
#define ENDING_SIZE 3

static bool is_named_so(const char *name)
{
	size_t length = strlen(name);

	return length > ENDING_SIZE && !strcmp(name + length - ENDING_SIZE, ENDING);
}

bool gt_is_packed(const struct gt_pin *pin)
{
	int fd = open(pin->content, O_RDONLY | O_CLOEXEC);
	char begin[2] = "";
	ssize_t n = fd < 0 ? -1 : pread(fd, begin, 2, 0);

	if (fd >= 0)
		close(fd);
	return n == 2 ? !memcmp(begin, GZIP_MAGIC, 2) : n >= 0 && is_named_so(pin->path);
}

/* zlib's words. */
static bool is_wrong_check(const char *damage)
{
	return !strcmp(damage, "incorrect data check") || !strcmp(damage, "incorrect length check");
}

enum gt_unpack_state gt_unpack_check(const char *path)
{
	enum gt_unpack_state state = GT_UNPACK_CUT;
	struct gt_input in;

	if (gt_input_open(&in, path))
		return state;
	in.silent = true;
	while (gt_input_more(&in) > 0)
		gt_input_consume(&in, in.size);
	if (in.damage && is_wrong_check(in.damage))
		state = GT_UNPACK_CHANGED;
	else if (in.compressed && in.bytes && !in.damage)
		state = GT_UNPACK_WHOLE;
	gt_input_close(&in);
	return state;
}

/* A new hidden file in the folder of @packed. A descriptor or a negative errno. */
static int make_file(const struct gt_pin *packed, const char *what, char *ret_path, size_t size)
{
	const char *name = strrchr(packed->beside, '/') + 1;
	int fd, n = snprintf(ret_path, size, "%.*s.%s.%s", (int)(name - packed->beside),
			     packed->beside, name, what);

	if (n >= (int)size)
		return -ENAMETOOLONG;
	unlink(ret_path);
	fd = open(ret_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		  packed->status.st_mode & 0777);
	return fd < 0 ? -errno : fd;
}

static int write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

static int unpack(const char *from, int to)
{
	struct gt_input in;
	int rc = gt_input_open(&in, from), n;

	if (rc)
		return rc;
	in.silent = true;
	while (!rc && (n = gt_input_more(&in)) != 0) {
		rc = n < 0 ? n : write_all(to, in.data, in.size);
		gt_input_consume(&in, in.size);
	}
	gt_input_close(&in);
	return rc;
}

/* Not by its path: the folder is held by its descriptor. */
static int pin_new(const struct gt_pin *packed, struct gt_pin *ret_plain)
{
	int rc;

	ret_plain->path = packed->path;
	ret_plain->file = -1;
	ret_plain->folder = fcntl(packed->folder, F_DUPFD_CLOEXEC, 0);
	if (ret_plain->folder < 0)
		return -errno;
	strcpy(ret_plain->kin, packed->beside);
	rc = gt_pin_again(ret_plain);
	if (rc)
		gt_unpin(ret_plain);
	return rc;
}

int gt_unpack(const struct gt_pin *packed, struct gt_pin *ret_plain)
{
	int fd, rc;

	*ret_plain = (struct gt_pin){.file = -1, .folder = -1};
	fd = make_file(packed, "plain", ret_plain->beside, sizeof(ret_plain->beside));
	if (fd < 0)
		return fd;
	rc = unpack(packed->content, fd);
	if (close(fd) && !rc)
		rc = -errno;
	if (!rc)
		rc = pin_new(packed, ret_plain);
	if (rc)
		unlink(ret_plain->beside);
	return rc;
}

static int pack(int from, gzFile out)
{
	char *chunk = malloc(CHUNK);
	ssize_t n = -1;

	errno = ENOMEM;
	while (chunk && (n = read(from, chunk, CHUNK)) > 0) {
		errno = EIO;
		if (gzwrite(out, chunk, (unsigned int)n) != n)
			break;
	}
	free(chunk);
	return n ? -errno : 0;
}

/* zlib closes its descriptor before the content is on the disk: it gets one of its own. */
static int pack_into(const struct gt_pin *plain, int to)
{
	int from = open(plain->content, O_RDONLY | O_CLOEXEC), own = dup(to);
	gzFile out = from < 0 || own < 0 ? NULL : gzdopen(own, "wb");
	int rc = out ? pack(from, out) : -errno;

	errno = EIO;
	if (out && gzclose(out) != Z_OK && !rc)
		rc = -errno;
	if (!out && own >= 0)
		close(own);
	if (from >= 0)
		close(from);
	return rc ? rc : fsync(to) ? -errno : 0;
}

int gt_pack_again(const struct gt_pin *packed, const struct gt_pin *plain)
{
	char part[sizeof(packed->beside) + 8];
	int to = make_file(packed, "part", part, sizeof(part));
	int rc = to < 0 ? to : pack_into(plain, to);

	if (to < 0)
		return rc;
	if (!rc && fchown(to, packed->status.st_uid, packed->status.st_gid) && geteuid() == 0)
		rc = -errno; /* it would no longer be readable by whose it is */
	close(to);
	if (!rc)
		rc = gt_pin_replace(packed, part);
	if (rc)
		unlink(part);
	return rc;
}

void gt_unpack_forget(struct gt_pin *plain)
{
	gt_pin_remove(plain);
	gt_unpin(plain);
}
