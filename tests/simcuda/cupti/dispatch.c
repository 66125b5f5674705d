/* SPDX-License-Identifier: Apache-2.0
 *
 * What the driver tells CUPTI: turned into callbacks for the subscriber, exactly those it
 * subscribed to, and into activity records. Runs on the application's threads.
 */
#include "cupti/cupti_sim.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define EXTERNAL_DEPTH 16

/* Ids that this thread pushed, per kind. */
static __thread struct {
	uint64_t ids[CUPTI_EXTERNAL_CORRELATION_KIND_SIZE][EXTERNAL_DEPTH];
	int depth[CUPTI_EXTERNAL_CORRELATION_KIND_SIZE];
} external;

static void call_subscriber(CUpti_CallbackDomain domain, uint32_t cbid, const void *data)
{
	CUpti_CallbackFunc callback;
	void *user;

	do { /* the two of one subscriber: in between there is none */
		callback = cupti.callback;
		user = cupti.user;
	} while (callback != cupti.callback);
	if (!callback)
		return;
	cupti_lock();
	callback(user, domain, cbid, data);
	cupti_unlock();
}

static bool wants(unsigned int domain, uint32_t cbid)
{
	return cupti.subscribed && !cupti.dead && cbid < SIM_MAX_CBID &&
	       cupti.callbacks[domain][cbid];
}

static void die_of_fatal_error(void)
{
	CUpti_StateData state = {.notification = {CUPTI_ERROR_UNKNOWN, "simulated fatal error"}};

	cupti.table->truth("{\"truth\":\"fault\",\"fault\":\"fatal\"}\n");
	if (SIM_CUPTI_VERSION >= 20 && wants(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR))
		call_subscriber(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR, &state);
	cupti.dead = true;
}

static void call_back(struct sim_call *call, CUpti_ApiCallbackSite site)
{
	static _Atomic uint64_t calls;
	CUcontext context = cupti.table->current_context();
	CUpti_CallbackData data = {.callbackSite = site,
				   .functionName = call->name,
				   .functionParams = call->params,
				   .functionReturnValue =
					   site == CUPTI_API_EXIT ? &call->result : NULL,
				   .symbolName = call->symbol,
				   .context = context,
				   .contextUid = cupti.table->context_id(context),
				   .correlationData = &call->client_data,
				   .correlationId = call->correlation};

	call_subscriber((CUpti_CallbackDomain)call->domain, call->cbid, &data);
	if (site == CUPTI_API_EXIT && cupti.faults.fatal &&
	    atomic_fetch_add(&calls, 1) + 1 == cupti.faults.fatal)
		die_of_fatal_error();
}

static void on_call_enter(struct sim_call *call)
{
	if (wants(call->domain, call->cbid))
		call_back(call, CUPTI_API_ENTER);
}

static void write_external(const struct sim_call *call)
{
	for (int kind = 0; kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE; kind++)
		if (external.depth[kind])
			cupti_record_external(call->correlation,
					      (CUpti_ExternalCorrelationKind)kind,
					      external.ids[kind][external.depth[kind] - 1]);
}

static void on_call_exit(struct sim_call *call)
{
	if (wants(call->domain, call->cbid))
		call_back(call, CUPTI_API_EXIT);
	if (!cupti.api_wanted[call->domain][call->cbid] || !call->start)
		return;
	if (cupti.kinds[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION])
		write_external(call); /* one in front of each API record */
	cupti_record_api(call);
}

/* As CUPTI 13.0.1 did, once it could have no more buffers on the device. */
static void crash_of_pool(const struct sim_op *op)
{
	static _Atomic uint64_t kernels;

	if (cupti.faults.pool_crash && op->kind == SIM_OP_KERNEL && op->graph &&
	    atomic_fetch_add(&kernels, 1) >= cupti_attribute_device_kernels()) {
		cupti.table->truth("{\"truth\":\"fault\",\"fault\":\"pool_crash\"}\n");
		raise(SIGSEGV);
	}
}

/* A kernel is loaded when it is launched for the first time; of what its module takes there is a
 * record without a call. */
