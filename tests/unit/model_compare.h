/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares two files of one run as models: equal to the last digit, whatever their formats. Ids of
 * names, stacks and threads may differ; what they refer to is compared.
 */
#ifndef GT_TESTS_UNIT_MODEL_COMPARE_H
#define GT_TESTS_UNIT_MODEL_COMPARE_H

#include <criterion/criterion.h>

#include "trace/model.h"

struct model_pair {
	const struct gt_model *a, *b;
};

static void same_name(struct model_pair p, uint32_t a, uint32_t b, const char *what, size_t i)
{
	cr_assert_str_eq(gt_model_name(p.a, a), gt_model_name(p.b, b), "%s %zu", what, i);
}

static void same_thread(struct model_pair p, uint32_t a, uint32_t b, const char *what, size_t i)
{
	const struct gt_thread_track *x = &p.a->threads.at[a], *y = &p.b->threads.at[b];

	cr_assert(x->pid == y->pid && x->tid == y->tid && x->is_beside == y->is_beside,
		  "%s %zu: %ld %ld", what, i, (long)x->tid, (long)y->tid);
	same_name(p, x->name, y->name, what, i);
}

static void same_stack(struct model_pair p, uint32_t a, uint32_t b, uint32_t none, const char *what,
		       size_t i)
{
	cr_assert_eq(a == none, b == none, "%s %zu", what, i);
	if (a == none)
		return;
	cr_assert_eq(p.a->stacks.at[a].count, p.b->stacks.at[b].count, "%s %zu", what, i);
	cr_assert(p.a->stacks.at[a].whole && p.b->stacks.at[b].whole, "%s %zu", what, i);
	for (uint32_t k = 0; k < p.a->stacks.at[a].count; k++)
		same_name(p, p.a->stacks.at[a].frame[k], p.b->stacks.at[b].frame[k], what, i);
}

static void same_ops(struct model_pair p)
{
	cr_assert_eq(p.a->ops.count, p.b->ops.count);
	for (size_t i = 0; i < p.a->ops.count; i++) {
		const struct gt_op *x = gt_model_op_at(p.a, i), *y = gt_model_op_at(p.b, i);

		cr_assert(x->start == y->start && x->dur == y->dur &&
				  x->correlation == y->correlation && x->bytes == y->bytes &&
				  x->call == y->call && x->stream == y->stream &&
				  x->device == y->device && x->kind == y->kind &&
				  x->comm == y->comm,
			  "operation %zu", i);
		same_name(p, x->name, y->name, "operation", i);
		same_name(p, x->nvtx, y->nvtx, "range of operation", i);
		same_stack(p, x->stack, y->stack, GT_NONE, "stack of operation", i);
	}
}

static void same_waits(struct model_pair p)
{
	cr_assert_eq(p.a->waits.count, p.b->waits.count);
	for (size_t i = 0; i < p.a->waits.count; i++) {
		const struct gt_host_wait *x = &p.a->waits.at[i], *y = &p.b->waits.at[i];

		cr_assert(x->start == y->start && x->end == y->end && x->until == y->until &&
				  x->correlation == y->correlation && x->call == y->call &&
				  x->stream == y->stream && x->device == y->device,
			  "wait %zu", i);
	}
}

static void same_calls(struct model_pair p)
{
	cr_assert_eq(p.a->calls.count, p.b->calls.count);
	for (size_t i = 0; i < p.a->calls.count; i++) {
		const struct gt_call *x = gt_model_call_at(p.a, i), *y = gt_model_call_at(p.b, i);

		cr_assert(x->start == y->start && x->dur == y->dur &&
				  x->correlation == y->correlation && x->driver == y->driver &&
				  x->back == y->back,
			  "call %zu", i);
		same_name(p, x->name, y->name, "call", i);
		same_thread(p, x->thread, y->thread, "thread of call", i);
		same_stack(p, x->stack, y->stack, GT_NONE, "stack of call", i);
	}
}

