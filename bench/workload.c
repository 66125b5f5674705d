/* SPDX-License-Identifier: Apache-2.0
 *
 * What `gputrace bench` measures under each tracer: small pieces of CUDA work. Prints their host
 * time per launch, one "key value" per line. Not linked with CUDA: the driver and, if available,
 * the runtime are loaded at run time; the kernel is PTX text.
 *
 *   workload NAME PARTS LAUNCHES DEPTH
 *
 * PARTS times LAUNCHES launches per thread, DEPTH own frames deep. Reports the median of the parts,
 * by wall clock and by the thread's processor time, which other load on the machine affects less.
 * Between parts, not measured, the tracer has time to write. Each launch is inside an NVTX range,
 * which costs two jumps if no tool is attached.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#include "bench/device.h"
#include "bench/process.h"

#define MAX_PARTS     1000
#define MAX_RATE_PART 100000
#define MAX_THREADS   16
#define GRAPH_NODES   100
#define STEP_KERNELS  300
#define COPY_BYTES    4096
#define SIZE          8  /* of the matrices */
#define PATH_FRAMES   20 /* one bit of a call path each */
#define PAUSE_NS      10000000
#define COLD_BYTES    ((size_t)4 << 20) /* more than a core's own caches */
#define CACHE_LINE    64

struct workload {
	const char *name;
	int threads;
	int per_call; /* launches per call of op */
	int (*op)(CUstream stream);
	long rate;      /* launches per second; 0: unlimited */
	int sync_every; /* calls; 0: after each part, not measured */
	int (*prepare)(struct gt_bench_device *device); /* NULL: only the driver */
	bool cold; /* between calls the thread uses COLD_BYTES of its own */
};

static struct gt_bench_device device;
static const struct workload *chosen;
static long parts, launches;
static int depth;

static double read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, long count)
{
	qsort(values, (size_t)count, sizeof(*values), compare);
	return count ? values[count / 2] : 0;
}

/* ---- launches ---- */