static void record_loading(const struct sim_op *op)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static const char *loaded[64];
	uint64_t now = cupti_time();
	size_t i = 0;

	pthread_mutex_lock(&mutex);
	while (i < 64 && loaded[i] && strcmp(loaded[i], op->kernel.name) != 0)
		i++;
	if (i < 64 && !loaded[i]) {
		loaded[i] = strdup(op->kernel.name);
		cupti_record_overhead((CUpti_ActivityOverheadKind)(4 << 16), /* module loading */
				      0, now - 900, now - 700);
		cupti_record_overhead((CUpti_ActivityOverheadKind)(5 << 16), /* lazy loading */
				      op->correlation, now - 600, now - 100);
	}
	pthread_mutex_unlock(&mutex);
}

/* Executable graphs that were made while GRAPH_TRACE was enabled, a bit each by their ids. */
#define EXECUTABLES 65536u
static _Atomic uint64_t made_for_trace[EXECUTABLES / 64];

static void note_executable(const struct sim_resource *what)
{
	uint32_t id = cupti.table->exec_id(what->exec) % EXECUTABLES;

	if (cupti.kinds[CUPTI_ACTIVITY_KIND_GRAPH_TRACE])
		made_for_trace[id / 64] |= (uint64_t)1 << id % 64;
}

/* As CUPTI 13.0.1 did in the launch of any other graph; of other versions it is not known. */
static void crash_of_graph(const struct sim_op *op)
{
	uint32_t id = op->graph % EXECUTABLES;

	if (op->kind != SIM_OP_GRAPH || made_for_trace[id / 64] >> id % 64 & 1)
		return;
	cupti.table->truth("{\"truth\":\"fault\",\"fault\":\"late_graph_trace\"}\n");
	raise(SIGSEGV);
}

static void on_operation(const struct sim_op *op)
{
	bool wanted = false;

	switch (op->kind) {
	case SIM_OP_KERNEL:
		wanted = cupti.kinds[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] ||
			 cupti.kinds[CUPTI_ACTIVITY_KIND_KERNEL];
		break;
	case SIM_OP_MEMCPY:
		wanted = cupti.kinds[op->copy.peer ? CUPTI_ACTIVITY_KIND_MEMCPY2
						   : CUPTI_ACTIVITY_KIND_MEMCPY];
		break;
	case SIM_OP_MEMSET:
		wanted = cupti.kinds[CUPTI_ACTIVITY_KIND_MEMSET];
		break;
	case SIM_OP_GRAPH:
		wanted = cupti.kinds[CUPTI_ACTIVITY_KIND_GRAPH_TRACE];
		break;
	}
	/* Whole graphs or their nodes, never both. */
	if (op->graph && op->kind != SIM_OP_GRAPH && cupti.whole_graphs)
		wanted = false;
	if (!wanted || cupti.dead)
		return;
	crash_of_pool(op);
	crash_of_graph(op);
	if (cupti.faults.loading && op->kind == SIM_OP_KERNEL)
		record_loading(op);
	cupti_pending_add(op);
}

static void call_back_graph(const struct sim_resource *what)
{
	CUpti_GraphData graph = {.graph = what->graph,
				 .originalGraph = what->original_graph,
				 .node = what->node,
				 .originalNode = what->original_node,
				 .nodeType = what->node_type,
				 .dependency = what->dependency,
				 .graphExec = what->exec};
	CUpti_ResourceData data = {.context = what->context, .resourceDescriptor = &graph};

	call_subscriber(CUPTI_CB_DOMAIN_RESOURCE, what->cbid, &data);
}

static void call_back_resource(const struct sim_resource *what)
{
	CUpti_ModuleResourceData module = {what->module_id, what->image_size, what->image};
	CUpti_ResourceData data = {.context = what->context};

	data.resourceHandle.stream = what->stream;
	if (what->module_id)
		data.resourceDescriptor = &module;
	call_subscriber(CUPTI_CB_DOMAIN_RESOURCE, what->cbid, &data);
}

static void tell_resource(const struct sim_resource *what)
{
	if (what->graph || what->exec || what->node)
		call_back_graph(what);
	else
		call_back_resource(what);
}

/* CUPTI 13.0 delivers what was not delivered when its context goes. The header is silent about it,
 * and NVIDIA's samples flush before they reset the device: of other versions nobody knows. */
static void lose_context(uint32_t context)
{
	if (!cupti.faults.lost_with_context)
		return;
	cupti_pending_lose(context);
	cupti_buffers_lose(context);
}

