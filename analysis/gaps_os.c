/* SPDX-License-Identifier: Apache-2.0
 *
 * See gaps.h: a call of the operating system in words. Pure.
 */
#include <stdio.h>

#include "analysis/gaps.h"
#include "core/schema/os_call.h"

/* Of a descriptor without a path, by its kind. Of an epoll descriptor the call's name says it. */
static const char *const things[GT_OS_KIND_COUNT_] = {
	[GT_OS_KIND_FILE] = "a file",       [GT_OS_KIND_FOLDER] = "a folder",
	[GT_OS_KIND_PIPE] = "a pipe",       [GT_OS_KIND_SOCKET] = "a socket",
	[GT_OS_KIND_DEVICE] = "a device",   [GT_OS_KIND_EVENTFD] = "an eventfd",
	[GT_OS_KIND_TIMERFD] = "a timerfd",
};

void gt_gaps_os_call(const struct gt_model *model, uint32_t os_call, bool path, char *out,
		     size_t size, bool *ret_is_data)
{
	const struct gt_model_os_call *call = &model->os_calls.at[os_call];
	const char *of = things[call->kind];
	char place[2048];

	if (call->file != GT_NAME_NONE)
		of = path ? gt_model_name(model, call->file) : "files";
	gt_gaps_place(model, call->stack, place, sizeof(place), ret_is_data);
	snprintf(out, size, "%s()%s%s%s%s", gt_model_name(model, call->name), of ? " of " : "",
		 of ? of : "", *place ? " from " : "", place);
}
