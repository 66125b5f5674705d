/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary bytes as a .pftrace: whatever the reader answers, it must answer, and what it hands out
 * must be whole. Then as a model and through verify: a model refers to nothing that it does not
 * hold. Then as merged JSON.
 */
#include "analysis/verify/verify.h"
#include "core/stack.h"
#include "readers/events.h"
#include "tests/fuzz/fuzz.h"
#include "trace/model.h"
#include "transform/job/merge.h"

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

static void need(bool truth)
{
	if (!truth)
		abort();
}

static void check_model(const struct gt_model *model)
{
	for (size_t i = 0; i < model->ops.count; i++) {
		const struct gt_op *op = gt_model_op_at(model, i);

		need(op->name < model->names.text.count && op->nvtx < model->names.text.count);
		need(op->call == GT_NONE || op->call < model->calls.count);
		need(op->stack == GT_NONE || op->stack < model->stacks.count);
		need(op->dur >= 0 && op->start >= 0);
	}
	for (size_t i = 0; i < model->calls.count; i++)
		need(gt_model_call_traits(model, i)->thread < model->threads.count);
	for (size_t i = 0; i < model->ranges.count; i++)
		need(model->ranges.at[i].thread < model->threads.count);
	for (size_t i = 0; i < model->samples.count; i++)
		need(model->samples.at[i].thread < model->threads.count);
	for (size_t i = 0; i < model->notes.count; i++)
		need(model->notes.at[i].text < model->names.text.count);
}

static void load(char *path)
{
	struct gt_verify_options options = {.lines_per_check = 3};
	struct gt_verify_result verified;
	struct gt_models models;
	FILE *null = fopen("/dev/null", "w");

	if (!gt_model_load(&path, 1, &models))
		for (size_t i = 0; i < models.count; i++)
			check_model(&models.at[i]);
	gt_models_fini(&models);
	need(null);
	gt_verify_file(path, &options, null, &verified);
	fclose(null);
}

static void merge(char *path)
{
	const struct gt_merge_request request = {.force = true};
	struct gt_merge_result result;
	FILE *null = fopen("/dev/null", "w");

	need(null);
	if (gt_merge(&path, 1, &request, null, &result))
		need(*result.error);
	fclose(null);
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
	load(path);
	merge(path);
	close(fd);
	return 0;
}
