/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of CUDA graphs. See probes.def.
 */
#include <sys/wait.h>

#include "probes.h"

CUgraph probe_chain(int length)
{
	void *arguments[] = {&rig.memory};
	CUDA_KERNEL_NODE_PARAMS node = {.func = rig.kernel,
					.gridDimX = 1,
					.gridDimY = 1,
					.gridDimZ = 1,
					.blockDimX = 32,
					.blockDimY = 1,
					.blockDimZ = 1,
					.kernelParams = arguments};
	CUgraphNode before, made = NULL;
	CUgraph graph;

	if (cuGraphCreate(&graph, 0))
		exit(CANNOT_TRY);
	for (int i = 0; i < length; i++) {
		before = made;
		if (cuGraphAddKernelNode(&made, graph, &before, i > 0, &node))
			exit(CANNOT_TRY);
	}
	return graph;
}

/* A chain of @length kernels as a graph that can be launched. */
static CUgraphExec make_chain(int length)
{
	CUgraphExec executable;

	if (cuGraphInstantiate(&executable, probe_chain(length), 0))
		exit(CANNOT_TRY);
	return executable;
}

/* Launches it @times; a flush after each @every, 0: at the end. */
static void launch_flushing(CUgraphExec executable, int times, size_t every)
{
	for (int i = 0; i < times; i++) {
		if (cuGraphLaunch(executable, rig.stream))
			exit(CANNOT_TRY);
		if (every && i % (int)every == 0)
			rig_flush(0);
	}
	rig_flush(0);
}

static void run_chain_flushing(int length, int times, size_t every)
{
	launch_flushing(make_chain(length), times, every);
}

static void run_chain(int length, int times)
{
	run_chain_flushing(length, times, 0);
}

static void run_graph(int times)
{
	run_chain(3, times);
}

bool probe_graph_kernels_share_correlation(void)
{
	const struct rig_callback *first, *second;
	unsigned of_first = 0, of_second = 0;
	const CUpti_ActivityKernel9 *kernel;

	rig_start();
	run_graph(2);
	first = rig_find_callback(DRIVER, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, CUPTI_API_ENTER,
				  0);
	second = rig_find_callback(DRIVER, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, CUPTI_API_ENTER,
				   1);
	if (!first || !second)
		return probe_seen(false, "no callback of the graph launch");
	for (unsigned n = 0; (kernel = rig_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, n)); n++) {
		of_first += kernel->correlationId == first->correlation;
		of_second += kernel->correlationId == second->correlation;
	}
	return probe_seen(of_first == 3 && of_second == 3, "%u and %u of 3 and 3", of_first,
			  of_second);
}

/* The first callback @id that reported a node with @graph_node_id; NULL: none. */
static const struct rig_callback *node_told(CUpti_CallbackId id, uint64_t graph_node_id)
{
	const struct rig_callback *callback;

	for (unsigned n = 0; (callback = rig_find_callback(CUPTI_CB_DOMAIN_RESOURCE, id, 0, n));
	     n++) {
		if (callback->graph_node_id == graph_node_id)
			return callback;
	}
	return NULL;
}

bool probe_graph_node_ids_are_the_clones(void)
{
	const struct rig_callback *as_clone, *as_new, *made;
	const CUpti_ActivityKernel9 *kernel;
	unsigned cloned = 0, created = 0, created_first = 0, kernels = 0;

	rig_start();
	run_graph(2);
	for (; (kernel = rig_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, kernels)); kernels++) {
		as_clone = node_told(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, kernel->graphNodeId);
		as_new = node_told(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, kernel->graphNodeId);
		cloned += as_clone != NULL;
		created += as_new != NULL;
		created_first += as_clone && as_new && as_new < as_clone;
	}
	kernel = rig_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
	made = rig_find_callback(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 0,
				 0);
	return probe_seen(
		kernels == 6 && cloned == 6,
		"of %u kernels %u have the id of a clone, %u that of a created node, told before "
		"that it is a clone: %u; ids: first node made %llx, first kernel %llx",
		kernels, cloned, created, created_first,
		made ? (unsigned long long)made->graph_node_id : 0,
		kernel ? (unsigned long long)kernel->graphNodeId : 0);
}