static int launch_kernel(CUstream stream)
{
	return (int)device.cu.launch(device.kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
}

/* A call path of its own for each launch, as in code that was just compiled: each frame takes the
 * branch that a bit of @path says. */
static int other_branch(uint32_t path, int left, CUstream stream);
static __attribute__((noinline)) int one_branch(uint32_t path, int left, CUstream stream)
{
	int error = !left      ? launch_kernel(stream)
		    : path & 1 ? other_branch(path >> 1, left - 1, stream)
			       : one_branch(path >> 1, left - 1, stream);

	__asm__ volatile("" ::: "memory");
	return error;
}

static __attribute__((noinline)) int other_branch(uint32_t path, int left, CUstream stream)
{
	int error = !left      ? launch_kernel(stream)
		    : path & 1 ? one_branch(path >> 1, left - 1, stream)
			       : other_branch(path >> 1, left - 1, stream);

	__asm__ volatile("" ::: "memory");
	return error;
}

static int launch_on_a_new_path(CUstream stream)
{
	static uint32_t path;

	return one_branch(path++, PATH_FRAMES, stream);
}

static int copy(CUstream stream)
{
	return (int)device.cu.copy_to_device(device.memory, device.host, COPY_BYTES, stream);
}

static int set(CUstream stream)
{
	return device.memset_async((void *)(uintptr_t)device.memory, 0, COPY_BYTES, stream);
}

static int allocate_and_free(CUstream stream)
{
	CUdeviceptr memory;
	int error = (int)device.cu.allocate(&memory, COPY_BYTES);

	(void)stream;
	return error ? error : (int)device.cu.free(memory);
}

/* As PyTorch does around each launch: it asks for the device before and behind each step of its
 * own, whether the stream is captured, for errors. */
static int ask_and_launch(CUstream stream)
{
	int number, error = 0;

	for (int i = 0; i < 2; i++) {
		nvtxRangePushA(i ? "aten::empty_strided"
				 : "aten::add, seq = 1, sizes = [[8, 256]]");
		for (int k = 0; k < 3; k++)
			error |= device.get_device(&number);
		error |= device.is_capturing(stream, &number);
	}
	nvtxRangePop();
	error |= launch_kernel(stream) | device.last_error();
	nvtxRangePop();
	return error;
}

static int replay(CUstream stream)
{
	return (int)device.cu.graph_launch(device.graph, stream);
}

static int make_graph(struct gt_bench_device *of)
{
	return gt_bench_device_graph(of, GRAPH_NODES);
}

/* Matrices that lie behind each other in the device's few bytes. */
static int multiply(CUstream stream)
{
	static const float one = 1, none = 0;
	static CUstream last;
	CUdeviceptr a = device.memory, b = a + COPY_BYTES / 4, c = b + COPY_BYTES / 4;

	if (stream != last && device.set_stream(device.cublas, stream))
		return 1;
	last = stream;
	return device.sgemm(device.cublas, 0, 0, SIZE, SIZE, SIZE, &one, (void *)(uintptr_t)a, SIZE,
			    (void *)(uintptr_t)b, SIZE, &none, (void *)(uintptr_t)c, SIZE);
}

static int transform(CUstream stream)
{
	static CUstream last;
	void *points = (void *)(uintptr_t)device.memory;

	if (stream != last && device.plan_stream(device.plan, stream))
		return 1;
	last = stream;
	return device.transform(device.plan, points, points, -1);
}

/* Algorithm 0 is the one that needs no room of its own. */
static int convolve(CUstream stream)
{
	static const float one = 1, none = 0;
	static CUstream last;
	const struct gt_bench_network *n = &device.network;
	char *x = (char *)(uintptr_t)device.memory, *w = x + COPY_BYTES / 4,
	     *y = w + COPY_BYTES / 4;

	if (stream != last && n->set_stream(n->handle, stream))
		return 1;
	last = stream;
	return n->forward(n->handle, &one, n->tensor, x, n->filter, w, n->window, 0, NULL, 0, &none,
			  n->tensor, y);
}

/* Algorithm 0 is the default. */
static int multiply_sparse(CUstream stream)
{
	static const float one = 1, none = 0;
	static CUstream last;
	const struct gt_bench_sparse *s = &device.sparse;

	if (stream != last && s->set_stream(s->handle, stream))
		return 1;
	last = stream;
	return s->multiply(s->handle, 0, &one, s->matrix, s->vector, &none, s->vector, 0, 0, NULL);
}

/* Of 8 x 8, which needs less room than there is. */
static int factorize(CUstream stream)
{
	static CUstream last;
	const struct gt_bench_solver *s = &device.solver;
	float *a = (float *)(uintptr_t)device.memory;

	if (stream != last && s->set_stream(s->handle, stream))
		return 1;
	last = stream;
	return s->factorize(s->handle, 0, 8, a, 8, a + 256, 512, (int *)(a + 128));
}

/* Calls of the operating system that return at once: --osrt reads the clock around them. */
static int write_byte(CUstream stream)
{
	static int null = -1;

	(void)stream;
	if (null < 0)
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	return write(null, "", 1) != 1;
}

static int lock(CUstream stream)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	(void)stream;
	return pthread_mutex_lock(&mutex) | pthread_mutex_unlock(&mutex);
}

static const struct workload workloads[] = {
	/* name, threads, launches per call, call, rate, synchronize every, what it needs, cold */
	{"loop", 1, 1, launch_kernel, 0, 0, NULL, false},
	{"loop4", 4, 1, launch_kernel, 0, 0, NULL, false},
	{"loop16", 16, 1, launch_kernel, 0, 0, NULL, false},
	{"sets", 1, 1, set, 0, 0, gt_bench_device_runtime, false},
	{"queries", 1, 1, ask_and_launch, 12000, 0, gt_bench_device_runtime, false},
	{"rate1k", 1, 1, launch_kernel, 1000, 0, NULL, false},
	{"rate10k", 1, 1, launch_kernel, 10000, 0, NULL, false},
	{"rate100k", 1, 1, launch_kernel, 100000, 0, NULL, false},
	{"rate200k", 1, 1, launch_kernel, 200000, 0, NULL, false},
	{"rate300k", 1, 1, launch_kernel, 300000, 0, NULL, false},
	{"rate400k", 1, 1, launch_kernel, 400000, 0, NULL, false},
	{"graph", 1, GRAPH_NODES, replay, 0, 0, make_graph, false},
	{"copies", 1, 1, copy, 0, 0, NULL, false},
	{"blocks", 1, 1, allocate_and_free, 0, 0, NULL, false},
	{"decode", 1, 1, launch_kernel, 0, STEP_KERNELS, NULL, false},
	{"writes", 1, 1, write_byte, 0, 0, NULL, false},
	{"locks", 1, 1, lock, 0, 0, NULL, false},
	{"products", 1, 1, multiply, 0, 0, gt_bench_device_cublas, false},
	{"transforms", 1, 1, transform, 0, 0, gt_bench_device_cufft, false},
	{"convolutions", 1, 1, convolve, 0, 0, gt_bench_device_cudnn, false},
	{"sparse", 1, 1, multiply_sparse, 0, 0, gt_bench_device_cusparse, false},
	{"factors", 1, 1, factorize, 0, 0, gt_bench_device_cusolver, false},
	{"cold", 1, 1, set, 0, 0, gt_bench_device_runtime, true},
	{"newstacks", 1, 1, launch_on_a_new_path, 0, 0, NULL, false},
};

