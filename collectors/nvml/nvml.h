/* SPDX-License-Identifier: Apache-2.0
 *
 * Power, clocks and health of the GPUs that the program uses, from NVML, on a thread of ours: some
 * of its calls take long, and in a process whose driver hangs none returns. What it opens (a
 * descriptor for the driver and one for each GPU) lies in the process, so it is off unless asked
 * for. A GPU is found by its UUID: NVML knows nothing of CUDA_VISIBLE_DEVICES.
 *
 *   library.h  libnvidia-ml.so.1
 *   read.h     one value of one GPU
 */
#ifndef GT_COLLECTORS_NVML_NVML_H
#define GT_COLLECTORS_NVML_NVML_H

#include <stdbool.h>
#include <stdint.h>

#include "core/schema/health.h"

/* What a sample is besides an enum gt_health_reading: news of a GPU. */
enum gt_nvml_news {
	GT_NVML_XID = GT_HEALTH_READINGS_, /* value: its number */
	GT_NVML_FAILED,                    /* it is no longer asked; value: NVML's result */
	GT_NVML_SHARED,                    /* an instance of a GPU, whose values these are */
};

/* One value, or news of a GPU. */
struct gt_nvml_sample {
	uint64_t at;     /* CLOCK_MONOTONIC ns */
	uint64_t value;  /* of a reading in NVML's units */
	uint32_t device; /* as in gt_nvml_watch */
	uint32_t what;   /* enum gt_health_reading or enum gt_nvml_news */
};

/* Counters since the start. */
struct gt_nvml_counts {
	uint64_t read;   /* values that NVML gave */
	uint64_t lost;   /* of those to be written: dropped, too many waited */
	uint64_t failed; /* that it refused with an error */
};

/* Forgets all of an earlier session. Before gt_nvml_run. @hz: rounds per second. */
void gt_nvml_configure(uint32_t hz);

/* The thread's work; returns after gt_nvml_stop. @unused: a thread's argument. */
void *gt_nvml_run(void *unused);

/* Reads the GPU with this UUID ("GPU-..." or "MIG-...", less than 64 bytes) from now on, as device
 * @device. Those from 64 on, and a second time, are ignored. Drain thread. */
void gt_nvml_watch(uint32_t device, const char *uuid);

/* Whether it is to read at all, as it does from the start on. To be called in each round: it looks
 * for calls that do not return, too. Drain thread. */
void gt_nvml_set_active(bool active);

/* A call of NVML has lasted for more than a second. Any thread. */
bool gt_nvml_is_stuck(void);

/* The next value in the order of reading. False: none. Drain thread. */
bool gt_nvml_take(struct gt_nvml_sample *ret_sample);

/* Why there is nothing to read, in words; NULL: there may be. Any thread. */
const char *gt_nvml_why_not(void);

/* NVML's own version: the driver's; empty until it is known. Any thread. */
const char *gt_nvml_driver(void);

/* Any thread. */
struct gt_nvml_counts gt_nvml_count(void);

/* Ends the thread; waits for it for @timeout_ns at most. */
void gt_nvml_stop(uint64_t timeout_ns);

#endif
