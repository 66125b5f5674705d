/* SPDX-License-Identifier: Apache-2.0
 *
 * Who hands what to whom, see the header. From the end of the pipeline to its sources: a part is
 * made of what is made before it.
 */
#include "pipeline/pipeline.h"

#include <errno.h>
#include <string.h>

#include "collectors/cupti/lent.h"
#include "pipeline/flusher.h"
#include "pipeline/ranges/ranges.h"

/* Parts of --max-rss, see gt_stores_share. */
#define GRAPH_NODES ((size_t)1 << 20)
#define CALLS       ((size_t)1 << 21) /* that wait for their work; the table grows up to it */
#define CALLS_LEAST ((size_t)1 << 12)

extern const struct gt_collector gt_recorder_collector;
extern const struct gt_collector gt_rings_collector;
extern const struct gt_collector gt_stores_collector;
extern const struct gt_collector gt_stacks_collector;
extern const struct gt_collector gt_stack_lane_collector;
extern const struct gt_collector gt_graphs_collector;
extern const struct gt_collector gt_gpu_collector;
extern const struct gt_collector gt_coexist_collector;
extern const struct gt_collector gt_nvtx_collector;
extern const struct gt_collector gt_samples_collector;
extern const struct gt_collector gt_cost_collector;
extern const struct gt_collector gt_health_collector;
extern const struct gt_collector gt_holdings_collector;
extern const struct gt_collector gt_libraries_collector;
extern const struct gt_collector gt_os_calls_collector;

void gt_pipeline_link(struct gt_pipeline *p)
{
	p->spooling = (struct gt_spooling){
		.clock = &p->clock,
		.metadata = &p->metadata,
		.ledger = &p->ledger,
		.context_device = p->gpu.translate.context_device,
		.has_cupti = &p->gpu.has_cupti,
	};
	p->output = (struct gt_output){
		.config = &p->config,
		.budget = &p->budget,
		.metadata = &p->metadata,
		.ledger = &p->ledger,
		.spooling = &p->spooling,
		.segments.remembers = p->metadata.window_number || p->window.is_controlled ||
				      p->recorder.plan.keep_ns,
	};
	gt_output_find(&p->output);
}

/* ---- output, ranges, join ---- */

static int make_ranges(struct gt_pipeline *p)
{
	struct gt_ranges_options options = {
		.clock = &p->clock,
		.strings = p->stores.strings,
		.ledger = &p->ledger,
		.outlet = &p->outlet,
		.step_range = gt_config_text(&p->config, GT_CONFIG_STEP_RANGE),
		.operators = gt_config_bool(&p->config, GT_CONFIG_PYTORCH),
	};

	p->filters.metadata = &p->metadata;
	p->filters.ledger = &p->ledger;
	p->recorder.strings = p->stores.strings;
	p->recorder.clock = &p->clock;
	p->outlet = (struct gt_outlet){
		.recorder = p->recorder.plan.keep_ns ? &p->recorder : NULL,
		.output = &p->output,
		.clock = &p->clock,
		.has_cupti = &p->gpu.has_cupti,
		.metadata = &p->metadata,
		.ledger = &p->ledger,
		.filters = gt_capture_filter_is_set(&p->filters.asked) ? &p->filters : NULL,
	};
	p->ranges = gt_ranges_new(&options);
	return p->ranges ? 0 : -ENOMEM;
}

/* A power of two. */
static uint32_t max_calls(const struct gt_config *config)
{
	size_t share = gt_stores_share(config, CALLS), calls = CALLS_LEAST;

	while (calls * 2 <= share)
		calls *= 2;
	return (uint32_t)calls;
}

static int make_join(struct gt_pipeline *p)
{
	bool has_calls = strcmp(gt_config_text(&p->config, GT_CONFIG_API), "none") != 0;

	p->origins = (struct gt_origins){
		.stacks = p->stores.stacks,
		.max_nodes = (uint32_t)gt_stores_share(&p->config, GRAPH_NODES),
	};
	p->join = (struct gt_call_join){
		.ranges = p->ranges,
		.outlet = &p->outlet,
		.ledger = &p->ledger,
		.origins = &p->origins,
		.has_cupti = &p->gpu.has_cupti,
	};
	return gt_call_join_init(&p->join, has_calls, max_calls(&p->config));
}

/* ---- sources ---- */

static void make_stacks(struct gt_pipeline *p)
{
	p->threads = (struct gt_thread_names){
		.clock = &p->clock,
		.strings = p->stores.strings,
		.ranges = p->ranges,
		.outlet = &p->outlet,
	};
	p->stacks = (struct gt_call_stacks){
		.config = &p->config,
		.strings = p->stores.strings,
		.modules = p->stores.modules,
		.stacks = p->stores.stacks,
		.metadata = &p->metadata,
	};
}