static void on_resource(const struct sim_resource *what)
{
	if (what->cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
		cupti_record_context(what);
	if (what->cbid == CUPTI_CBID_RESOURCE_STREAM_CREATED)
		cupti_record_stream(what);
	if (what->cbid == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED)
		note_executable(what);
	if (wants(CUPTI_CB_DOMAIN_RESOURCE, what->cbid))
		tell_resource(what);
	if (what->cbid == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)
		lose_context(what->context_id);
}

static void on_synchronized(const struct sim_sync *sync)
{
	CUpti_SynchronizeData data = {sync->context, sync->stream};
	uint32_t cbid = sync->kind == SIM_SYNC_STREAM ? CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED
						      : CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED;
	bool is_wait = sync->kind == SIM_SYNC_STREAM || sync->kind == SIM_SYNC_CONTEXT;

	cupti_record_sync(sync);
	if (is_wait && wants(CUPTI_CB_DOMAIN_SYNCHRONIZE, cbid))
		call_subscriber(CUPTI_CB_DOMAIN_SYNCHRONIZE, cbid, &data);
	if (is_wait)
		cupti_pending_flush(false);
	if (is_wait)
		cupti_unified_synchronized(sync);
}

static void dump_devices(void)
{
	for (int i = 0; i < cupti.table->device_count(); i++)
		cupti_record_device(i);
}

/* "CUPTI may switch to traditional semaphore-based tracing and return error through callback". */
static void give_up_hw_trace(void)
{
	CUpti_StateData state = {
		.notification = {(CUptiResult)cupti.faults.hw_trace_later, "simulated"}};

	if (!cupti.hw_trace || !cupti.faults.hw_trace_later)
		return;
	cupti.hw_trace = false;
	if (wants(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_ERROR))
		call_subscriber(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_ERROR, &state);
}

/* The message is the caller's no longer when the callback has returned. */
static void report_state(CUpti_CallbackIdState cbid, const char *text)
{
	char message[32];
	CUpti_StateData state = {.notification = {(CUptiResult)cupti.faults.report, message}};

	if (!cupti.faults.report || !wants(CUPTI_CB_DOMAIN_STATE, cbid))
		return;
	snprintf(message, sizeof(message), "%s", text);
	call_subscriber(CUPTI_CB_DOMAIN_STATE, cbid, &state);
	memset(message, 'X', sizeof(message));
}

static void report_states(void)
{
	report_state(CUPTI_CBID_STATE_WARNING, "simulated warning");
	report_state(CUPTI_CBID_STATE_ERROR, "simulated error");
}

static void on_initialised(void)
{
	give_up_hw_trace();
	report_states();

	dump_devices();
	if (wants(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED))
		call_subscriber(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED,
				NULL);
}

static void dump_resource(const struct sim_resource *what)
{
	if (what->cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
		cupti_record_context(what);
	else
		cupti_record_stream(what);
}

/* Records of what exists already. The two resource kinds cannot be distinguished by the walk, so a
 * dump of one may repeat the other when both are on; real clients drop such repetitions by id. */
void cupti_dump(CUpti_ActivityKind kind)
{
	if (!cupti.table->driver_ready())
		return;
	if (kind == CUPTI_ACTIVITY_KIND_DEVICE)
		dump_devices();
	if (kind == CUPTI_ACTIVITY_KIND_CONTEXT || kind == CUPTI_ACTIVITY_KIND_STREAM)
		cupti.table->walk(dump_resource);
}

const struct sim_client cupti_client = {
	.call_enter = on_call_enter,
	.call_exit = on_call_exit,
	.operation = on_operation,
	.resource = on_resource,
	.synchronized = on_synchronized,
	.host_function = cupti_record_host_function,
	.event_recorded = cupti_record_event,
	.memory = cupti_record_memory,
	.initialised = on_initialised,
};

CUptiResult CUPTIAPI cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
							    uint64_t id)
{
	if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID ||
	    kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE || external.depth[kind] == EXTERNAL_DEPTH)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	external.ids[kind][external.depth[kind]++] = id;
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
							   uint64_t *last)
{
	if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID ||
	    kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	if (!external.depth[kind])
		return cupti_fail(CUPTI_ERROR_QUEUE_EMPTY);
	external.depth[kind]--;
	if (last)
		*last = external.ids[kind][external.depth[kind]];
	return CUPTI_SUCCESS;
}
