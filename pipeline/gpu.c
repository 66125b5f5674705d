/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI and graph nodes as collectors: their start, and what they count. Activity buffers are read
 * by the drain thread's rounds (drain.c), which drain everything else between any two of them.
 */
#include <errno.h>
#include <string.h>

#include "collectors/cupti/buffers.h"
#include "collectors/cupti/cupti.h"
#include "collectors/cupti/graph_nodes.h"
#include "collectors/cupti/load.h"
#include "core/correlate.h"
#include "core/guest/log.h"
#include "core/guest/text.h"
#include "pipeline/coexist.h"
#include "pipeline/collector.h"
#include "pipeline/session.h"

#define GRAPH_NODES ((size_t)1 << 20) /* bytes of --max-rss, see gt_session_share */

/* ---- graph nodes ---- */

/* Without memory for them graphs have no origin. */
static int start_graphs(struct gt_session *s)
{
	s->graph_nodes = gt_graph_nodes_start((uint32_t)gt_session_share(s, GRAPH_NODES));
	return 0;
}

static uint64_t drain_graphs(struct gt_session *s)
{
	return s->graph_nodes ? gt_graph_nodes_drain(s->graph_nodes) : 0;
}

static uint64_t lost_nodes(const struct gt_session *s)
{
	return s->graph_nodes ? gt_graph_nodes_lost(s->graph_nodes) : 0;
}

static const struct gt_collector_count graph_counts[] = {
	{lost_nodes, GT_LEDGER_GRAPH_NODES_LOST, "thinned", "--max-rss", "graph nodes",
	 "their kernels lack the creating call stack"},
};

/* Where the nodes of CUDA graphs were made. */
const struct gt_collector gt_graph_collector = {
	.name = "graph nodes",
	.start = start_graphs,
	.drain = drain_graphs,
	.counts = graph_counts,
	.count_count = sizeof(graph_counts) / sizeof(graph_counts[0]),
};

/* ---- CUPTI ---- */

/* CUPTI, or the reason why not in the metadata and, once, on stderr. */
static int start(struct gt_session *s)
{
	struct gt_metadata *metadata = &s->metadata;
	bool wanted = strcmp(gt_config_text(&s->config, GT_CONFIG_MODE), "hooks") != 0;
	int started = -ENOENT;

	if (!wanted)
		gt_text_format(s->cupti.why, sizeof(s->cupti.why), "--mode=hooks");
	else
		started =
			gt_cupti_start(&s->config, s->watch_end, gt_coexist_on_failure, &s->cupti);
	s->has_cupti = started == 0;
	metadata->mode = s->has_cupti ? "cupti" : "hooks only";
	metadata->cupti_version = s->translate.version = s->cupti.version;
	metadata->driver_version = gt_cupti_driver_version();
	metadata->runtime_version = gt_cupti_cuda_major() * 1000;
	gt_text_format(metadata->cupti_path, sizeof(metadata->cupti_path), "%s", s->cupti.path);
	gt_text_format(metadata->mode_reason, sizeof(metadata->mode_reason), "%s",
		       s->has_cupti ? s->cupti.refused : s->cupti.why);
	if (!s->has_cupti && wanted)
		gt_log_say("GPU work is not recorded, only CUDA calls and stacks: %s",
			   s->cupti.why);
	else if (s->has_cupti && *s->cupti.refused)
		gt_log_say("CUPTI refused %s: these are missing in the trace", s->cupti.refused);
	gt_coexist_start(s, started);
	return 0;
}

static void fetch_counts(struct gt_session *s)
{
	if (s->has_cupti)
		gt_cupti_count(&s->ledger);
}

static uint64_t dropped_records(const struct gt_session *s)
{
	return s->ledger.count[GT_LEDGER_RECORDS_DROPPED];
}

static uint64_t discarded_buffers(const struct gt_session *s)
{
	return s->ledger.count[GT_LEDGER_BUFFERS_DISCARDED];
}

static uint64_t evicted_calls(const struct gt_session *s)
{
	return gt_correlate_count(s->emit.calls).evicted;
}

static uint64_t in_flight(const struct gt_session *s)
{
	return gt_correlate_count(s->emit.calls).in_flight + s->emit.unexpected;
}

static uint64_t clock_steps(const struct gt_session *s)
{
	return s->clock.steps;
}

static const struct gt_collector_count counts[] = {
	{dropped_records, GT_LEDGER_COUNT_, "LOST", "dropped by CUPTI", "GPU records",
	 "CUPTI had no buffer in time"},
	{discarded_buffers, GT_LEDGER_COUNT_, "LOST", "no buffer", "activity buffers",
	 "all buffers in use: raise --max-memory"},
	{evicted_calls, GT_LEDGER_CORRELATION_EVICTED, NULL, NULL, NULL, NULL},
	{in_flight, GT_LEDGER_OPS_IN_FLIGHT, NULL, NULL, NULL, NULL},
	{clock_steps, GT_LEDGER_CLOCK_STEPS, NULL, NULL, NULL, NULL},
};

static void count_buffers(struct gt_session *s)
{
	gt_cupti_buffers_report(&s->ledger);
}

/* GPU work, by CUPTI's activity records. */
const struct gt_collector gt_gpu_collector = {
	.name = "CUPTI",
	.start = start,
	.report = fetch_counts,
	.counts = counts,
	.count_count = sizeof(counts) / sizeof(counts[0]),
	.count = count_buffers,
	.release = gt_cupti_stop,
};