static void make_calls(struct gt_pipeline *p)
{
	struct gt_calls *calls = &p->calls;

	calls->config = &p->config;
	calls->clock = &p->clock;
	calls->strings = p->stores.strings;
	calls->ledger = &p->ledger;
	calls->has_cupti = &p->gpu.has_cupti;
	calls->threads = &p->threads;
	calls->stacks = &p->stacks;
	calls->join = &p->join;
	calls->holdings = &p->holdings;
	calls->spooling = &p->spooling;
	p->holdings = (struct gt_holdings){
		.config = &p->config,
		.clock = &p->clock,
		.strings = p->stores.strings,
		.outlet = &p->outlet,
	};
	p->samples = (struct gt_samples){
		.config = &p->config,
		.clock = &p->clock,
		.ledger = &p->ledger,
		.stacks = &p->stacks,
		.outlet = &p->outlet,
	};
}

static void make_rings(struct gt_pipeline *p)
{
	p->release = (struct gt_release){
		.clock = &p->clock,
		.spooling = &p->spooling,
		.ranges = p->ranges,
		.join = &p->join,
		.output = &p->output,
		.recorder = &p->recorder,
		.collectors = &p->collectors,
	};
	p->rings = (struct gt_rings){
		.config = &p->config,
		.threads = &p->threads,
		.calls = &p->calls,
		.ranges = p->ranges,
		.samples = &p->samples,
		.release = &p->release,
		.metadata = &p->metadata,
		.filter = &p->filters.asked,
		.waits = gt_window_waits(&p->window),
	};
}

static void make_gpu(struct gt_pipeline *p, void (*watch_end)(void))
{
	struct gt_gpu *gpu = &p->gpu;

	gpu->config = &p->config;
	gpu->metadata = &p->metadata;
	gpu->ledger = &p->ledger;
	gpu->join = &p->join;
	gpu->watch_end = watch_end;
	gpu->fetch = gt_flusher_fetch;
	gpu->waits = gt_window_waits(&p->window);
	gpu->spooling = &p->spooling;
	gt_gpu_init(gpu, &p->clock, p->stores.strings, p->stores.demangle);
	p->coexist = (struct gt_coexist){.gpu = gpu, .strings = p->stores.strings};
	p->frameworks = (struct gt_frameworks){
		.config = &p->config,
		.modules = p->stores.modules,
		.metadata = &p->metadata,
	};
	p->cost = (struct gt_cost){
		.config = &p->config,
		.clock = &p->clock,
		.strings = p->stores.strings,
		.outlet = &p->outlet,
		.metadata = &p->metadata,
	};
	p->health = (struct gt_health){
		.config = &p->config,
		.clock = &p->clock,
		.strings = p->stores.strings,
		.outlet = &p->outlet,
		.metadata = &p->metadata,
	};
}

static void make_hang(struct gt_pipeline *p)
{
	p->hang = (struct gt_hang){
		.config = &p->config,
		.calls = &p->calls,
		.names = &p->threads,
		.demangle = p->stores.demangle,
		.output = &p->output,
		.ranges = p->ranges,
		.flushing = gt_flusher_busy_ns,
		.watchdog = {.done = gt_cupti_lent_done, .of = &p->gpu.translate.version},
	};
}

/* In the order of their start: what CUPTI's callbacks need exists before it. */
static void make_collectors(struct gt_pipeline *p)
{
	const struct gt_collector_entry rows[] = {
		{.collector = &gt_recorder_collector, .part = &p->recorder},
		{.collector = &gt_rings_collector, .part = &p->rings},
		{.collector = &gt_stores_collector, .part = &p->stores},
		{.collector = &gt_stacks_collector, .part = &p->stacks},
		{.collector = &gt_stack_lane_collector, .part = &p->calls},
		{.collector = &gt_graphs_collector, .part = &p->origins},
		{.collector = &gt_gpu_collector, .part = &p->gpu},
		{.collector = &gt_coexist_collector, .part = &p->coexist},
		{.collector = &gt_nvtx_collector, .part = p->ranges},
		{.collector = &gt_samples_collector, .part = &p->samples},
		{.collector = &gt_cost_collector, .part = &p->cost},
		{.collector = &gt_health_collector, .part = &p->health},
		{.collector = &gt_holdings_collector, .part = &p->holdings},
		{.collector = &gt_libraries_collector, .part = &p->config},
		{.collector = &gt_os_calls_collector, .part = &p->calls},
	};

	_Static_assert(sizeof(rows) / sizeof(rows[0]) <= GT_COLLECTORS_MAX, "GT_COLLECTORS_MAX");
	p->collectors = (struct gt_collectors){.outlet = &p->outlet};
	memcpy(p->collectors.entries, rows, sizeof(rows));
}

int gt_pipeline_init(struct gt_pipeline *p, void (*watch_end)(void))
{
	int error = gt_stores_init(&p->stores, &p->config);

	if (!error)
		error = make_ranges(p);
	if (!error)
		error = make_join(p);
	if (error)
		return error;
	make_stacks(p);
	make_calls(p);
	make_rings(p);
	make_gpu(p, watch_end);
	make_hang(p);
	make_collectors(p);
	return 0;
}

void gt_pipeline_fini(struct gt_pipeline *p)
{
	gt_call_join_fini(&p->join);
	gt_ranges_free(p->ranges);
	gt_outlet_fini(&p->outlet);
	gt_recorder_fini(&p->recorder);
	gt_stores_fini(&p->stores);
}
