/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's callback, on application threads, often with locks of the driver held. An API callback
 * becomes gt_call_enter or gt_call_exit; the others are rare. No CUPTI call here but those that
 * only look something up: before a context is destroyed, a thread of ours flushes, and the call
 * waits for it for a while.
 */
#include "collectors/call/call.h"
#include "collectors/cupti/contexts.h"
#include "collectors/cupti/cupti.h"
#include "collectors/cupti/graph_nodes.h"
#include "collectors/cupti/internal.h"
#include "collectors/cupti/library/blocks.h"
#include "collectors/cupti/library/extents.h"
#include "collectors/cupti/library/streams.h"
#include "collectors/cupti/notice.h"
#include "collectors/cupti/relay.h"
#include "collectors/cupti/unified.h"
#include "collectors/cupti/whole_graphs.h"
#include "collectors/trigger/trigger.h"
#include "core/guest/forkguard.h"
#include "core/schema/cuda_api.h"

static enum gt_api_domain domain_of(CUpti_CallbackDomain domain)
{
	return domain == CUPTI_CB_DOMAIN_RUNTIME_API ? GT_API_RUNTIME : GT_API_DRIVER;
}

static bool is_api(CUpti_CallbackDomain domain)
{
	return domain == CUPTI_CB_DOMAIN_RUNTIME_API || domain == CUPTI_CB_DOMAIN_DRIVER_API;
}

/* Both result types are 32-bit enums with 0 for success. */
static int32_t result_of(const CUpti_CallbackData *data)
{
	return data->functionReturnValue ? *(const int32_t *)data->functionReturnValue : 0;
}

/* Records of a context may be lost when it is destroyed (REQ-39). Only when no other context is
 * left, those of work in progress are forced out: CUPTI never delivers them again. */
static void flush_before(enum gt_api_domain domain, uint32_t cbid, const CUpti_CallbackData *data)
{
	enum gt_cupti_left left = gt_cupti_contexts_after(domain, cbid, data->functionParams);

	if (left != GT_CUPTI_LEFT_ALL)
		gt_cupti_fetch_aside(left == GT_CUPTI_LEFT_NONE);
}

/* What few calls want to be done before them. */
static void prepare(enum gt_api_domain domain, uint32_t cbid, const CUpti_CallbackData *data)
{
	const struct gt_cuda_api *api = gt_cuda_api_find(domain, cbid);

	if (!api)
		return;
	if (api->class == GT_CUDA_GRAPH_LAUNCH)
		gt_trigger_graph(domain);
	if (api->flags & GT_CUDA_FLUSH_BEFORE)
		flush_before(domain, cbid, data);
	else if (api->flags & GT_CUDA_PROFILER)
		gt_trigger_call(domain, cbid);
}

static bool is_recorded(enum gt_api_domain domain, uint32_t cbid)
{
	if (atomic_load_explicit(&gt_cupti.silent, memory_order_relaxed))
		return false;
	return !gt_cupti_contexts_is_retain(domain, cbid) ||
	       atomic_load_explicit(&gt_cupti.records_retains, memory_order_relaxed);
}

/* The device of a context, asked for once; contexts of later numbers share places. */
static uint32_t device_of(const CUpti_CallbackData *data)
{
	static _Atomic uint64_t known[64]; /* id of a context, its device */
	_Atomic uint64_t *place = &known[data->contextUid % 64];
	uint64_t word = atomic_load_explicit(place, memory_order_relaxed);
	uint32_t device;

	if (!data->context || !data->contextUid)
		return GT_BLOCK_NO_DEVICE;
	if (word >> 32 == data->contextUid)
		return (uint32_t)word;
	if (!gt_cupti.api.cuptiGetDeviceId ||
	    gt_cupti.api.cuptiGetDeviceId(data->context, &device) != CUPTI_SUCCESS)
		return GT_BLOCK_NO_DEVICE;
	atomic_store_explicit(place, (uint64_t)data->contextUid << 32 | device,
			      memory_order_relaxed);
	return device;
}

