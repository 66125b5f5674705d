/* SPDX-License-Identifier: Apache-2.0
 *
 * What the workload tells of its own process. Main thread.
 */
#ifndef GT_BENCH_PROCESS_H
#define GT_BENCH_PROCESS_H

/* Nanoseconds on a processor of all threads of this process that are called @name. */
double gt_bench_thread_cpu(const char *name);

/* Largest resident memory so far, KiB. */
long gt_bench_peak_rss(void);

#endif
