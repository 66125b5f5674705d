/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU work inside and outside of what --capture-range may ask for, step by step as the arguments
 * say:
 *
 *   work=N                  N rounds of three operations; waits for them
 *   launch=N                the same, without the wait
 *   graph, replay=N         a round captured as a graph, N launches of it
 *   replays=N               the same, and another thread as many, each with a copy of the graph
 *   nothing                 copies and sets of no bytes
 *   Start, Stop             cudaProfilerStart, cudaProfilerStop
 *   cuStart, cuStop         cuProfilerStart, cuProfilerStop
 *   push=NAME, pop          an NVTX range; of another domain: push=NAME@DOMAIN, pop=DOMAIN
 *   registered=NAME         as push, with a registered name
 *   begin=NAME, end         nvtxRangeStart, nvtxRangeEnd of the last one
 *   beside=NAME             another thread: push=NAME, work=5, pop
 *   rest-until              nothing until the next gate opens (tests/gate.h)
 *   work-until              rounds, with a pause of 1 ms, until the next gate opens
 *   flood-until             rounds, each in a range, with a pause of 0.3 ms, until then
 *   steps-until             ranges ProfilerStep#N of 3 rounds each until then, and 200 more
 *   rest=MS                 nothing for so long
 *   kill, USR2, segv        SIGKILL, SIGUSR2, a fault
 *   child=HOW               forks a child that gets SIGUSR2: from its parent (own), from another
 *                           child (other); prints how it ended
 *   handle                  from now on SIGUSR2 is handled: prints "handled"
 *   exit=N, _exit=N         the end
 *
 * Exit status 3.
 */
#include <cuda_profiler_api.h>
#include <cudaProfiler.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/descriptors.h"
#include "tests/gate.h"
#include "tests/reliability/device.h"

static struct device device;
static nvtxRangeId_t last;
static cudaGraphExec_t graph, copy;
static int gates;

static void launch(const char *count)
{
	if (!device.kernel)
		open_device(&device);
	for (int i = 0; i < atoi(count); i++)
		one_round(&device);
}

static void work(const char *count)
{
	launch(count);
	check((int)cudaStreamSynchronize(device.stream), "cudaStreamSynchronize");
}

static void work_until(const char *value)
{
	for (gates++; !gate_is_open(gates); usleep(1000))
		work("1");
}

static void flood_until(const char *value)
{
	for (gates++; !gate_is_open(gates); usleep(300)) {
		nvtxRangePushA("flood");
		work("1");
		nvtxRangePop();
	}
}

static void one_step(int number)
{
	char name[32];

	snprintf(name, sizeof(name), "ProfilerStep#%d", number);
	nvtxRangePushA(name);
	work("3");
	nvtxRangePop();
	usleep(1000);
}

static void steps_until(const char *value)
{
	int number = 0;

	for (gates++; !gate_is_open(gates);)
		one_step(number++);
	for (int i = 0; i < 200; i++)
		one_step(number++);
}

/* One round in a graph. */
static void make_graph(const char *value)
{
	cudaGraph_t made;

	if (!device.kernel)
		open_device(&device);
	check((int)cudaStreamBeginCapture(device.stream, cudaStreamCaptureModeRelaxed),
	      "cudaStreamBeginCapture");
	one_round(&device);
	check((int)cudaStreamEndCapture(device.stream, &made), "cudaStreamEndCapture");
	check((int)cudaGraphInstantiate(&graph, made, 0), "cudaGraphInstantiate");
	check((int)cudaGraphInstantiate(&copy, made, 0), "cudaGraphInstantiate");
}

static void replay(const char *count)
{
	for (int i = 0; i < atoi(count); i++)
		check((int)cudaGraphLaunch(graph, device.stream), "cudaGraphLaunch");
	check((int)cudaStreamSynchronize(device.stream), "cudaStreamSynchronize");
}

static void *replay_copy(void *count)
{
	struct device own;

	open_device(&own);
	for (long i = 0; i < (long)(intptr_t)count; i++) {
		check((int)cudaGraphLaunch(copy, own.stream), "cudaGraphLaunch");
		check((int)cudaStreamSynchronize(own.stream), "cudaStreamSynchronize");
	}
	return NULL;
}

static void replays(const char *count)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, replay_copy, (void *)(intptr_t)atol(count)),
	      "pthread_create");
	for (int i = 0; i < atoi(count); i++) {
		check((int)cudaGraphLaunch(graph, device.stream), "cudaGraphLaunch");
		check((int)cudaStreamSynchronize(device.stream), "cudaStreamSynchronize");
	}
	check(pthread_join(thread, NULL), "pthread_join");
}

static void nothing(const char *value)
{
	CUdeviceptr address = (CUdeviceptr)(uintptr_t)device.data;

	check((int)cudaMemcpyAsync(device.data, &device, 0, cudaMemcpyHostToDevice, device.stream),
	      "cudaMemcpyAsync");
	check((int)cudaMemset(device.data, 0, 0), "cudaMemset");
	check((int)cudaMemset2DAsync(device.data, 64, 0, 16, 0, device.stream),
	      "cudaMemset2DAsync");
	check((int)cuMemcpyDtoDAsync(address, address, 0, device.stream), "cuMemcpyDtoDAsync");
	check((int)cuMemsetD32Async(address, 0, 0, device.stream), "cuMemsetD32Async");
}

