/* SPDX-License-Identifier: Apache-2.0
 *
 * What is measured, and under what. bench/workload.c holds the work of each name.
 */
#include "cli/bench/bench.h"

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NONE          ((const char *const[]){NULL})

const struct gt_bench_workload gt_bench_workloads[] = {
	/* name, title, launches a part, parts, rate, quick, runtime */
	{"loop", "empty kernels, 1 thread", 5000, 20, 0, true, false},
	{"loop4", "empty kernels, 4 threads", 2000, 20, 0, false, false},
	{"loop16", "empty kernels, 16 threads", 500, 20, 0, false, false},
	{"sets", "cudaMemsetAsync, 1 thread", 5000, 20, 0, true, true},
	{"queries", "12 000 a second, 9 that ask each", 0, 4, 12000, false, true},
	{"rate1k", "1 000 launches a second", 0, 4, 1000, false, false},
	{"rate10k", "10 000 launches a second", 0, 4, 10000, false, false},
	{"rate100k", "100 000 launches a second", 0, 4, 100000, false, false},
	{"rate200k", "200 000 launches a second", 0, 4, 200000, false, false},
	{"rate300k", "300 000 launches a second", 0, 4, 300000, false, false},
	{"graph", "graph of 100 nodes", 5000, 20, 0, true, false},
	{"copies", "4 KiB to the device", 5000, 20, 0, false, false},
	{"blocks", "cuMemAlloc and cuMemFree", 1000, 20, 0, false, false},
	{"decode", "300 kernels, one wait", 3000, 20, 0, true, false},
	{"writes", "a byte to /dev/null", 5000, 20, 0, false, false},
	{"locks", "a lock that nobody holds", 5000, 20, 0, false, false},
	{"products", "products of cuBLAS", 1000, 20, 0, false, false},
	{"transforms", "transforms of cuFFT", 1000, 20, 0, false, false},
	{"convolutions", "convolutions of cuDNN", 1000, 20, 0, false, false},
};
const size_t gt_bench_workload_count = sizeof(gt_bench_workloads) / sizeof(gt_bench_workloads[0]);

/* NVTX is off where it is not what is measured. The order is that of the split: what is subtracted
 * from what stands in report.c. */
