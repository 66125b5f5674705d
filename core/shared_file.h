/* SPDX-License-Identifier: Apache-2.0
 *
 * A file on tmpfs that this process maps shared: the spool, the mailbox. It has its whole size from
 * the start, pages are reserved before they are touched, because a full tmpfs raises SIGBUS, and no
 * descriptor stays open. Any thread that may make system calls.
 */
#ifndef GT_CORE_SHARED_FILE_H
#define GT_CORE_SHARED_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Free bytes in the folder. 0: less than @least, and *ret_why says why: it may not be there, or be
 * no tmpfs, where a write might wait for a disk or a network. */
uint64_t gt_shared_file_room(const char *folder, uint64_t least, const char **ret_why);

/* Whether a file may be made as @where says: 0. -ECANCELED: "off". -EPERM: the program has a
 * seccomp filter. Then @ret_why says why. */
int gt_shared_file_wanted(const char *where, char *ret_why, size_t size);

/* Makes the file in the first folder that takes it: of @where, or with "on" of /dev/shm and
 * @runtime (NULL: none). @make returns 0, or a negative errno and why. *@ret_why is then empty, or
 * names the last folder and its reason. */
typedef int (*gt_shared_file_maker)(const char *folder, const void *data, const char **ret_why);
int gt_shared_file_place(const char *where, const char *runtime, gt_shared_file_maker make,
			 const void *data, char *ret_why, size_t size);

/* Creates the file, which must not exist, readable by its owner only, with @size bytes, and maps
 * it; the first @reserved may be touched. -EEXIST, -EACCES, -ENOSPC, -EFBIG (limit of the process),
 * ...: then there is no file. */
int gt_shared_file_make(const char *path, size_t size, size_t reserved, void **ret_memory);

/* Reserves further bytes of it. */
int gt_shared_file_reserve(const char *path, uint64_t offset, size_t size);

#endif
