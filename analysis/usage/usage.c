/* SPDX-License-Identifier: Apache-2.0
 *
 * See usage.h: the list.
 */
#include "analysis/usage/usage.h"

#include "analysis/usage/reports.h"

#define JOB(id, text, from)                                                                        \
	{                                                                                          \
		.name = (id), .title = (text), .build = (from)                                     \
	}

/* Last: what becomes of the tags of its groups where several processes have them. */
#define GROUPS(id, text, from, ...)                                                                \
	{                                                                                          \
		.name = (id), .title = (text), .build = gt_stats_by_groups,                        \
		.map = gt_usage_map_##from, .fill = gt_usage_fill_##from, .joins = {               \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

const struct gt_report gt_usage_reports[] = {
	JOB("gpu_stream_use", "Use of each stream", gt_usage_streams),
	JOB("gpu_step_use", "Use of the GPUs by step", gt_usage_steps),
	JOB("gpu_rank_use", "Use of the GPUs by rank", gt_usage_ranks),
	JOB("gpu_kern_per_step", "Kernels per step", gt_usage_per_step),
	JOB("gpu_kern_per_rank", "Kernels per rank", gt_usage_per_rank),
	GROUPS("gpu_comm_sum", "Communication by collective and size", collectives, GT_TAG_SUM,
	       GT_TAG_FIRST),
	GROUPS("gpu_rate_sum", "Bytes per second, of operations with known sizes", rates,
	       GT_TAG_SUM, GT_TAG_SUM, GT_TAG_SUM),
	JOB("gpu_queue_sum", "Launch queue of each stream", gt_usage_queues),
	JOB("gpu_queue_time", "Launch queue over time", gt_usage_queue_times),
	JOB("gpu_health_sum", "Power, clocks and health of each GPU", gt_usage_health),
	JOB("osrt_sum", "Calls of the operating system", gt_usage_os_calls),
	GROUPS("mpi_sum", "Calls of MPI", mpi_calls, GT_TAG_SUM, GT_TAG_SUM, GT_TAG_SUM),
	JOB("mpi_peer_sum", "Messages of MPI, by who sends to whom", gt_usage_mpi_peers),
	GROUPS("nn_module_sum", "GPU time by nn.Module", modules, GT_TAG_SUM, GT_TAG_FIRST),
	{.name = NULL},
};
