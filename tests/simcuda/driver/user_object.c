/* SPDX-License-Identifier: Apache-2.0
 *
 * User objects: counted references to something of the program, which graphs can hold. The last
 * reference calls the program's destructor, on the thread that gives it up.
 */
#include "driver/graph.h"

#include <stdlib.h>

struct CUuserObject_st {
	CUhostFn destroy;
	void *data;
	_Atomic unsigned int references;
};

CUresult sim_cuUserObjectCreate(CUuserObject *ret_object, void *data, CUhostFn destroy,
				unsigned int references, unsigned int flags)
{
	if (!ret_object || !destroy || !references || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
		return CUDA_ERROR_INVALID_VALUE;
	struct CUuserObject_st *object = malloc(sizeof(*object));
	if (!object)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*object = (struct CUuserObject_st){destroy, data, references};
	*ret_object = object;
	return CUDA_SUCCESS;
}

CUresult sim_cuUserObjectRetain(CUuserObject object, unsigned int count)
{
	if (!object || !count)
		return CUDA_ERROR_INVALID_VALUE;
	atomic_fetch_add(&object->references, count);
	return CUDA_SUCCESS;
}

CUresult sim_cuUserObjectRelease(CUuserObject object, unsigned int count)
{
	if (!object || !count || count > object->references)
		return CUDA_ERROR_INVALID_VALUE;
	if (atomic_fetch_sub(&object->references, count) == count) {
		object->destroy(object->data);
		free(object);
	}
	return CUDA_SUCCESS;
}

static CUresult hold(struct CUgraph_st *graph, CUuserObject object, unsigned int count)
{
	struct sim_held *held = malloc(sizeof(*held));

	if (!held)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*held = (struct sim_held){object, count, graph->held};
	graph->held = held;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
				     unsigned int flags)
{
	if (!graph || !object || !count || flags & ~(unsigned int)CU_GRAPH_USER_OBJECT_MOVE)
		return CUDA_ERROR_INVALID_VALUE;
	if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
		sim_cuUserObjectRetain(object, count);
	return hold(graph, object, count);
}

CUresult sim_cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
	struct sim_held **at = graph ? &graph->held : NULL;

	while (at && *at && ((*at)->object != object || (*at)->count < count))
		at = &(*at)->next;
	if (!at || !*at || !count)
		return CUDA_ERROR_INVALID_VALUE;
	struct sim_held *held = *at;
	held->count -= count;
	if (!held->count) {
		*at = held->next;
		free(held);
	}
	return sim_cuUserObjectRelease(object, count);
}

/* A clone, and so an executable graph, holds references of its own. */
void sim_graph_hold_as(struct CUgraph_st *clone, const struct CUgraph_st *graph)
{
	for (const struct sim_held *held = graph->held; held; held = held->next)
		sim_cuGraphRetainUserObject(clone, held->object, held->count, 0);
}

void sim_graph_let_go(struct CUgraph_st *graph)
{
	while (graph->held) {
		struct sim_held *held = graph->held;

		graph->held = held->next;
		sim_cuUserObjectRelease(held->object, held->count);
		free(held);
	}
}
