/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes from this process what reading a spool does not need: descriptors, writing files, starting
 * programs, network, other processes, core files. Landlock and seccomp where the kernel has them;
 * without them only the rest.
 */
#ifndef GT_RECOVER_CONFINE_H
#define GT_RECOVER_CONFINE_H

/*
 * For a child that ends soon, of one thread: it cannot be undone. From here on it reads @spool,
 * whose new descriptor is returned, reads other files, and writes only below @folder. Negative
 * errno: not even the first step could be done.
 */
int gt_confine(int spool, const char *folder);

#endif