static void start(const char *value)
{
	check((int)cudaProfilerStart(), "cudaProfilerStart");
}

static void stop(const char *value)
{
	check((int)cudaProfilerStop(), "cudaProfilerStop");
}

static void cu_start(const char *value)
{
	check((int)cuProfilerStart(), "cuProfilerStart");
}

static void cu_stop(const char *value)
{
	check((int)cuProfilerStop(), "cuProfilerStop");
}

static void push(const char *name)
{
	nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
					    .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
					    .messageType = NVTX_MESSAGE_TYPE_ASCII};
	const char *at = strchr(name, '@');
	char text[80];

	if (!at) {
		nvtxRangePushA(name);
		return;
	}
	snprintf(text, sizeof(text), "%.*s", (int)(at - name), name);
	attributes.message.ascii = text;
	nvtxDomainRangePushEx(nvtxDomainCreateA(at + 1), &attributes);
}

static void push_registered(const char *name)
{
	nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
					    .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
					    .messageType = NVTX_MESSAGE_TYPE_REGISTERED};

	attributes.message.registered = nvtxDomainRegisterStringA(NULL, name);
	nvtxRangePushEx(&attributes);
}

static void pop(const char *domain)
{
	if (domain)
		nvtxDomainRangePop(nvtxDomainCreateA(domain));
	else
		nvtxRangePop();
}

static void begin(const char *name)
{
	last = nvtxRangeStartA(name);
}

static void end(const char *value)
{
	nvtxRangeEnd(last);
}

static void *other(void *name)
{
	check((int)cudaFree(NULL), "cudaFree"); /* the context is current here, too */
	push(name);
	work("5");
	pop(NULL);
	return NULL;
}

static void beside(const char *name)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, other, (void *)(uintptr_t)name), "pthread_create");
	check(pthread_join(thread, NULL), "pthread_join");
}

static void kill_self(const char *value)
{
	kill(getpid(), SIGKILL);
}

static void send_usr2(const char *value)
{
	kill(getpid(), SIGUSR2);
}

/* Waits for a byte. */
static pid_t fork_waiting(int fds[2])
{
	char byte;
	pid_t child;

	check(pipe(fds), "pipe");
	fflush(stdout);
	child = fork();
	if (child)
		return child;
	close(fds[1]);
	_exit(read(fds[0], &byte, 1) < 0 ? 9 : 6);
}

static void make_child(const char *how)
{
	int fds[2], status;
	pid_t child = fork_waiting(fds), other = strcmp(how, "other") ? 0 : fork();

	if (!other)
		kill(child, SIGUSR2);
	if (!other && !strcmp(how, "other"))
		_exit(0);
	if (other)
		check(waitpid(other, NULL, 0) != other, "waitpid");
	check(write(fds[1], "", 1) != 1, "write");
	check(waitpid(child, &status, 0) != child, "waitpid");
	printf("child: %s %d\n", WIFSIGNALED(status) ? "signal" : "status",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static volatile int *volatile nowhere;

static void fault(const char *value)
{
	*nowhere = 0;
}

static void print_handled(int number)
{
	static const char text[] = "handled\n";

	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(9);
}

static void handle(const char *value)
{
	signal(SIGUSR2, print_handled);
}

static void end_now(const char *status)
{
	exit(atoi(status));
}

static void end_at_once(const char *status)
{
	_exit(atoi(status));
}

static void rest(const char *ms)
{
	usleep((useconds_t)atoi(ms) * 1000);
}

static void rest_until(const char *value)
{
	wait_at_gate(++gates);
}

static const struct {
	const char *name;
	void (*run)(const char *value);
} steps[] = {
	{"work", work},
	{"launch", launch},
	{"nothing", nothing},
	{"Start", start},
	{"Stop", stop},
	{"cuStart", cu_start},
	{"cuStop", cu_stop},
	{"push", push},
	{"registered", push_registered},
	{"pop", pop},
	{"begin", begin},
	{"end", end},
	{"beside", beside},
	{"graph", make_graph},
	{"replay", replay},
	{"replays", replays},
	{"rest-until", rest_until},
	{"work-until", work_until},
	{"flood-until", flood_until},
	{"steps-until", steps_until},
	{"kill", kill_self},
	{"USR2", send_usr2},
	{"segv", fault},
	{"child", make_child},
	{"handle", handle},
	{"exit", end_now},
	{"_exit", end_at_once},
	{"rest", rest},
};

static void step(const char *word)
{
	size_t length = strcspn(word, "=");

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (!strncmp(word, steps[i].name, length) && !steps[i].name[length])
			steps[i].run(word[length] ? word + length + 1 : NULL);
}

int main(int argc, char **argv)
{
	note_descriptors();
	for (int i = 1; i < argc; i++)
		step(argv[i]);
	check((int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	puts("done");
	print_descriptors();
	return 3;
}
