/* SPDX-License-Identifier: Apache-2.0
 *
 * See gaps.h: a thread and its call of the operating system in words. Pure.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/gaps.h"
#include "core/schema/os_call.h"

/* Of a descriptor without a path, by its kind. Of an epoll descriptor the call's name says it. */
static const char *const things[GT_OS_KIND_COUNT_] = {
	[GT_OS_KIND_FILE] = "a file",       [GT_OS_KIND_FOLDER] = "a folder",
	[GT_OS_KIND_PIPE] = "a pipe",       [GT_OS_KIND_SOCKET] = "a socket",
	[GT_OS_KIND_DEVICE] = "a device",   [GT_OS_KIND_EVENTFD] = "an eventfd",
	[GT_OS_KIND_TIMERFD] = "a timerfd",
};

const char *gt_gaps_thread(const struct gt_model *model, uint32_t thread, char *out, size_t size)
{
	const struct gt_thread_track *track = &model->threads.at[thread];
	const char *name = track->name ? gt_model_name(model, track->name) : "";

	if (!*name)
		snprintf(out, size, "thread %" PRId64, track->tid);
	else
		snprintf(out, size, "%s%s", strstr(name, "thread ") ? "" : "thread ", name);
	return out;
}

void gt_gaps_os_call(const struct gt_model *model, uint32_t os_call, bool path, char *out,
		     size_t size)
{
	const struct gt_model_os_call *call = &model->os_calls.at[os_call];
	const char *of = things[call->kind];
	char thread[256], place[2048];
	bool is_data;

	if (call->file != GT_NAME_NONE)
		of = path ? gt_model_name(model, call->file) : "files";
	gt_gaps_place(model, call->stack, place, sizeof(place), &is_data);
	snprintf(out, size, "%s: %s()%s%s%s%s",
		 gt_gaps_thread(model, call->thread, thread, sizeof(thread)),
		 gt_model_name(model, call->name), of ? " of " : "", of ? of : "",
		 *place ? " from " : "", place);
}
