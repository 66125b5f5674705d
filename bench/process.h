/* SPDX-License-Identifier: Apache-2.0
 *
 * Figures of the workload's own process, from /proc. Main thread.
 */
#ifndef GT_BENCH_PROCESS_H
#define GT_BENCH_PROCESS_H

/* Processor time of all threads of this process that are called @name, ns. */
double gt_bench_thread_cpu(const char *name);

/* Largest resident memory so far, KiB. */
long gt_bench_peak_rss(void);

#endif
