/* SPDX-License-Identifier: Apache-2.0
 *
 * A list of ranks, as --ranks takes it: numbers and spans between commas, "0,8-15". Any thread; no
 * allocation.
 */
#ifndef GT_CORE_WINDOW_RANK_LIST_H
#define GT_CORE_WINDOW_RANK_LIST_H

#include <stdbool.h>
#include <stdint.h>

/* What a list looks like, for messages. */
#define GT_RANK_LIST_FORM "ranks and spans between commas, as 0,8-15"

/* -EINVAL: @text is no list. */
int gt_rank_list_check(const char *text);

/* Whether the list @text has @rank. One that is empty or no list has every rank: what is wrong
 * leaves out nothing. */
bool gt_rank_list_has(const char *text, int64_t rank);

#endif
