/* SPDX-License-Identifier: Apache-2.0
 *
 * How the library is entered by `gputrace attach`: a thread of the program, which was waiting,
 * loads it and calls gputrace_attach.
 */
#ifndef GT_PRELOAD_ATTACH_H
#define GT_PRELOAD_ATTACH_H

#include <stdbool.h>

#include "core/window/attach_box.h"

/* The wishes of the command, and the answers. */
extern struct gt_attach_box gputrace_attach_box __attribute__((visibility("default")));

/* Begins with the wish in the box, on a thread of its own: the caller is not at a place where CUDA
 * may be called. Returns at once. errno is kept. */
void gputrace_attach(void) __attribute__((visibility("default")));

/* Constructor. @attached: by `gputrace attach`, which may be killed before it has called
 * gputrace_attach. */
void gt_attach_loaded(bool attached);

/* Whether @path, by which this library was loaded, is the one of `gputrace attach`. */
bool gt_attach_is_path(const char *path);

#endif
