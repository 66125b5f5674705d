/* SPDX-License-Identifier: Apache-2.0
 *
 * A subcommand of gputrace-cli: one file commands/<name>.c each, listed in cli/main.c. main only.
 */
#ifndef GT_CLI_COMMAND_H
#define GT_CLI_COMMAND_H

#include <stddef.h>

/* Exit statuses of every command. */
enum gt_exit {
	GT_EXIT_OK = 0,
	GT_EXIT_FAILED = 1, /* the answer is no, or a file could not be read or is not whole */
	GT_EXIT_USAGE = 2,  /* wrong option or value: one line on stderr names it */
	GT_EXIT_GATE = 3,   /* diff --gate: something became slower */
	GT_EXIT_UNSURE = 4, /* diff --gate: no verdict, the evidence does not allow one */
};

/* A command of gputrace-cli. */
struct gt_command {
	const char *name;
	const char *arguments; /* as the help prints them: "FILE|DIR..." */
	const char *help;      /* one line; NULL: not listed */
	int (*run)(int argc,
		   char **argv); /* argv[0] is the command's name; returns the exit status */
};

/* One per file. */
extern const struct gt_command gt_command_analyze;
extern const struct gt_command gt_command_attach;
extern const struct gt_command gt_command_bench;
extern const struct gt_command gt_command_compress;
extern const struct gt_command gt_command_convert;
extern const struct gt_command gt_command_detach;
extern const struct gt_command gt_command_diff;
extern const struct gt_command gt_command_doctor;
extern const struct gt_command gt_command_dump;
extern const struct gt_command gt_command_export;
extern const struct gt_command gt_command_flush;
extern const struct gt_command gt_command_gaps;
extern const struct gt_command gt_command_memory;
extern const struct gt_command gt_command_ranks;
extern const struct gt_command gt_command_merge;
extern const struct gt_command gt_command_open;
extern const struct gt_command gt_command_options;
extern const struct gt_command gt_command_ps;
extern const struct gt_command gt_command_repair;
extern const struct gt_command gt_command_report;
extern const struct gt_command gt_command_run;
extern const struct gt_command gt_command_set;
extern const struct gt_command gt_command_stacks;
extern const struct gt_command gt_command_start;
extern const struct gt_command gt_command_stats;
extern const struct gt_command gt_command_status;
extern const struct gt_command gt_command_stop;
extern const struct gt_command gt_command_hang;
extern const struct gt_command gt_command_symbolize;
extern const struct gt_command gt_command_verify;

/* NULL-terminated, in the order of the help. */
extern const struct gt_command *const gt_commands[];

#endif
