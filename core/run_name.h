/* SPDX-License-Identifier: Apache-2.0
 *
 * The name of a run: of its folder in gputrace-out/ when no output is given. All processes whose
 * traces belong together find the same name. Reads the environment and /proc; no allocation.
 */
#ifndef GT_CORE_RUN_NAME_H
#define GT_CORE_RUN_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "core/schema/metadata.h"

#define GT_RUN_NAME_BYTES 80
#define GT_RUN_PARENT     "gputrace-out" /* folder of the runs without --output */

/* Variable that the first process of a run without `gputrace run` sets for its children. */
#define GT_RUN_NAME_FIRST "GPUTRACE_FIRST"

/* The id of the job (Slurm with its step, Open MPI, PMIx, torchrun, PALS, Flux, PBS, LSF): the same
 * for all its processes on all hosts. False: there is none. */
bool gt_run_name_of_job(char *ret_name, size_t size);

/*
 * The name for a process without `gputrace run`: the job's id, except for a single rank, since a
 * job may run several of these in sequence. Else, without peers, the name that the first traced
 * process of this process group set (gt_run_name_mark). Else that of gt_run_name_group: ranks that
 * a script starts in the background have nothing else in common. Session start.
 */
void gt_run_name_find(char *ret_name, size_t size);

/*
 * The process that stands for all ranks of a job without an id: the leader of the process group, or
 * who started it when a launcher (MPICH's Hydra) gave each rank a session of its own.
 */
int gt_run_name_group(void);

/*
 * The value of GT_RUN_NAME_FIRST that this process has to set for its children. False: none,
 * because an earlier process did, or because this one has peers. For the constructor of a preloaded
 * library: opens no file.
 */
bool gt_run_name_mark(char *ret_mark, size_t size);

/*
 * Fills launcher, launch and starts of a process that is one of several ranks.
 * @launcher: "NAME PID-TICKS" of the process that gave it the rank, one for all ranks that it
 * started on this host. @launch: where the ranks of all hosts meet: "hydra HOST:PORT" (MPICH, no
 * two jobs that run have the same), "torch PORT" (two jobs may have the same on other hosts, or one
 * after the other). @starts: a restart by torchrun starts the same ranks again. Session start;
 * opens files of /proc.
 */
void gt_run_name_launch(struct gt_metadata *metadata);

#endif
