/* SPDX-License-Identifier: Apache-2.0
 *
 * Stream capture: work given to a capturing stream becomes nodes of a graph; events carry the
 * capture from one stream to others and back. One thread per capture, as with the real driver.
 */
#include "driver/graph.h"

#include <stdlib.h>
#include <string.h>

#include <cupti_callbacks.h>

static _Atomic uint64_t last_id;

static CUresult set_tail(struct CUstream_st *stream, const CUgraphNode *nodes, size_t count)
{
	CUgraphNode *copy = calloc(count + 1, sizeof(*copy));

	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (count)
		memcpy(copy, nodes, count * sizeof(*copy));
	free(stream->capture_tail);
	stream->capture_tail = copy;
	stream->capture_tail_count = count;
	return CUDA_SUCCESS;
}

static bool in_tail(const struct CUstream_st *stream, CUgraphNode node)
{
	for (size_t i = 0; i < stream->capture_tail_count; i++)
		if (stream->capture_tail[i] == node)
			return true;
	return false;
}

static CUresult join_tail(struct CUstream_st *stream, const CUgraphNode *nodes, size_t count)
{
	size_t joined = stream->capture_tail_count;
	CUgraphNode *all = calloc(joined + count + 1, sizeof(*all));

	if (!all)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (joined)
		memcpy(all, stream->capture_tail, joined * sizeof(*all));
	for (size_t i = 0; i < count; i++)
		if (!in_tail(stream, nodes[i]))
			all[joined++] = nodes[i];
	free(stream->capture_tail);
	stream->capture_tail = all;
	stream->capture_tail_count = joined;
	return CUDA_SUCCESS;
}

CUresult sim_capture_work(struct CUstream_st *stream, const struct sim_work *work)
{
	CUgraphNode node = sim_graph_add(stream->capture->graph, sim_graph_type_of(work), work,
					 stream->capture_tail, stream->capture_tail_count);

	return node ? set_tail(stream, &node, 1) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_capture_record(struct CUstream_st *stream, struct CUevent_st *event)
{
	size_t count = stream->capture_tail_count;
	CUgraphNode *copy = calloc(count + 1, sizeof(*copy));

	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (count)
		memcpy(copy, stream->capture_tail, count * sizeof(*copy));
	free(event->captured);
	event->captured = copy;
	event->captured_count = count;
	event->capture = stream->capture;
	return CUDA_SUCCESS;
}

CUresult sim_capture_wait(struct CUstream_st *stream, struct CUevent_st *event)
{
	if (!event->capture || (stream->capture && stream->capture != event->capture))
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	if (!stream->capture) {
		stream->capture = event->capture;
		return set_tail(stream, event->captured, event->captured_count);
	}
	return join_tail(stream, event->captured, event->captured_count);
}

/* What the next captured work of the stream depends on, set or joined by the program. */
CUresult sim_cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode *nodes,
						  const CUgraphEdgeData *edges, size_t count,
						  unsigned int flags)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);

	if (result)
		return result;
	if (!stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (count && !nodes)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		return set_tail(stream, nodes, count);
	return flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES ? join_tail(stream, nodes, count)
							   : CUDA_ERROR_INVALID_VALUE;
}

static CUresult begin(struct CUstream_st *stream, struct CUgraph_st *graph, bool owns_graph)
{
	struct sim_capture *capture = calloc(1, sizeof(*capture));

	if (!capture || !graph)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*capture = (struct sim_capture){.graph = graph,
					.id = atomic_fetch_add(&last_id, 1) + 1,
					.origin = stream,
					.owns_graph = owns_graph};
	stream->capture = capture;
	return CUDA_SUCCESS;
}

static CUresult check_start(CUstream handle, struct CUstream_st **ret_stream)
{
	CUresult result = sim_stream_find(handle, ret_stream);

	if (result)
		return result;
	if ((*ret_stream)->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	return (*ret_stream)->capture ? CUDA_ERROR_ILLEGAL_STATE : CUDA_SUCCESS;
}

CUresult sim_cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode)
{
	struct CUstream_st *stream;
	CUresult result = check_start(handle, &stream);

	if (result)
		return result;
	struct CUgraph_st *graph = sim_graph_new();
	if (graph)
		sim_graph_tell(CUPTI_CBID_RESOURCE_GRAPH_CREATED, graph, NULL, NULL);
	result = set_tail(stream, NULL, 0);
	return result ? result : begin(stream, graph, true);
}

CUresult sim_cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph,
					 const CUgraphNode *dependencies,
					 const CUgraphEdgeData *edges, size_t count,
					 CUstreamCaptureMode mode)
{
	struct CUstream_st *stream;
	CUresult result = check_start(handle, &stream);

	if (!result)
		result = set_tail(stream, dependencies, count);
	return result ? result : begin(stream, graph, false);
}

static void mark(CUgraphNode node)
{
	if (node->is_visited)
		return;
	node->is_visited = true;
	for (size_t i = 0; i < node->dependency_count; i++)
		mark(node->dependencies[i]);
}

/* Every stream that took part must have come back: all nodes lead to the origin's last ones. */
static bool all_joined(struct CUstream_st *origin)
{
	struct CUgraph_st *graph = origin->capture->graph;
	bool joined = true;

	for (size_t i = 0; i < graph->count; i++)
		graph->nodes[i]->is_visited = false;
	for (size_t i = 0; i < origin->capture_tail_count; i++)
		mark(origin->capture_tail[i]);
	for (size_t i = 0; i < graph->count; i++)
		joined = joined && graph->nodes[i]->is_visited;
	return joined;
}

static void release_streams(struct CUctx_st *context, const struct sim_capture *capture)
{
	pthread_mutex_lock(&context->mutex);
	for (struct CUstream_st *s = context->streams; s; s = s->next)
		if (s->capture == capture)
			s->capture = NULL;
	pthread_mutex_unlock(&context->mutex);
}

CUresult sim_cuStreamEndCapture(CUstream handle, CUgraph *ret_graph)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);

	if (result)
		return result;
	struct sim_capture *capture = stream->capture;
	if (!capture || !ret_graph)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (capture->origin != stream)
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	bool joined = all_joined(stream) || !capture->owns_graph;
	release_streams(stream->context, capture);
	*ret_graph = joined ? capture->graph : NULL;
	return joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

CUresult sim_cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);

	if (!result)
		*status = stream->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE
					  : CU_STREAM_CAPTURE_STATUS_NONE;
	return result;
}

CUresult sim_cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus *status,
				       cuuint64_t *id, CUgraph *graph,
				       const CUgraphNode **dependencies, size_t *count)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);

	if (result)
		return result;
	*status = stream->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
	if (!stream->capture)
		return CUDA_SUCCESS;
	if (id)
		*id = stream->capture->id;
	if (graph)
		*graph = stream->capture->graph;
	if (dependencies)
		*dependencies = stream->capture_tail;
	if (count)
		*count = stream->capture_tail_count;
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *status,
				       cuuint64_t *id, CUgraph *graph,
				       const CUgraphNode **dependencies,
				       const CUgraphEdgeData **edges, size_t *count)
{
	if (edges)
		*edges = NULL;
	return sim_cuStreamGetCaptureInfo_v2(handle, status, id, graph, dependencies, count);
}

CUresult sim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode old = sim_self.capture_mode;

	sim_self.capture_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}
