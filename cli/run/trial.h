/* SPDX-License-Identifier: Apache-2.0
 *
 * A trial run for `gputrace doctor`: a child process with the tracer in it uses the GPU for a
 * moment, and its trace tells what really happened: which CUPTI, which unwinder, and if records
 * came. Main thread.
 */
#ifndef GT_CLI_RUN_TRIAL_H
#define GT_CLI_RUN_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

/* What the trial run of doctor found. */
struct gt_trial {
	char step[64];    /* driver call that failed, empty: all succeeded */
	int32_t error;    /* its CUresult; -1: there is no such call or no libcuda.so.1 */
	char detail[256]; /* what the loader said, or empty */
	int32_t driver;   /* cuDriverGetVersion, 0: not known */
	int32_t devices;
	char device[128]; /* name of the first one */
	bool has_trace;   /* the rest is from the trace */
	char mode[32], mode_reason[256], unwinder[64], cupti_path[256];
	int64_t cupti_version; /* 0: none */
	int64_t operations;    /* on the GPU, 1 expected */
};

/* What the child does: uses the GPU by the driver API and prints what gt_trial_run reads. Returns
 * the exit status. */
int gt_trial_child(void);

/* Runs @self (this program) as such a child with @library in it, traces into a folder of its own
 * that is removed again. 0, or negative errno when no child could be run. */
int gt_trial_run(const char *self, const char *library, struct gt_trial *ret_trial);

#endif