static const struct workload *find(const char *name)
{
	for (size_t i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++)
		if (!strcmp(workloads[i].name, name))
			return &workloads[i];
	return NULL;
}

/* ---- one thread ---- */

struct job {
	CUstream stream;
	double ns, cpu_ns; /* per launch */
	int failed;
};

static void one(struct job *job)
{
	nvtxRangePushA("launch");
	job->failed |= chosen->op(job->stream);
	nvtxRangePop();
}

struct part {
	double ns, cpu_ns;
};

static struct part part_at_full_speed(struct job *job)
{
	long calls = launches / chosen->per_call;
	double each = (double)(calls * chosen->per_call);
	double cpu = read_clock(CLOCK_THREAD_CPUTIME_ID), start = now();
	struct part part;

	for (long i = 1; i <= calls; i++) {
		one(job);
		if (chosen->sync_every && i % chosen->sync_every == 0)
			job->failed |= (int)device.cu.stream_synchronize(job->stream);
	}
	part.ns = (now() - start) / each;
	part.cpu_ns = (read_clock(CLOCK_THREAD_CPUTIME_ID) - cpu) / each;
	job->failed |= (int)device.cu.stream_synchronize(job->stream);
	return part;
}

/* Makes each call when it is due and reports the median call, including one clock read; the
 * thread's processor time is too coarse for that. */
static struct part part_at_a_rate(struct job *job)
{
	static double inside[MAX_RATE_PART];
	double period = 1e9 / (double)chosen->rate, next = now(), start, ns;

	for (long i = 0; i < launches; i++) {
		while ((start = now()) < next)
			;
		one(job);
		inside[i] = now() - start;
		next += period;
	}
	job->failed |= (int)device.cu.stream_synchronize(job->stream);
	ns = median(inside, launches);
	return (struct part){ns, ns};
}

/* The median call, when what is between the calls has taken the core's caches. */
static struct part part_with_cold_caches(struct job *job)
{
	static double inside[MAX_RATE_PART];
	static volatile char other[COLD_BYTES];
	double start, ns;

	for (long i = 0; i < launches; i++) {
		for (size_t at = 0; at < COLD_BYTES; at += CACHE_LINE)
			other[at]++;
		start = now();
		one(job);
		inside[i] = now() - start;
	}
	job->failed |= (int)device.cu.stream_synchronize(job->stream);
	ns = median(inside, launches);
	return (struct part){ns, ns};
}

static __attribute__((noinline)) void measure(struct job *job)
{
	static const struct timespec pause = {0, PAUSE_NS};
	double ns[MAX_PARTS], cpu_ns[MAX_PARTS];

	for (long i = 0; i < parts; i++) {
		struct part part = chosen->rate   ? part_at_a_rate(job)
				   : chosen->cold ? part_with_cold_caches(job)
						  : part_at_full_speed(job);

		ns[i] = part.ns;
		cpu_ns[i] = part.cpu_ns;
		if (!chosen->rate)
			nanosleep(&pause, NULL);
	}
	job->ns = median(ns, parts);
	job->cpu_ns = median(cpu_ns, parts);
}

