/* SPDX-License-Identifier: Apache-2.0
 *
 * The traces of one job: files and folders of ranks, read in parallel, ordered by rank. Starts and
 * joins its own threads; call from one thread.
 */
#ifndef GT_TRACE_JOB_H
#define GT_TRACE_JOB_H

#include <stddef.h>

#include "trace/clocks.h"
#include "trace/model.h"

#define GT_JOB_NS (366ll * 86400 * 1000000000) /* clocks further apart are not those of one job */

/* The traces of one job, one model a rank. */
struct gt_job {
	GT_VEC(char *) paths;
	struct gt_model *models; /* one a process; by rank, then name */
	size_t count;
	struct gt_clocks clocks; /* of each model, that of the job */
};

/* Fills job->paths: every file of @inputs, of a folder every *.json, *.json.gz, *.pftrace and
 * *.pftrace.gz in it, one of each trace. -ENOENT: an
 * input does not exist, -ENODATA: a folder holds no trace; said through @complain. */
int gt_job_find(struct gt_job *job, char *const *inputs, size_t count,
		void (*complain)(const char *line));

/* gt_job_find without those files of a folder that are empty or end in their first lines, as of a
 * process that was killed there, and without those of other runs than the newest one in it
 * (trace/file/runs.h): said through @complain, with what helps. -EBADMSG: nothing is left. */
int gt_job_find_readable(struct gt_job *job, char *const *inputs, size_t count,
			 void (*complain)(const char *line));

/*
 * gt_job_find_readable, then reads them all, several files of one process as one trace, and
 * compares them. Files that hold no trace are reported through @complain (one line each) and left
 * out; that the traces are of several jobs or versions is said (trace/file/origins.h). -EBADMSG:
 * nothing could be read. @failures counts the files that were left out.
 */
int gt_job_load(struct gt_job *job, char *const *inputs, size_t count,
		void (*complain)(const char *line), size_t *ret_failures);
void gt_job_fini(struct gt_job *job);

/* Where in job->paths, which may change their order, the files of each process begin: at most as
 * many as there are paths, and behind them their count. Returns how many processes there are. */
size_t gt_job_find_processes(struct gt_job *job, size_t *ret_first);

/* The second half of gt_job_load: reads job->paths. Does not say whether they are of one job. */
int gt_job_load_found(struct gt_job *job, void (*complain)(const char *line), size_t *ret_failures);

/* The order of the models of a job: by rank, then path. Pure. */
int gt_job_compare_models(const struct gt_model *a, const struct gt_model *b);

/* Where a trace stands among all of its job, by rank, even if this process has read only some of
 * the ranks; those of one rank are read by one process. */
static inline uint64_t gt_job_order(const struct gt_job *job, size_t f)
{
	return (uint64_t)((int64_t)job->models[f].rank - INT32_MIN) << 32 | (uint32_t)f;
}

/* Whether each file of @job is one of @other, whatever its name. */
bool gt_job_is_in(const struct gt_job *job, const struct gt_job *other);

#endif