const struct gt_bench_level gt_bench_levels[] = {
	{"none", "no tracer", GT_BENCH_PLAIN, false, GT_BENCH_ALWAYS, NONE},
	{"preload", "preloaded, off", GT_BENCH_PRELOAD, false, GT_BENCH_ALWAYS,
	 SETTINGS("GPUTRACE_MODE=off", "GPUTRACE_NVTX=off")},
	{"floor", "floor: CUPTI alone", GT_BENCH_FLOOR, false, GT_BENCH_ALWAYS, NONE},
	{"floor-shared", "floor, one buffer for all", GT_BENCH_FLOOR, false, GT_BENCH_NAMED,
	 SETTINGS("GPUTRACE_FLOOR_PER_THREAD=0")},
	{"floor-8K", "floor, buffers of 8 KiB", GT_BENCH_FLOOR, false, GT_BENCH_NAMED,
	 SETTINGS("GPUTRACE_FLOOR_BUFFER=8192")},
	{"floor-64K", "floor, buffers of 64 KiB", GT_BENCH_FLOOR, false, GT_BENCH_NAMED,
	 SETTINGS("GPUTRACE_FLOOR_BUFFER=65536")},
	{"floor-1M", "floor, buffers of 1 MiB", GT_BENCH_FLOOR, false, GT_BENCH_NAMED,
	 SETTINGS("GPUTRACE_FLOOR_BUFFER=1048576")},
	{"hooks", "calls by hooks, no CUPTI", GT_BENCH_PRELOAD, false, GT_BENCH_ALWAYS,
	 SETTINGS("GPUTRACE_MODE=hooks", "GPUTRACE_STACKS=off", "GPUTRACE_NVTX=off")},
	{"kernels", "GPU work alone", GT_BENCH_INJECT, false, GT_BENCH_ALWAYS,
	 SETTINGS("GPUTRACE_API=none", "GPUTRACE_STACKS=off", "GPUTRACE_NVTX=off")},
	{"minimal", "--level=minimal", GT_BENCH_INJECT, false, GT_BENCH_ALWAYS,
	 SETTINGS("GPUTRACE_LEVEL=minimal")},
	{"calls", "GPU work and calls", GT_BENCH_INJECT, false, GT_BENCH_ALWAYS,
	 SETTINGS("GPUTRACE_STACKS=off", "GPUTRACE_NVTX=off")},
	{"stacks", "+ native stacks", GT_BENCH_INJECT, false, GT_BENCH_ALWAYS,
	 SETTINGS("GPUTRACE_NVTX=off")},
	{"threshold", "stacks of calls of 1 ms", GT_BENCH_INJECT, false, GT_BENCH_NAMED,
	 SETTINGS("GPUTRACE_STACK_THRESHOLD=1ms", "GPUTRACE_NVTX=off")},
	{"watchdog", "+ native stacks, --watchdog", GT_BENCH_INJECT, false, GT_BENCH_NAMED,
	 SETTINGS("GPUTRACE_WATCHDOG=60s", "GPUTRACE_NVTX=off")},
	{"outside", "outside of the window", GT_BENCH_INJECT, false, GT_BENCH_NAMED,
	 SETTINGS("GPUTRACE_DELAY=1h", "GPUTRACE_NVTX=off")},
	{"waiting", "waiting for gputrace start", GT_BENCH_INJECT, false, GT_BENCH_NAMED,
	 SETTINGS("GPUTRACE_WAIT=yes", "GPUTRACE_CONTROL=on", "GPUTRACE_NVTX=off")},
	{"between", "between two windows", GT_BENCH_INJECT, false, GT_BENCH_NAMED,
	 SETTINGS("GPUTRACE_DURATION=1ms", "GPUTRACE_CONTROL=on", "GPUTRACE_NVTX=off")},
	{"switching", "windows of 10 of 40 graphs", GT_BENCH_INJECT, false, GT_BENCH_NAMED,
	 SETTINGS("GPUTRACE_CAPTURE_RANGE=cudaGraphLaunch:10", "GPUTRACE_SCHEDULE=0,3,0,1",
		  "GPUTRACE_NVTX=off")},
	{"recorder", "native stacks, flight recorder", GT_BENCH_INJECT, false, GT_BENCH_NAMED,
	 SETTINGS("GPUTRACE_FLIGHT_RECORDER=30s,256M", "GPUTRACE_DUMP_AT_EXIT=never",
		  "GPUTRACE_NVTX=off")},
	{"whole", "native stacks, whole graphs", GT_BENCH_INJECT, false, GT_BENCH_NAMED,
	 SETTINGS("GPUTRACE_NVTX=off", "GPUTRACE_GRAPHS=whole")},
	{"memory", "native stacks, --memory", GT_BENCH_INJECT, false, GT_BENCH_NAMED,
	 SETTINGS("GPUTRACE_NVTX=off", "GPUTRACE_MEMORY=yes")},
	{"unified", "native stacks, --unified-memory", GT_BENCH_INJECT, false, GT_BENCH_NAMED,
	 SETTINGS("GPUTRACE_NVTX=off", "GPUTRACE_UNIFIED_MEMORY=yes")},
	{"nvml", "native stacks, --nvml", GT_BENCH_INJECT, false, GT_BENCH_NAMED,
	 SETTINGS("GPUTRACE_NVTX=off", "GPUTRACE_NVML=10")},
	{"osrt", "native stacks, --osrt", GT_BENCH_INJECT, false, GT_BENCH_NAMED,
	 SETTINGS("GPUTRACE_NVTX=off", "GPUTRACE_OSRT=1s")},
	{"cublas", "native stacks, cuBLAS", GT_BENCH_INJECT, false, GT_BENCH_NAMED,
	 SETTINGS("GPUTRACE_NVTX=off", "GPUTRACE_LIBRARIES=cublas")},
	{"cufft", "native stacks, cuFFT", GT_BENCH_INJECT, false, GT_BENCH_NAMED,
	 SETTINGS("GPUTRACE_NVTX=off", "GPUTRACE_LIBRARIES=cufft")},
	{"cudnn", "native stacks, cuDNN", GT_BENCH_INJECT, false, GT_BENCH_NAMED,
	 SETTINGS("GPUTRACE_NVTX=off", "GPUTRACE_LIBRARIES=cudnn")},
	{"python", "+ Python stacks", GT_BENCH_INJECT, true, GT_BENCH_ALWAYS,
	 SETTINGS("GPUTRACE_NVTX=off")},
	{"nvtx", "native stacks + NVTX", GT_BENCH_INJECT, false, GT_BENCH_ALWAYS, NONE},
	{"full", "--level=full, Python", GT_BENCH_INJECT, true, GT_BENCH_ALWAYS,
	 SETTINGS("GPUTRACE_LEVEL=full")},
	{"pftrace", "native stacks, .pftrace", GT_BENCH_INJECT, false, GT_BENCH_ALWAYS,
	 SETTINGS("GPUTRACE_NVTX=off", "GPUTRACE_FORMAT=perfetto")},
	{"torch", "torch.profiler", GT_BENCH_TORCH, true, GT_BENCH_PEERS, SETTINGS("False")},
	{"torch-stack", "torch.profiler with_stack", GT_BENCH_TORCH, true, GT_BENCH_PEERS,
	 SETTINGS("True")},
	{"nsys", "nsys profile", GT_BENCH_NSYS, false, GT_BENCH_PEERS, SETTINGS("--sample=none")},
	{"nsys-stack", "nsys with backtraces", GT_BENCH_NSYS, false, GT_BENCH_PEERS,
	 SETTINGS("--sample=process-tree", "--cudabacktrace=all:0")},
};
const size_t gt_bench_level_count = sizeof(gt_bench_levels) / sizeof(gt_bench_levels[0]);

_Static_assert(sizeof(gt_bench_levels) / sizeof(gt_bench_levels[0]) <= GT_BENCH_MAX_LEVELS, "room");
_Static_assert(sizeof(gt_bench_workloads) / sizeof(gt_bench_workloads[0]) <= GT_BENCH_MAX_WORKLOADS,
	       "room");
