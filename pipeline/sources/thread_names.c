/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/sources/thread_names.h"

#include "core/guest/clock.h"
#include "core/guest/descriptor.h"
#include "core/guest/text.h"
#include "core/intern.h"
#include "pipeline/output/outlet.h"
#include "pipeline/ranges/ranges.h"

/* As the kernel has it; the program may have told NVTX a better one. */
const struct gt_string *gt_thread_names_find(struct gt_thread_names *names, uint32_t tid)
{
	const struct gt_string *reported = gt_ranges_thread_name(names->ranges, tid);
	char path[64], name[64];
	size_t n;

	if (reported)
		return reported;
	gt_text_format(path, sizeof(path), "/proc/self/task/%u/comm", tid);
	n = gt_descriptor_read_file(path, name, sizeof(name));
	while (n > 0 && name[n - 1] == '\n')
		n--;
	if (n == 0) /* gone already */
		n = gt_text_format(name, sizeof(name), "thread %u", tid);
	return gt_intern_get(names->strings, name, n);
}

void gt_thread_names_see(struct gt_thread_names *names, uint32_t tid, uint64_t time)
{
	struct gt_event event = {.kind = GT_EVENT_THREAD, .tid = tid};
	uint32_t *written = &names->written[tid % GT_THREAD_NAMES];

	if (*written == tid)
		return;
	*written = tid;
	event.start = event.end = gt_clock_from_monotonic(names->clock, time);
	event.thread.name = gt_thread_names_find(names, tid);
	gt_outlet_event(names->outlet, &event);
}
