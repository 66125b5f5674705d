/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/sources/thread_names.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

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

/* A thread without a name of its own inherits the program's, and one that is gone has none: both
 * are "train thread 4107", as many rows of one name would tell nothing. */
static const struct gt_string *name_on_row(struct gt_thread_names *names, uint32_t tid)
{
	const struct gt_string *name = gt_thread_names_find(names, tid);
	char program[32], text[64];
	size_t n = gt_descriptor_read_file("/proc/self/comm", program, sizeof(program) - 1);
	bool is_gone;

	while (n > 0 && program[n - 1] == '\n')
		n--;
	program[n] = 0;
	gt_text_format(text, sizeof(text), "thread %u", tid);
	is_gone = strcmp(name->text, text) == 0;
	if (n == 0 || tid == (uint32_t)getpid() || (!is_gone && strcmp(name->text, program) != 0))
		return name;
	n = gt_text_format(text, sizeof(text), "%s thread %u", program, tid);
	return gt_intern_get(names->strings, text, n);
}

static void write_name(struct gt_thread_names *names, uint32_t tid, uint64_t time)
{
	struct gt_event event = {.kind = GT_EVENT_THREAD, .tid = tid};

	event.start = event.end = gt_clock_from_monotonic(names->clock, time);
	event.thread.name = name_on_row(names, tid);
	gt_outlet_event(names->outlet, &event);
}

void gt_thread_names_see(struct gt_thread_names *names, uint32_t tid, uint64_t time)
{
	uint32_t *written = &names->written[tid % GT_THREAD_NAMES];

	if (*written == tid)
		return;
	*written = tid;
	write_name(names, tid, time);
}
