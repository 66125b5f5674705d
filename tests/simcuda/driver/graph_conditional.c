/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditional nodes. Only kernels can change a condition, and kernels compute nothing: it keeps the
 * value that it has by default. A loop whose condition holds runs once, as nobody would end it.
 */
#include "driver/graph.h"

#include <stdlib.h>

#include <cupti_callbacks.h>

CUresult sim_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *ret_handle, CUgraph graph,
					    CUcontext context, unsigned int default_value,
					    unsigned int flags)
{
	struct sim_condition *condition = NULL;

	if (!ret_handle || !graph || flags & ~(unsigned int)CU_GRAPH_COND_ASSIGN_DEFAULT)
		return CUDA_ERROR_INVALID_VALUE;
	condition = malloc(sizeof(*condition)); /* kept: clones of the graph name it as well */
	if (!condition)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*condition = (struct sim_condition){default_value, flags};
	*ret_handle = (CUgraphConditionalHandle)(uintptr_t)condition;
	return CUDA_SUCCESS;
}

static bool size_fits(CUgraphConditionalNodeType type, unsigned int size)
{
	if (type == CU_GRAPH_COND_TYPE_WHILE)
		return size == 1;
	if (type == CU_GRAPH_COND_TYPE_IF)
		return size == 1 || size == 2;
	return type == CU_GRAPH_COND_TYPE_SWITCH && size;
}

static struct sim_conditional *conditional_new(CUgraphConditionalNodeType type, unsigned int size,
					       const struct sim_condition *condition)
{
	struct sim_conditional *conditional =
		calloc(1, sizeof(*conditional) + size * sizeof(conditional->bodies[0]));

	if (conditional) {
		conditional->type = type;
		conditional->size = size;
		conditional->condition = condition;
	}
	return conditional;
}

CUresult sim_graph_conditional_work(CUDA_CONDITIONAL_NODE_PARAMS *params, struct sim_work *ret_work)
{
	if (!params || !params->handle || !size_fits(params->type, params->size))
		return CUDA_ERROR_INVALID_VALUE;
	struct sim_conditional *conditional =
		conditional_new(params->type, params->size,
				(const struct sim_condition *)(uintptr_t)params->handle);
	if (!conditional)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned int i = 0; i < params->size; i++) {
		conditional->bodies[i] = sim_graph_new();
		if (conditional->bodies[i])
			sim_graph_tell(CUPTI_CBID_RESOURCE_GRAPH_CREATED, conditional->bodies[i],
				       NULL, NULL);
	}
	params->phGraph_out = conditional->bodies;
	*ret_work = (struct sim_work){.kind = SIM_WORK_CONDITIONAL, .conditional = conditional};
	return CUDA_SUCCESS;
}

struct sim_conditional *sim_conditional_clone(const struct sim_conditional *from)
{
	struct sim_conditional *clone = conditional_new(from->type, from->size, from->condition);

	for (unsigned int i = 0; clone && i < from->size; i++)
		clone->bodies[i] = sim_graph_clone(from->bodies[i]);
	return clone;
}

void sim_conditional_free(struct sim_conditional *conditional)
{
	for (unsigned int i = 0; conditional && i < conditional->size; i++)
		sim_graph_free(conditional->bodies[i]);
	free(conditional);
}

/* The body that runs, or NULL. */
CUgraph sim_conditional_body(const struct sim_conditional *conditional)
{
	bool is_set = conditional->condition->flags & CU_GRAPH_COND_ASSIGN_DEFAULT;
	unsigned int value = is_set ? conditional->condition->default_value : 0;
	unsigned int chosen = value;

	if (conditional->type != CU_GRAPH_COND_TYPE_SWITCH)
		chosen = value ? 0 : 1; /* a loop has no second body */
	return chosen < conditional->size ? conditional->bodies[chosen] : NULL;
}
