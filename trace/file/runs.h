/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs of `gputrace run` that were given the same folder: their sums must not be added up. One
 * thread per job.
 */
#ifndef GT_TRACE_FILE_RUNS_H
#define GT_TRACE_FILE_RUNS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Into @ret_left_out, by path, which of the files @paths belong to other runs than the newest one
 * (metadata.run, its outermost name; without one metadata.job). Runs of which each has other ranks
 * of one world, at the same time or begun within two seconds, are one: a launcher started `gputrace
 * run` for each rank. Where the traces tell by whom they were started (metadata.launch, launcher,
 * starts, job), that counts before the time. *ret_is_guess: time alone told two jobs apart that ran
 * at once. A file
 * without any of these stays. Returns how many runs there are, 0 and 1 included, or -ENOMEM.
 */
long gt_job_runs_before(char *const *paths, size_t count, bool *ret_left_out, bool *ret_is_guess);

#endif
