/* SPDX-License-Identifier: Apache-2.0
 *
 * The traces of a command in shares, and one answer of all of them. With --mpi each process of an
 * MPI job has a share: all traces of some ranks. Else there is one share, and nothing to merge: a
 * command does the same in either case. main only.
 */
#ifndef GT_CLI_REDUCE_SHARES_H
#define GT_CLI_REDUCE_SHARES_H

#include "analysis/group_merge.h"
#include "cli/cmdline.h"

#define GT_SHARES_OPTION                                                                           \
	{                                                                                          \
		"mpi", NULL, NULL,                                                                 \
			"under mpirun or srun: each process reads a share of the traces, the "     \
			"first one prints what they add up to (docs/RANKS.md; needs a build "      \
			"with -Dmpi=true)"                                                         \
	}

/* Joins the MPI job where --mpi is given, and refuses what its shares cannot answer: standard
 * input. An exit status, after one line. */
int gt_shares_start(const struct gt_cmdline *args);
/* Leaves it. In any case. */
void gt_shares_end(void);

/* Is --mpi given? */
bool gt_shares_are_many(const struct gt_cmdline *args);

/* gt_cmdline_wrong by the first process alone: all say the same. */
int gt_shares_refuse(const struct gt_cmdline *args, const char *line);

/* Says that there is no memory for @what. GT_EXIT_FAILED. */
int gt_shares_no_memory(const char *what);

/* Reads the share of this process, gt_cmdline_load where there is one. An exit status. */
int gt_shares_load(const struct gt_cmdline *args, struct gt_job *job);

/* What each process knows of its share becomes what all of them know, in the first one. @status:
 * of gt_shares_load. *ret_prints: this process has the answer, and it is about something. An exit
 * status, of the whole. */
int gt_shares_reduce(const struct gt_cmdline *args, const struct gt_job *job, int status,
		     struct gt_group_set *sets, size_t count, bool *ret_prints);

/* Behind gt_shares_reduce: hands what each process has to say to the first one, where @take gets
 * one message after the other. In the others, it only sends. @rc: of the making of @mine. An exit
 * status, after a line. */
int gt_shares_gather(const struct gt_pack *mine, int rc,
		     int (*take)(const void *bytes, size_t size, void *data), void *data);

#endif