static void set_block(enum gt_api_domain domain, uint32_t cbid, const CUpti_CallbackData *data,
		      struct gt_block *block, bool failed)
{
	if (block->device == GT_BLOCK_NO_DEVICE)
		block->device = device_of(data);
	block->context = data->contextUid;
	gt_call_set_block(domain, cbid, block, failed);
}

/* --memory. Behind a reset there is no context any more. */
static void look_at_blocks(enum gt_api_domain domain, uint32_t cbid, bool is_entry,
			   const CUpti_CallbackData *data)
{
	struct gt_block block = {.op = GT_BLOCK_RESET, .device = GT_BLOCK_NO_DEVICE};
	bool failed = !is_entry && result_of(data) != 0;

	if (is_entry ? gt_cupti_ends_blocks(domain, cbid)
		     : gt_cupti_block_of(domain, cbid, data->functionParams, failed, &block))
		set_block(domain, cbid, data, &block, failed);
}

static bool reads_blocks(void)
{
	return __builtin_expect(atomic_load_explicit(&gt_cupti.reads_blocks, memory_order_relaxed),
				0);
}

static void enter(enum gt_api_domain domain, uint32_t cbid, const CUpti_CallbackData *data)
{
	struct gt_cupti_stream stream;

	gt_call_enter(domain, cbid, data->correlationId);
	if (gt_cupti_stream_of(domain, cbid, data->functionParams, &stream))
		gt_call_aim(stream.handle, stream.is_launch ? (uint64_t)data->symbolName : 0,
			    data->contextUid);
	if (__builtin_expect(gt_cupti_is_of_nothing(domain, cbid, data->functionParams), 0))
		gt_call_mark_empty(domain, cbid);
	if (reads_blocks())
		look_at_blocks(domain, cbid, true, data);
}

static void leave(enum gt_api_domain domain, uint32_t cbid, const CUpti_CallbackData *data)
{
	if (reads_blocks())
		look_at_blocks(domain, cbid, false, data);
	gt_call_exit(domain, cbid, result_of(data));
}

static void on_api(CUpti_CallbackDomain cupti_domain, uint32_t cbid, const CUpti_CallbackData *data)
{
	enum gt_api_domain domain = domain_of(cupti_domain);
	bool is_entry = data->callbackSite == CUPTI_API_ENTER;

	if (is_entry)
		prepare(domain, cbid, data);
	else if (gt_cupti_contexts_is_retain(domain, cbid) && result_of(data) == 0)
		gt_cupti_contexts_retained(data->functionParams);
	if (!is_recorded(domain, cbid))
		return;
	if (is_entry)
		enter(domain, cbid, data);
	else
		leave(domain, cbid, data);
}

static void on_init_finished(void)
{
	if (!atomic_exchange(&gt_cupti.init_finished, true) && gt_cupti.user.on_init_finished)
		gt_cupti.user.on_init_finished();
}

/* CUPTI's id of a node, as in the records of its replays; 0: not available. */
static uint64_t node_id(CUgraphNode node)
{
	uint64_t id = 0;

	if (!node || !gt_cupti.api.cuptiGetGraphNodeId ||
	    gt_cupti.api.cuptiGetGraphNodeId(node, &id) != CUPTI_SUCCESS)
		return 0;
	return id;
}

/* CUPTI's id of a graph, as in the records of its launches; 0: not available. */
static uint32_t graph_id(CUgraph graph)
{
	uint32_t id = 0;

	if (!graph || !gt_cupti.api.cuptiGetGraphId ||
	    gt_cupti.api.cuptiGetGraphId(graph, &id) != CUPTI_SUCCESS)
		return 0;
	return id;
}

static const CUpti_GraphData *graph_of(const CUpti_ResourceData *data)
{
	return data ? data->resourceDescriptor : NULL;
}

/* Also called while a graph is cloned or instantiated: then the stack of the original node is the
 * better one. */
