/* SPDX-License-Identifier: Apache-2.0
 *
 * Which functions at the place of a launch the user did not write: the toolkit's, and the one with
 * the kernel's name, which calls the stub (collectors/symbols/kernel_stubs.h). Who wrote <<<>>>
 * comes behind them. Pure, any thread.
 */
#ifndef GT_TRANSFORM_LAUNCH_STUBS_H
#define GT_TRANSFORM_LAUNCH_STUBS_H

#include <stddef.h>

#include "transform/source.h"

/* How many of @lines are such, from the first on. @text: the frame's, which names its function in
 * the first
 * @function_len bytes. */
size_t gt_launch_stubs(const struct gt_source_line *lines, size_t count, const char *text,
		       size_t function_len);

#endif
