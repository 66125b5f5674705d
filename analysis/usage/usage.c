/* SPDX-License-Identifier: Apache-2.0
 *
 * See usage.h: the list.
 */
#include "analysis/usage/usage.h"

#include "analysis/usage/reports.h"

const struct gt_report gt_usage_reports[] = {
	{"gpu_stream_use", "Use of each stream", gt_usage_streams, false},
	{"gpu_step_use", "Use of the GPUs by step", gt_usage_steps, false},
	{"gpu_rank_use", "Use of the GPUs by rank", gt_usage_ranks, false},
	{"gpu_kern_per_step", "Kernels per step", gt_usage_per_step, false},
	{"gpu_kern_per_rank", "Kernels per rank", gt_usage_per_rank, false},
	{"gpu_comm_sum", "Communication by collective and size", gt_usage_collectives, false},
	{"gpu_rate_sum", "Bytes per second, of operations with known sizes", gt_usage_rates, false},
	{"gpu_queue_sum", "Launch queue of each stream", gt_usage_queues, false},
	{"gpu_queue_time", "Launch queue over time", gt_usage_queue_times, false},
	{"gpu_health_sum", "Power, clocks and health of each GPU", gt_usage_health, false},
	{"osrt_sum", "Calls of the operating system", gt_usage_os_calls, false},
	{"mpi_sum", "Calls of MPI", gt_usage_mpi_calls, false},
	{"mpi_peer_sum", "Messages of MPI, by who sends to whom", gt_usage_mpi_peers, false},
	{"nn_module_sum", "GPU time by nn.Module", gt_usage_modules, false},
	{NULL, NULL, NULL, false},
};