bool probe_graphs_use_up_device_buffers(void)
{
	size_t bytes = 256u << 10, limit = 4, size = sizeof(size_t);

	rig_open();
	rig.cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &bytes);
	rig.cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &size,
					    &limit);
	rig_use_device();
	run_graph(20000);
	return probe_seen(rig.kernels == 60000, "%u of %u kernels without times",
			  rig.untimed_kernels, rig.kernels);
}

bool probe_graph_trace_replaces_nodes(void)
{
	CUptiResult error;
	unsigned graphs;

	rig_open();
	error = rig.cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
	rig_use_device();
	run_graph(10);
	graphs = rig_count(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
	return probe_seen(
		!error && graphs == 10 && rig.kernels == 0,
		"result %d, of 10 launches of 3 kernels: %u graph records, %u kernel records",
		error, graphs, rig.kernels);
}

static void launch_late(void)
{
	CUgraphExec executable;

	rig_start();
	executable = make_chain(3);
	rig.cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
	launch_flushing(executable, 10, 0);
	probe_seen(true, "of 10 launches of 3 kernels: %u graph records, %u kernel records",
		   rig_count(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), rig.kernels);
	exit(0);
}

/* In a child, as this one crashes with CUPTI 13.0.1: the tracer must never do it. */
bool probe_late_graph_trace(void)
{
	pid_t child = fork();
	int status = 0;

	if (!child)
		launch_late();
	if (child < 0 || waitpid(child, &status, 0) < 0)
		exit(CANNOT_TRY);
	if (WIFSIGNALED(status))
		return probe_seen(true, "no: the launch is killed by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status) == 0;
}

#define NODES   100
#define REPLAYS 10000

static size_t free_memory(void)
{
	size_t available = 0, total;

	cuMemGetInfo(&available, &total);
	return available;
}

static size_t setting(const char *name, size_t otherwise)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 0) : otherwise;
}

static void print_used(const char *when, size_t before)
{
	printf("%s: %u records, %u without times, %zu MiB more in use\n", when, rig.kernels,
	       rig.untimed_kernels, (before - free_memory()) >> 20);
}

static void open_limited(size_t limit, size_t bytes)
{
	size_t size = sizeof(size_t);

	rig_open();
	if (bytes)
		rig.cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size,
						    &bytes);
	printf("limit: result %d\n",
	       rig.cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT,
						   &size, &limit));
}

/* Not listed: LIMIT buffers of BYTES on the device, ROUNDS of REPLAYS launches of a graph of NODES
 * kernels, with GRAPH=0 of as many kernels without a graph; a flush after FLUSH_EVERY launches;
 * with LATE=1 the limit is set behind cuInit, with CUPTI=0 nobody traces. */
bool probe_run_out(void)
{
	size_t every = setting("FLUSH_EVERY", 0), rounds = setting("ROUNDS", 10), before;

	rig.count_only = true;
	if (setting("LATE", 0) || !setting("CUPTI", 1))
		rig_use_device();
	if (setting("CUPTI", 1))
		open_limited(setting("LIMIT", 250), setting("BYTES", 0));
	if (!rig.context)
		rig_use_device();
	run_chain(NODES, 1);
	before = free_memory();
	for (size_t i = 0; i < rounds; i++) {
		if (setting("GRAPH", 1))
			run_chain_flushing(NODES, (int)setting("REPLAYS", 1000), every);
		else
			for (size_t k = 0; k < setting("REPLAYS", 1000) * NODES; k++)
				rig_launch();
		print_used("round", before);
	}
	rig_flush(0);
	print_used("end", before);
	return rig.kernels == (rounds * setting("REPLAYS", 1000) + 1) * NODES;
}

/* --gpu-memory sets this limit, to 4 at least: with 2 CUPTI 13.0 crashes. Kernels without times are
 * no part of the claim. */
bool probe_pool_limit_is_kept(void)
{
	size_t limit = 4, size = sizeof(limit), before, after;
	CUptiResult error;

	rig.count_only = true;
	rig_open();
	error = rig.cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT,
						    &size, &limit);
	rig_use_device();
	run_chain(NODES, 1);
	before = free_memory();
	run_chain(NODES, REPLAYS);
	after = free_memory();
	return probe_seen(!error && after + (16u << 20) >= before &&
				  rig.kernels == NODES * (REPLAYS + 1),
			  "result %d, %zu MiB free before, %zu after; %u kernels, %u without times",
			  error, before >> 20, after >> 20, rig.kernels, rig.untimed_kernels);
}
