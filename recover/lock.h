/* SPDX-License-Identifier: Apache-2.0
 *
 * One repair of a file at a time, also from several hosts: an advisory lock (fcntl, which NFS
 * knows) on a file next to it, that says who holds it. A killed holder loses the lock; the file it
 * leaves is taken over by the next one. A file that a stranger put there locks nothing. One thread.
 */
#ifndef GT_RECOVER_LOCK_H
#define GT_RECOVER_LOCK_H

#include <limits.h>
#include <stddef.h>

/* A lock that is held, or not: fd -1. */
struct gt_repair_lock {
	int fd;
	char path[PATH_MAX];
};

/*
 * Locks the file at @path. 0; -EBUSY with the holder's host and process in @ret_holder, as
 * "process 12 on node1"; another negative errno: no lock can be had there.
 */
int gt_repair_lock(struct gt_repair_lock *lock, const char *path, char *ret_holder, size_t size);

/* Unlocks and removes the lock's file. Also of one that is not held. */
void gt_repair_unlock(struct gt_repair_lock *lock);

#endif
