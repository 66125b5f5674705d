/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph and GRAPH_TRACE in any order, to tell which order CUPTI does not survive. Not listed:
 * `STEPS=Dmskgl probes graph-steps` does them one by one and prints each; what is printed last is
 * where it crashed. Without steps of CUPTI it is a program to be traced.
 */
#include <cudaProfiler.h>
#include <dlfcn.h>

#include "probes.h"

#define LENGTH   3
#define LAUNCHES 10
#define GRAPHS   8

static struct {
	CUgraph graph;
	CUgraphExec executable;
} made[GRAPHS];
static unsigned count, launches;

static CUpti_SubscriberHandle subscriber;

/* The runtime's functions, which take the driver's handles. */
static int (*runtime_instantiate)(CUgraphExec *executable, CUgraph graph, unsigned long long flags);
static int (*runtime_launch)(CUgraphExec executable, CUstream stream);

static int load(void)
{
	if (!rig.cupti.cuptiGetVersion)
		rig_load();
	return 0;
}

static void CUPTIAPI see_nothing(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
				 const void *data)
{
	(void)user;
	(void)domain;
	(void)id;
	(void)data;
}

static int subscribe(void)
{
	load();
	rig.cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
	return (int)rig.cupti.cuptiSubscribe(&subscriber, see_nothing, NULL);
}

static int unsubscribe(void)
{
	return (int)rig.cupti.cuptiUnsubscribe(subscriber);
}

static int resources(void)
{
	return (int)rig.cupti.cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE);
}

static int calls(void)
{
	return (int)rig.cupti.cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
}

static int buffers(void)
{
	load();
	return (int)rig_register();
}

static int buffers_refused(void)
{
	rig.refuse_buffers = !rig.refuse_buffers;
	return 0;
}

static int kernels_on(void)
{
	return (int)rig.cupti.cuptiActivityEnable(KERNEL);
}

static int kernels_off(void)
{
	return (int)rig.cupti.cuptiActivityDisable(KERNEL);
}

static int graphs_on(void)
{
	return (int)rig.cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
}

static int graphs_off(void)
{
	return (int)rig.cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
}

static int device(void)
{
	rig_use_device();
	return 0;
}

static int instantiate(CUgraph graph)
{
	made[count].graph = graph;
	if (count + 1 == GRAPHS)
		exit(CANNOT_TRY);
	if (runtime_instantiate)
		return runtime_instantiate(&made[count++].executable, graph, 0);
	return (int)cuGraphInstantiate(&made[count++].executable, graph, 0);
}

static int make(void)
{
	return instantiate(probe_chain(LENGTH));
}

static int capture(void)
{
	CUgraph graph;
	int error = (int)cuStreamBeginCapture(rig.stream, CU_STREAM_CAPTURE_MODE_GLOBAL);

	for (int i = 0; !error && i < LENGTH; i++)
		rig_launch();
	if (!error)
		error = (int)cuStreamEndCapture(rig.stream, &graph);
	return error ? error : instantiate(graph);
}

static int make_again(void)
{
	return count ? instantiate(made[count - 1].graph) : CANNOT_TRY;
}

static int update(void)
{
	CUgraphExecUpdateResultInfo info;

	return count ? (int)cuGraphExecUpdate(made[count - 1].executable, probe_chain(LENGTH),
					      &info)
		     : CANNOT_TRY;
}

static int upload(void)
{
	return count ? (int)cuGraphUpload(made[count - 1].executable, rig.stream) : CANNOT_TRY;
}

static int destroy(void)
{
	return count ? (int)cuGraphExecDestroy(made[--count].executable) : CANNOT_TRY;
}

static int launch_one(unsigned which)
{
	int error = which < count ? 0 : CANNOT_TRY;

	for (int i = 0; !error && i < LAUNCHES; i++) {
		launches++;
		error = runtime_launch ? runtime_launch(made[which].executable, rig.stream)
				       : (int)cuGraphLaunch(made[which].executable, rig.stream);
	}
	return error;
}

static int launch_last(void)
{
	return launch_one(count - 1);
}

static int launch_first(void)
{
	return launch_one(0);
}

static int kernel(void)
{
	rig_launch();
	return 0;
}

static int wait(void)
{
	return (int)cuCtxSynchronize();
}

static int flush(void)
{
	return wait() ? CANNOT_TRY : (int)rig.cupti.cuptiActivityFlushAll(0);
}

static int pause_shortly(void)
{
	return usleep(300000);
}

static int profiler_start(void)
{
	return (int)cuProfilerStart();
}

static int profiler_stop(void)
{
	return (int)cuProfilerStop();
}

static int use_runtime(void)
{
	static const char *const names[] = {"libcudart.so.13",
					    "/usr/local/cuda/lib64/libcudart.so.13"};
	void *library = NULL;

	for (size_t i = 0; !library && i < sizeof(names) / sizeof(names[0]); i++)
		library = dlopen(names[i], RTLD_NOW);
	if (!library)
		return CANNOT_TRY;
	*(void **)&runtime_instantiate = dlsym(library, "cudaGraphInstantiate");
	*(void **)&runtime_launch = dlsym(library, "cudaGraphLaunch");
	return runtime_instantiate && runtime_launch ? 0 : CANNOT_TRY;
}

static const struct {
	char letter;
	const char *what;
	int (*do_it)(void);
} steps[] = {
	{'s', "subscribe", subscribe},
	{'S', "unsubscribe", unsubscribe},
	{'r', "callbacks of resources", resources},
	{'c', "callbacks of calls", calls},
	{'b', "register buffers", buffers},
	{'-', "refuse buffers, or no longer", buffers_refused},
	{'k', "enable kernels", kernels_on},
	{'K', "disable kernels", kernels_off},
	{'g', "enable GRAPH_TRACE", graphs_on},
	{'G', "disable GRAPH_TRACE", graphs_off},
	{'D', "cuInit, context, stream", device},
	{'R', "from now on by the runtime", use_runtime},
	{'m', "make a graph, instantiate it", make},
	{'M', "capture a graph, instantiate it", capture},
	{'i', "instantiate the last one again", make_again},
	{'x', "update the last one", update},
	{'u', "upload the last one", upload},
	{'X', "destroy the last one", destroy},
	{'l', "launch the last one", launch_last},
	{'L', "launch the first one", launch_first},
	{'n', "launch a kernel", kernel},
	{'w', "wait", wait},
	{'f', "wait and flush", flush},
	{'z', "sleep for 0.3 s", pause_shortly},
	{'p', "cuProfilerStart", profiler_start},
	{'P', "cuProfilerStop", profiler_stop},
};

static void take(char letter)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (steps[i].letter != letter)
			continue;
		printf("%c %s: ", letter, steps[i].what);
		fflush(stdout);
		printf("%d\n", steps[i].do_it());
		return;
	}
	printf("%c: no such step\n", letter);
	exit(CANNOT_TRY);
}

bool probe_graph_steps(void)
{
	const char *wanted = getenv("STEPS");

	for (; wanted && *wanted; wanted++)
		take(*wanted);
	return probe_seen(true, "%u launches of %d kernels: %u graph records, %u kernel records",
			  launches, LENGTH, rig_count(CUPTI_ACTIVITY_KIND_GRAPH_TRACE),
			  rig.kernels);
}