static void same_ranges(struct model_pair p)
{
	cr_assert_eq(p.a->ranges.count, p.b->ranges.count);
	for (size_t i = 0; i < p.a->ranges.count; i++) {
		const struct gt_model_range *x = &p.a->ranges.at[i], *y = &p.b->ranges.at[i];

		cr_assert(x->start == y->start && x->dur == y->dur && x->kind == y->kind &&
				  x->parent == y->parent && x->before == y->before &&
				  x->data == y->data && x->sequence == y->sequence,
			  "range %zu", i);
		same_name(p, x->name, y->name, "range", i);
		same_name(p, x->domain, y->domain, "domain of range", i);
		same_thread(p, x->thread, y->thread, "thread of range", i);
		same_stack(p, x->stack, y->stack, 0xfffffff, "stack of range", i);
	}
}

static void same_instants(struct model_pair p)
{
	cr_assert_eq(p.a->samples.count, p.b->samples.count);
	for (size_t i = 0; i < p.a->samples.count; i++) {
		const struct gt_sample *x = &p.a->samples.at[i], *y = &p.b->samples.at[i];

		cr_assert_eq(x->ts, y->ts, "sample %zu", i);
		same_thread(p, x->thread, y->thread, "thread of sample", i);
		same_stack(p, x->stack, y->stack, GT_NONE, "stack of sample", i);
	}
	cr_assert_eq(p.a->notes.count, p.b->notes.count);
	for (size_t i = 0; i < p.a->notes.count; i++) {
		const struct gt_note *x = &p.a->notes.at[i], *y = &p.b->notes.at[i];

		cr_assert(x->ts == y->ts && x->count == y->count, "note %zu", i);
		same_name(p, x->name, y->name, "note", i);
		same_name(p, x->cause, y->cause, "cause of note", i);
		same_name(p, x->text, y->text, "text of note", i);
	}
	cr_assert_eq(p.a->memory.count, p.b->memory.count);
	for (size_t i = 0; i < p.a->memory.count; i++)
		cr_assert(!memcmp(&p.a->memory.at[i], &p.b->memory.at[i], 20), "memory %zu", i);
}

static void same_header(struct model_pair p)
{
	static const char *const texts[] = {"hostname", "process", "mode", "unwinder"};
	const struct gt_header *x = &p.a->reading.header, *y = &p.b->reading.header;
	char one[256], other[256];

	cr_assert(x->has_rank && y->has_rank && x->rank == y->rank &&
		  x->world_size == y->world_size);
	cr_assert(x->has_base && y->has_base && x->base_ns == y->base_ns);
	cr_assert_eq(x->device_count, y->device_count);
	for (size_t i = 0; i < x->device_count; i++)
		cr_assert(x->devices[i].id == y->devices[i].id &&
			  !strcmp(x->devices[i].name, y->devices[i].name));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_assert(gt_header_text(x, "metadata", texts[i], one, sizeof(one)) &&
				  gt_header_text(y, "metadata", texts[i], other, sizeof(other)) &&
				  !strcmp(one, other),
			  "%s", texts[i]);
	cr_assert(gt_header_find(x, "ledger") && gt_header_find(y, "ledger"));
}

/* Loads both and compares all that the analysis uses. */
static inline void expect_same_models(char *path, char *other)
{
	struct gt_models a, b;
	struct model_pair p;

	cr_assert_eq(gt_model_load(&path, 1, &a), 0, "%s", a.at[0].reading.error);
	cr_assert_eq(gt_model_load(&other, 1, &b), 0, "%s", b.at[0].reading.error);
	cr_assert(a.count == 1 && b.count == 1);
	p = (struct model_pair){&a.at[0], &b.at[0]};
	same_header(p);
	same_ops(p);
	same_waits(p);
	same_calls(p);
	same_ranges(p);
	same_instants(p);
	cr_assert(p.a->first == p.b->first && p.a->last == p.b->last && p.a->rank == p.b->rank);
	cr_assert(!memcmp(&p.a->odd, &p.b->odd, offsetof(struct gt_odd, unknown_cats)));
	same_name(p, p.a->process, p.b->process, "process", 0);
	gt_models_fini(&a);
	gt_models_fini(&b);
}

#endif