/* Frames of different functions, as in real programs. */
#define FRAME(name, next)                                                                          \
	static __attribute__((noinline)) void name(int left, struct job *job)                      \
	{                                                                                          \
		if (left > 0)                                                                      \
			next(left - 1, job);                                                       \
		else                                                                               \
			measure(job);                                                              \
		__asm__ volatile("" ::: "memory");                                                 \
	}
static void frame_a(int left, struct job *job);
FRAME(frame_d, frame_a)
FRAME(frame_c, frame_d)
FRAME(frame_b, frame_c)
FRAME(frame_a, frame_b)

/* The first call of a thread is not measured. */
static void *run(void *argument)
{
	struct job *job = argument;

	job->failed = (int)device.cu.context_set(device.context) |
		      (int)device.cu.stream_create(&job->stream, CU_STREAM_NON_BLOCKING);
	if (!job->failed) {
		one(job);
		frame_a(depth, job);
	}
	return NULL;
}

/* ---- all threads ---- */

static int run_threads(struct part *ret_part)
{
	struct job jobs[MAX_THREADS] = {0};
	pthread_t ids[MAX_THREADS];
	double ns[MAX_THREADS], cpu_ns[MAX_THREADS];
	int failed = 0, started = 1;

	while (!failed && started < chosen->threads) {
		failed = pthread_create(&ids[started], NULL, run, &jobs[started]);
		started += !failed;
	}
	if (!failed)
		run(&jobs[0]);            /* on this thread: under Python its frames are below */
	for (int i = 1; i < started; i++) /* their jobs are on this stack */
		pthread_join(ids[i], NULL);
	if (failed)
		return failed;
	for (int i = 0; i < chosen->threads; i++) {
		ns[i] = jobs[i].ns;
		cpu_ns[i] = jobs[i].cpu_ns;
		failed |= jobs[i].failed;
	}
	ret_part->ns = median(ns, chosen->threads);
	ret_part->cpu_ns = median(cpu_ns, chosen->threads);
	return failed;
}

/* The best of some rounds, as other processes use the machine too. */
static double clock_read(void)
{
	double best = 0, start, took;

	for (int round = 0; round < 50; round++) {
		start = now();
		for (int i = 0; i < 1000; i++)
			now();
		took = (now() - start) / 1000;
		best = round && best < took ? best : took;
	}
	return best;
}

static int fail(const char *what, int error)
{
	printf("failed %s (%d)\n", what, error);
	return 1;
}

static int prepare(void)
{
	int error = gt_bench_device_open(&device, COPY_BYTES);

	return !error && chosen->prepare ? chosen->prepare(&device) : error;
}

static void report(const struct part *part, double wall, double drain)
{
	printf("device %s\nsimulated %d\n", device.name, device.simulated);
	printf("ns %.1f\ncpu_ns %.1f\nlaunches %ld\n", part->ns, part->cpu_ns,
	       parts * (launches / chosen->per_call) * chosen->per_call * chosen->threads);
	printf("wall_ns %.0f\ndrain_ns %.0f\nclock_ns %.1f\nrss_kib %ld\n", wall, drain,
	       clock_read(), gt_bench_peak_rss());
}

int gt_bench_workload(int argc, char **argv);

__attribute__((visibility("default"))) int gt_bench_workload(int argc, char **argv)
{
	struct part part = {0};
	double start, drain;
	int error;

	chosen = argc == 5 ? find(argv[1]) : NULL;
	parts = chosen ? strtol(argv[2], NULL, 10) : 0;
	launches = chosen ? strtol(argv[3], NULL, 10) : 0;
	depth = chosen ? (int)strtol(argv[4], NULL, 10) : 0;
	if (!chosen || parts < 1 || parts > MAX_PARTS || launches < chosen->per_call ||
	    (chosen->rate && launches > MAX_RATE_PART))
		return fail("usage: workload NAME PARTS LAUNCHES DEPTH", EINVAL);
	error = prepare();
	if (error)
		return fail(device.failed ? device.failed : "?", error);
	start = now();
	drain = gt_bench_thread_cpu("gputrace-w");
	error = run_threads(&part);
	if (error)
		return fail("a launch", error);
	report(&part, now() - start, gt_bench_thread_cpu("gputrace-w") - drain);
	fflush(stdout);
	return 0;
}
