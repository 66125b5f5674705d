/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs are refused: nothing can be captured, so no stream ever captures.
 */
#include "driver/driver.h"

uint32_t sim_graph_id(CUgraph graph)
{
	return 0;
}

uint32_t sim_exec_id(CUgraphExec exec)
{
	return 0;
}

uint64_t sim_node_id(CUgraphNode node)
{
	return 0;
}

CUresult sim_capture_work(struct CUstream_st *stream, const struct sim_work *work)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_capture_record(struct CUstream_st *stream, struct CUevent_st *event)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_capture_wait(struct CUstream_st *stream, struct CUevent_st *event)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}
