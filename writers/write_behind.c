/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. A file grows at its end; its first block, which is written again now and then, is
 * left alone.
 */
#include "writers/write_behind.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/guest/seccomp.h"

#define PAGE_BYTES   4096u
#define MOST_AT_ONCE ((uint64_t)16 << 20) /* is asked for and waited for */

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* sync_file_range does nothing on overlayfs, but fadvise starts to write what it cannot give back,
 * and fdatasync waits. */
static bool start_writing(const struct gt_write_behind *behind, int fd, uint64_t from, uint64_t to)
{
	if (behind->stacked)
		return !posix_fadvise(fd, (off_t)from, (off_t)(to - from), POSIX_FADV_DONTNEED);
	return !sync_file_range(fd, (off_t)from, (off_t)(to - from), SYNC_FILE_RANGE_WRITE);
}

/* Signals are blocked on this thread: no EINTR. */
static bool wait_for_disk(const struct gt_write_behind *behind, int fd, uint64_t from, uint64_t to)
{
	if (behind->stacked)
		return !fdatasync(fd);
	return !sync_file_range(fd, (off_t)from, (off_t)(to - from),
				SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
					SYNC_FILE_RANGE_WAIT_AFTER);
}

/* Asks for the whole pages up to the end. */
static bool start(struct gt_write_behind *behind, int fd)
{
	uint64_t from = behind->started;

	behind->started = behind->end & ~(uint64_t)(PAGE_BYTES - 1);
	return start_writing(behind, fd, from, behind->started);
}

/* Waits for the oldest part that was asked for, which is then given back. */
static bool settle(struct gt_write_behind *behind, int fd, uint64_t piece)
{
	uint64_t from = behind->saved;

	behind->saved = smaller(from + piece, behind->started);
	if (!wait_for_disk(behind, fd, from, behind->saved))
		return false;
	posix_fadvise(fd, (off_t)from, (off_t)(behind->saved - from), POSIX_FADV_DONTNEED);
	return true;
}

static bool is_to_start(const struct gt_write_behind *behind, uint64_t piece)
{
	return behind->end - behind->started >= piece;
}

static bool is_to_settle(const struct gt_write_behind *behind, uint64_t piece)
{
	return behind->end - behind->saved > behind->unsaved - piece &&
	       behind->started > behind->saved;
}

static bool is_due(const struct gt_write_behind *behind, uint64_t piece)
{
	return is_to_start(behind, piece) || is_to_settle(behind, piece);
}

void gt_write_behind_note(struct gt_write_behind *behind, int fd, uint64_t offset, size_t size)
{
	uint64_t piece = smaller(behind->unsaved / 4, MOST_AT_ONCE);
	int saved_errno = errno;
	bool works = true;

	if (offset + size > behind->end)
		behind->end = offset + size;
	if (!behind->unsaved || !is_due(behind, piece) ||
	    !gt_seccomp_permits(GT_SYS_sync_file_range)) /* reads a file, 7 us */
		return;
	if (is_to_start(behind, piece))
		works = start(behind, fd);
	while (works && is_to_settle(behind, piece))
		works = settle(behind, fd, piece);
	if (!works) /* not on this file system, or not allowed */
		behind->unsaved = 0;
	errno = saved_errno;
}
