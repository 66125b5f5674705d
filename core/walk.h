/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder, opened without a symbolic link of another user: whoever may write a folder of the path
 * could lead us anywhere with one. Links of this user and of root are followed, at any place of the
 * path, as the kernel's fs.protected_symlinks does. Any thread; errno is kept.
 */
#ifndef GT_CORE_WALK_H
#define GT_CORE_WALK_H

#include "core/guest/descriptor.h"

/* Opens the folder at @path, O_RDONLY or O_PATH as @flags say; @make: missing folders of the path
 * are created with these permissions, 0: none. Negative errno: -ELOOP: a link of another user, or
 * too many; -ESTALE as gt_descriptor_open. Close with gt_descriptor_close, also after a failure. */
int gt_walk_open(struct gt_descriptor *ret_folder, const char *path, int flags, mode_t make);

/* The last name of @path, and its folder into @ret_folder ("." if it has none). NULL: there is no
 * name behind the last slash, or @size is too small. Pure. */
const char *gt_walk_split(const char *path, char *ret_folder, size_t size);

/* Removes the folder at @path if it is empty; the path of the one above it into @ret_above. Not in
 * the traced process. */
bool gt_walk_remove_empty(const char *path, char *ret_above, size_t size);

#endif
