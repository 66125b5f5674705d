/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "preload/ranks.h"

#include <stddef.h>

#include "core/config.h"
#include "core/guest/log.h"
#include "core/identity.h"
#include "core/window/rank_list.h"

bool gt_ranks_leave_out(bool at_last)
{
	const char *list = gt_identity_env(gt_options[GT_CONFIG_RANKS].env);
	int32_t rank = list ? gt_identity_rank() : -1;

	if (!list)
		return false;
	if (at_last && gt_rank_list_check(list))
		gt_log_say("'%s' is no value for %s: it takes " GT_RANK_LIST_FORM
			   "; all ranks are traced",
			   list, gt_options[GT_CONFIG_RANKS].env);
	if (rank < 0 && at_last)
		rank = 0;
	return rank >= 0 && !gt_rank_list_has(list, rank);
}

int gputrace_is_left_out(void)
{
	return gt_ranks_leave_out(false);
}