static void on_node_created(const CUpti_ResourceData *data)
{
	const CUpti_GraphData *graph = graph_of(data);

	gt_call_mark_captured();
	if (graph && gt_cupti_graphs_are_whole())
		gt_graph_nodes_added(graph_id(graph->graph), gt_call_open_stack());
	else if (graph)
		gt_graph_nodes_created(node_id(graph->node), gt_call_open_stack());
}

static void on_node_cloned(const CUpti_ResourceData *data)
{
	const CUpti_GraphData *graph = graph_of(data);

	if (graph && gt_cupti_graphs_are_whole())
		gt_graph_nodes_copied(graph_id(graph->graph), graph_id(graph->originalGraph));
	else if (graph)
		gt_graph_nodes_cloned(node_id(graph->node), node_id(graph->originalNode));
}

static void on_initialised(const CUpti_ResourceData *data)
{
	(void)data;
	gt_cupti_unified_retry();
	on_init_finished();
}

/* CU_INIT_FINISHED does not come from every CUPTI. */
static void on_context_created(const CUpti_ResourceData *data)
{
	(void)data;
	gt_cupti_contexts_created();
	gt_cupti_unified_retry();
	on_init_finished();
}

static void on_context_destroyed(const CUpti_ResourceData *data)
{
	(void)data;
	gt_cupti_contexts_destroyed();
}

static void (*const on_resource[CUPTI_CBID_RESOURCE_SIZE])(const CUpti_ResourceData *) = {
	[CUPTI_CBID_RESOURCE_CU_INIT_FINISHED] = on_initialised,
	[CUPTI_CBID_RESOURCE_CONTEXT_CREATED] = on_context_created,
	[CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING] = on_context_destroyed,
	[CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED] = on_node_created,
	[CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED] = on_node_cloned,
};

static void on_state(CUpti_CallbackId cbid, const void *data)
{
	const CUpti_StateData *state = data;

	if (cbid != CUPTI_CBID_STATE_FATAL_ERROR) {
		if (state)
			gt_cupti_notice_put(cbid == CUPTI_CBID_STATE_WARNING,
					    (int)state->notification.result,
					    state->notification.message);
		return;
	}
	atomic_store(&gt_cupti.dead, true);
	atomic_store(&gt_cupti.fatal, state && state->notification.message
					      ? state->notification.message
					      : "CUPTI reported a fatal error");
	if (gt_cupti.user.on_failed)
		gt_cupti.user.on_failed();
}

static void dispatch_resource(CUpti_CallbackId cbid, const void *data)
{
	if (cbid < CUPTI_CBID_RESOURCE_SIZE && on_resource[cbid])
		on_resource[cbid](data);
}

static void dispatch(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
	if (!atomic_load_explicit(&gt_cupti.active, memory_order_relaxed))
		return;
	if (is_api(domain))
		on_api(domain, cbid, data);
	else if (domain == CUPTI_CB_DOMAIN_RESOURCE)
		dispatch_resource(cbid, data);
	else if (domain == CUPTI_CB_DOMAIN_STATE)
		on_state(cbid, data);
}

/* Of a call, what the other tool does lies outside our times. */
static void dispatch_to_both(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
	const CUpti_CallbackData *call = data;
	bool is_entry = is_api(domain) && call->callbackSite == CUPTI_API_ENTER;

	if (is_entry)
		gt_cupti_relay_callback(domain, cbid, data);
	if (gt_cupti_callbacks_has(&gt_cupti.wanted, domain, cbid))
		dispatch(domain, cbid, data);
	if (!is_entry)
		gt_cupti_relay_callback(domain, cbid, data);
}

void CUPTIAPI gt_cupti_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
				const void *data)
{
	(void)user;
	if (!gt_forkguard_holds())
		return;
	if (gt_cupti_relay_has_callbacks())
		dispatch_to_both(domain, cbid, data);
	else
		dispatch(domain, cbid, data);
}
