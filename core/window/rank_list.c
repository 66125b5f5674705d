/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/window/rank_list.h"

#include <errno.h>

#include "core/guest/text.h"

/* The next span of the list at *@text, which is put behind it and its comma. False: there is none
 * that makes sense. */
static bool next_span(const char **text, uint64_t *ret_first, uint64_t *ret_last)
{
	const char *at = *text;

	if (gt_text_parse_u64(at, &at, ret_first))
		return false;
	*ret_last = *ret_first;
	if (*at == '-' && gt_text_parse_u64(at + 1, &at, ret_last))
		return false;
	if (*ret_last > INT32_MAX || *ret_first > *ret_last || (*at && *at != ','))
		return false;
	if (*at == ',' && !at[1])
		return false;
	*text = at + (*at == ',');
	return true;
}

int gt_rank_list_check(const char *text)
{
	uint64_t first, last;

	do
		if (!next_span(&text, &first, &last))
			return -EINVAL;
	while (*text);
	return 0;
}

bool gt_rank_list_has(const char *text, int64_t rank)
{
	uint64_t first, last;
	bool found = false;

	if (!*text || gt_rank_list_check(text))
		return true;
	while (!found && *text && next_span(&text, &first, &last))
		found = rank >= (int64_t)first && rank <= (int64_t)last;
	return found;
}
