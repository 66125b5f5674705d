/* SPDX-License-Identifier: Apache-2.0
 *
 * What the loader would find for a module, without its lock: the lists of objects in whose order
 * glibc (2.35 or newer) looks are read where they lie. Where they lie is found out by our
 * constructor, and believed if all that is known of them from elsewhere agrees.
 *
 * What is read stays there: the program's own objects always; those that were opened later as long
 * as no dlclose is in progress, which waits for its readers (gt_reach_close). While one is, as in
 * every other case of doubt, the answer is to ask the loader.
 */
#ifndef GT_CORE_ELF_REACH_H
#define GT_CORE_ELF_REACH_H

#include <link.h>
#include <stdbool.h>

/* Whether this loader's lists are known. Any thread. */
bool gt_reach_is_ready(void);

/*
 * The function @name for @caller, an address in its module: of the first object in its scope that
 * is not ours. @caller NULL: of the first one behind ours in the program's. Any thread, a forked
 * child's too; no lock, no allocation, one system call.
 *
 * 0: *ret is what the loader would find, NULL: nothing. -EAGAIN: ask the loader.
 */
int gt_reach_find(const void *caller, const char *name, void **ret);

/* The object of an address of code that runs. False: none. As above, no system call. */
bool gt_reach_object(const void *address, struct dl_phdr_info *ret);

/* Around a dlclose. The first one waits for those who read, which takes them microseconds. */
void gt_reach_close(void);
void gt_reach_closed(void);

#endif
