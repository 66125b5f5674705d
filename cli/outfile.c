/* SPDX-License-Identifier: Apache-2.0
 *
 * stdio does not keep the reason of a write that failed, so the stream is one of our own.
 */
#include "cli/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "cli/cmdline.h"

static void complain_of(const char *path, const char *what)
{
	char text[8192];

	snprintf(text, sizeof(text), "%s: %s", path, what);
	gt_cmdline_complain(text);
}

bool gt_outfile_ends(const char *path, const char *ending)
{
	size_t length = path ? strlen(path) : 0, size = strlen(ending);

	return length > size && !strcmp(path + length - size, ending);
}

bool gt_outfile_is_taken(const char *path)
{
	struct stat status;

	if (lstat(path, &status) < 0)
		return false;
	complain_of(path, "exists already, and is not overwritten");
	return true;
}

/* The output under its final name that a signal takes away before it ends the command. */
static char *volatile doomed;

static const int deadly[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

static void die(int number)
{
	if (doomed)
		unlink(doomed);
	signal(number, SIG_DFL);
	raise(number); /* delivered when this returns */
}

/* A file that is half written must not look like one that is whole. @path: NULL: there is none. */
static void doom(char *path)
{
	struct sigaction before, action = {.sa_handler = die};

	doomed = path;
	for (size_t i = 0; path && i < sizeof(deadly) / sizeof(deadly[0]); i++)
		if (!sigaction(deadly[i], NULL, &before) && before.sa_handler == SIG_DFL)
			sigaction(deadly[i], &action, NULL);
}

/* A new file at the path, or -1. No signal comes between its name and who would take it away. */
static int create(struct gt_outfile *out)
{
	sigset_t set, before;
	int fd, error;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		sigaddset(&set, deadly[i]);
	sigprocmask(SIG_BLOCK, &set, &before);
	fd = open(out->folder.beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	error = errno;
	if (fd >= 0)
		doom(out->folder.beside);
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return fd;
}

static ssize_t write_all(void *cookie, const char *data, size_t size)
{
	struct gt_outfile *out = cookie;
	size_t done = 0;

	while (done < size && !out->error) {
		ssize_t n = write(out->fd, data + done, size - done);

		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || errno != EINTR)
			out->error = n ? errno : EIO;
	}
	return done == size ? (ssize_t)size : 0;
}

static ssize_t pack_all(void *cookie, const char *data, size_t size)
{
	struct gt_outfile *out = cookie;

	errno = 0;
	if (!out->error && gzwrite(out->packed, data, (unsigned int)size) != (int)size)
		out->error = errno ? errno : EIO;
	return out->error ? 0 : (ssize_t)size;
}

/* zlib closes its descriptor, and the last bytes go out then. */
static bool open_packed(struct gt_outfile *out)
{
	int own = dup(out->fd);

	out->packed = own < 0 ? NULL : gzdopen(own, "wb");
	if (!out->packed && own >= 0)
		close(own);
	return out->packed != NULL;
}

static void close_packed(struct gt_outfile *out)
{
	errno = 0;
	if (out->packed && gzclose(out->packed) != Z_OK && !out->error)
		out->error = errno ? errno : EIO;
	out->packed = NULL;
}

/* A device, a FIFO: nothing of it is lost. */
static bool holds_nothing(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode));
}

static int open_file(struct gt_outfile *out)
{
	int rc = gt_pin_folder(&out->folder, out->path);

	if (rc) {
		complain_of(out->path, gt_pin_reason(rc));
		return rc;
	}
	out->fd = create(out);
	out->is_new = out->fd >= 0;
	if (out->fd < 0 && errno == EEXIST) {
		if (!holds_nothing(out->path) && gt_outfile_is_taken(out->path)) {
			gt_unpin(&out->folder);
			return -EEXIST;
		}
		out->fd = open(out->folder.beside, O_WRONLY | O_CLOEXEC);
	}
	if (out->fd >= 0)
		return 0;
	rc = -errno;
	complain_of(out->path, strerror(-rc));
	gt_unpin(&out->folder);
	return rc;
}

int gt_outfile_open(struct gt_outfile *out, const char *path)
{
	bool is_standard = !path || !strcmp(path, "-");
	bool is_packed = !is_standard && gt_outfile_ends(path, ".gz");
	const cookie_io_functions_t functions = {.write = is_packed ? pack_all : write_all};
	int error = 0;

	*out = (struct gt_outfile){.path = is_standard ? "standard output" : path,
				   .folder = {.file = -1, .folder = -1},
				   .fd = STDOUT_FILENO};
	if (!is_standard)
		error = open_file(out);
	if (error)
		return error;
	if (!is_packed || open_packed(out))
		out->file = fopencookie(out, "w", functions);
	if (out->file)
		return 0;
	gt_outfile_close(out, -ENOMEM, NULL);
	return -ENOMEM;
}

int gt_outfile_close(struct gt_outfile *out, int rc, const char *words)
{
	if (out->file)
		fclose(out->file);
	close_packed(out);
	if (out->fd != STDOUT_FILENO && close(out->fd) < 0 && !out->error)
		out->error = errno;
	if (out->error)
		complain_of(out->path, strerror(out->error));
	else if (rc)
		gt_cmdline_complain(words && *words ? words : strerror(-rc));
	if (out->is_new && (rc || out->error))
		unlink(out->folder.beside);
	doom(NULL);
	gt_unpin(&out->folder);
	return rc || out->error ? GT_EXIT_FAILED : GT_EXIT_OK;
}
