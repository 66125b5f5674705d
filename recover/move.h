/* SPDX-License-Identifier: Apache-2.0
 *
 * A new file to its place. One thread.
 */
#ifndef GT_RECOVER_MOVE_H
#define GT_RECOVER_MOVE_H

/* Gives the file at @from the path @to, by copy where the folders lie on different file systems;
 * whole or not at all. 0 or a negative errno. */
int gt_move_file(const char *from, const char *to);

#endif
