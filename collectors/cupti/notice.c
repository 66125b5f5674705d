/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. `state` hands the text over: FREE -> BEING_WRITTEN by the thread that reports,
 * -> FULL -> FREE by the drain thread.
 */
#include "collectors/cupti/notice.h"

#include <stdatomic.h>

#include "collectors/cupti/hw_trace.h"
#include "collectors/cupti/internal.h"
#include "core/guest/text.h"

enum notice_state { NOTICE_FREE, NOTICE_BEING_WRITTEN, NOTICE_FULL };

static struct {
	_Atomic int state; /* enum notice_state */
	_Atomic uint64_t more;
	struct gt_cupti_notice notice;
} kept;

static const char *name_of(int result)
{
	const char *name = NULL;

	if (!gt_cupti.api.cuptiGetResultString ||
	    gt_cupti.api.cuptiGetResultString((CUptiResult)result, &name) != CUPTI_SUCCESS)
		return "error";
	return name ? name : "error";
}

void gt_cupti_notice_put(bool is_warning, int result, const char *message)
{
	int expected = NOTICE_FREE;

	gt_cupti_hw_trace_reported(result);
	if (!atomic_compare_exchange_strong(&kept.state, &expected, NOTICE_BEING_WRITTEN)) {
		atomic_fetch_add(&kept.more, 1);
		return;
	}
	kept.notice.is_warning = is_warning;
	gt_text_format(kept.notice.text, sizeof(kept.notice.text), "%s (%d)%s%s", name_of(result),
		       result, message ? ": " : "", message ? message : "");
	atomic_store(&kept.state, NOTICE_FULL);
}

bool gt_cupti_notice_take(struct gt_cupti_notice *ret_notice)
{
	if (atomic_load(&kept.state) != NOTICE_FULL)
		return false;
	*ret_notice = kept.notice;
	ret_notice->more = atomic_exchange(&kept.more, 0);
	atomic_store(&kept.state, NOTICE_FREE);
	return true;
}
