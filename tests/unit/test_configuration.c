/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of configurations of kernels: equal ones mean equal kernels, and files are the same with
 * them and without.
 */
#include "tests/unit/trace_fixture.h"

#include <cupti.h>

#include "collectors/cupti/records/kernels.h"
#include "tests/unit/random_event.h"

/* ---- the translator ---- */

#define NAMES   4u
#define RECORDS 60000u

static char names[NAMES][32];

static CUpti_ActivityKernel8 any_record(void)
{
	CUpti_ActivityKernel8 r;

	memset(&r, any(8) ? 0 : 0xA5, sizeof(r)); /* padding may hold anything */
	r.registersPerThread = (uint16_t)(32 * any(3));
	r.deviceId = any(3);
	r.gridX = 1 + (int32_t)any(3);
	r.gridY = 1 + (int32_t)any(2);
	r.gridZ = r.blockZ = 1;
	r.blockX = 128 << any(2);
	r.blockY = 1 + (int32_t)any(2);
	r.staticSharedMemory = 1024 * (int32_t)any(2);
	r.dynamicSharedMemory = 4096 * (int32_t)any(2);
	r.localMemoryPerThread = any(2) * 8;
	r.sharedMemoryExecuted = any(2) * 8192;
	r.launchType = (uint8_t)any(3);
	r.graphId = any(3);
	r.graphNodeId = any(1000);
	r.clusterX = 1 + any(2);
	r.clusterY = r.clusterZ = 1;
	r.gridId = (int64_t)any(1000) - 10;
	r.queued = r.submitted = 0;
	r.name = any(20) ? names[any(NAMES)] : NULL;
	return r;
}

static void check_same(const struct gt_kernel_event *a, const struct gt_kernel_event *b)
{
	cr_assert(a->name == b->name && a->mangled == b->mangled);
	cr_assert_eq(memcmp(a->grid, b->grid,
			    offsetof(struct gt_kernel_event, graph_node_id) -
				    offsetof(struct gt_kernel_event, grid)),
		     0);
	cr_assert_eq(a->cooperative, b->cooperative);
	cr_assert(!a->has_priority && !b->has_priority && !a->created && !a->library.function);
	cr_assert_eq(a->has_occupancy, b->has_occupancy);
	cr_assert_eq(a->blocks_per_sm_micro, b->blocks_per_sm_micro);
	cr_assert_eq(a->warps_per_sm_micro, b->warps_per_sm_micro);
	cr_assert_eq(a->est_occupancy_percent, b->est_occupancy_percent);
	cr_assert_eq(a->theoretical_occupancy_percent, b->theoretical_occupancy_percent);
	cr_assert_eq(memcmp(&a->resident_blocks, &b->resident_blocks, 5 * sizeof(uint16_t)), 0);
}

static void change_something(struct gt_translate *t)
{
	static const char *const texts[] = {"_Z5scalePf", "main", "_Z6smoothILi16EEvPf", "x"};
	struct gt_device_event *device = &t->devices[any(2)];

	strcpy(names[any(NAMES)], texts[any(4)]);
	if (any(10))
		return;
	*device = (struct gt_device_event){.id = (uint32_t)(device - t->devices),
					   .sm_count = any(2) * (100 + any(32)),
					   .warp_size = 32,
					   .compute_major = 9,
					   .max_threads_per_block = 1024,
					   .max_threads_per_sm = 2048,
					   .registers_per_block = 65536,
					   .registers_per_sm = 65536,
					   .shared_per_block = 49152,
					   .shared_per_block_optin = 232448,
					   .shared_per_sm = 233472};
	t->occupancy = (struct gt_occupancy_answers){0};
	gt_translate_forget_kernels(t);
}

Test(configuration, a_kept_kernel_is_the_one_that_would_be_made)
{
	struct gt_intern *strings = gt_intern_new(1 << 20);
	struct gt_translate *t = calloc(2, sizeof(*t));
	struct gt_kernel_event *made = calloc(RECORDS + 1, sizeof(*made)), kept;
	struct gt_demangle *demangle = gt_demangle_new(strings);

	t[0].demangle = t[1].demangle = demangle;
	for (uint32_t i = 0; i < RECORDS; i++) {
		CUpti_ActivityKernel8 r = any_record();

		if (!any(50))
			change_something(&t[0]);
		memcpy(t[1].devices, t[0].devices, sizeof(t[1].devices));
		t[1].occupancy = (struct gt_occupancy_answers){0};
		gt_translate_forget_kernels(&t[1]);
		gt_translate_fill_kernel(&t[0], &r, &kept);
		gt_translate_fill_kernel(&t[1], &r, &made[0]);
		check_same(&kept, &made[0]);
		cr_assert_eq(kept.graph_node_id, r.graphNodeId);
		cr_assert_eq(kept.grid_id, r.gridId > 0 ? (uint64_t)r.gridId : 0);
		cr_assert(kept.configuration > 0 && kept.configuration <= RECORDS);
		if (made[kept.configuration].configuration)
			check_same(&made[kept.configuration], &kept);
		made[kept.configuration] = kept;
	}
	cr_assert_lt(t[0].configurations, RECORDS, "none was kept");
	gt_demangle_free(demangle);
	gt_intern_free(strings);
	free(made);
	free(t);
}

