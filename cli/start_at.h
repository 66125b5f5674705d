/* SPDX-License-Identifier: Apache-2.0
 *
 * --start-at for `gputrace run`: local times, which the tracer does not know, become moments.
 */
#ifndef GT_CLI_START_AT_H
#define GT_CLI_START_AT_H

#include <stdbool.h>
#include <stddef.h>

/* @text (core/when.h; without a zone local time, without a day today) as "@SECONDS.FRACTION". An
 * empty text stays empty. False: one line in @ret_wrong. */
bool gt_start_at(const char *text, char *ret_moment, size_t moment_size, char *ret_wrong,
		 size_t size);

#endif
