/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. A file grows at its end; its first block, which is written again now and then, is
 * left alone.
 */
#include "writers/write_behind.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define PAGE_BYTES 4096u

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

/* Half of what may be unsaved is on its way while the other half is written. */
static bool step(struct gt_write_behind *behind, int fd)
{
	uint64_t saved = behind->saved, started = behind->started;
	uint64_t whole = behind->end & ~(uint64_t)(PAGE_BYTES - 1);

	behind->saved = started;
	behind->started = whole;
	if (started > saved) {
		if (!wait_for_disk(behind, fd, saved, started))
			return false;
		posix_fadvise(fd, (off_t)saved, (off_t)(started - saved), POSIX_FADV_DONTNEED);
	}
	return start_writing(behind, fd, started, whole);
}

void gt_write_behind_note(struct gt_write_behind *behind, int fd, uint64_t offset, size_t size)
{
	int saved_errno = errno;

	if (offset + size > behind->end)
		behind->end = offset + size;
	if (behind->unsaved && behind->end - behind->started >= behind->unsaved / 2 &&
	    !step(behind, fd))
		behind->unsaved = 0; /* not on this file system, or not allowed */
	errno = saved_errno;
}