/* ---- the writers ---- */

#define EVENTS 40000u
#define KINDS  300u

static void open_as(struct trace *t, const char *format, const char *name,
		    const struct gt_writer_options *options)
{
	struct gt_sink_options sink = {
		.directory = t->folder, .fallback = t->folder, .name = name, .suffix = ".trace"};
	int error = 0;

	t->sink = gt_sink_open(&sink, &error);
	cr_assert_not_null(t->sink);
	t->writer = gt_writer_new(format);
	cr_assert_eq(t->writer->ops->open(t->writer, t->sink, &t->metadata, options), 0);
}

static void close_one(struct trace *t)
{
	cr_assert_eq(trace_close(t), 0);
	trace_read(t);
	t->writer->ops->fini(t->writer);
	gt_writer_free(t->writer);
	gt_sink_close(t->sink);
	memset(&t->ledger, 0, sizeof(t->ledger));
}

/* The number changes when the translator has made the kernel again. */
static void number(struct gt_event *e, struct gt_kernel_event *kinds, uint32_t *last)
{
	struct gt_kernel_event own = e->kernel, *kind = &kinds[any(KINDS)];

	if (!kind->configuration || !any(50)) {
		*kind = kind->configuration ? *kind : own;
		kind->configuration = ++*last;
	}
	e->kernel = *kind;
	e->kernel.queued = own.queued;
	e->kernel.submitted = own.submitted;
	e->kernel.grid_id = own.grid_id;
	e->kernel.graph_node_id = any(3) ? own.graph_node_id : any(30000);
	e->kernel.created = own.created;
	e->kernel.library = own.library;
}

static void write_events(struct trace *t, uint32_t first_seed, bool numbered)
{
	static struct gt_launch launches[EVENTS + 2];
	struct gt_kernel_event *kinds = calloc(KINDS, sizeof(*kinds));
	uint32_t count = 0, last = 0;

	seed = first_seed;
	for (uint32_t i = 0; i < EVENTS; i++) {
		struct gt_event e = any(3) ? any_event(t, i, launches, &count)
					   : any_call(t, i, launches, &count);

		if (e.kind == GT_EVENT_KERNEL) {
			number(&e, kinds, &last);
			e.kernel.configuration = numbered ? e.kernel.configuration : 0;
		}
		trace_event(t, &e);
	}
	free(kinds);
}

static void compare(const char *format, const struct gt_writer_options *options, uint32_t seed_of)
{
	struct trace t;
	char *with;
	size_t size;

	trace_prepare(&t);
	for (int i = 0; i < 4; i++)
		frames[i] = (struct gt_stack_frame){.function = trace_string(&t, "step")};
	for (int i = 0; i < 3; i++)
		stacks[i] = trace_stack((uint32_t)i + 1, frames, (uint32_t)i + 2);
	open_as(&t, format, "a", options);
	write_events(&t, seed_of, true);
	close_one(&t);
	with = t.text;
	size = t.size;
	t.text = NULL;
	open_as(&t, format, "b", options);
	write_events(&t, seed_of, false);
	cr_assert_eq(trace_close(&t), 0);
	trace_read(&t);
	cr_assert_eq(t.size, size);
	cr_assert_eq(memcmp(t.text, with, size - 64), 0, "%s differs", format);
	free(with);
	for (int i = 0; i < 3; i++)
		free(stacks[i]);
	trace_end(&t);
}

Test(configuration, files_are_the_same_with_numbers_and_without)
{
	static const struct gt_writer_options options[] = {
		{.sync_tracks = true}, {.brief = true}, {.few_details = true}, {.own_flows = true}};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		compare("chrome", &options[i], 1000 + i);
		compare("perfetto", &options[i], 2000 + i);
	}
}
