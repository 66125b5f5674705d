/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary bytes as a .pftrace: whatever the reader answers, it must answer, and what it hands out
 * must be whole.
 */
#include "core/stack.h"
#include "readers/events.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int take_metadata(const struct gt_metadata *metadata, void *data)
{
	*(uint64_t *)data += metadata->device_count + (uint64_t)metadata->process[0];
	return 0;
}

static int take_event(const struct gt_event *event, void *data)
{
	uint64_t *sum = data;
	const struct gt_stack *stack = event->stack ? event->stack : event->launch.stack;

	if (event->end < event->start || event->kind >= GT_EVENT_COUNT_)
		abort();
	if (event->kind == GT_EVENT_KERNEL && event->kernel.name)
		*sum += event->kernel.name->length;
	for (uint32_t i = 0; stack && i < stack->count; i++)
		*sum += stack->frames[i]->offset;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t sum = 0;
	struct gt_events events = {
		.take_metadata = take_metadata, .take_event = take_event, .data = &sum};
	int fd = memfd_create("trace", MFD_CLOEXEC);
	char path[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || gt_events_init(&events) < 0)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	gt_events_read_pftrace(&events, path);
	gt_events_fini(&events);
	close(fd);
	return 0;
}
