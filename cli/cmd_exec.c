/* SPDX-License-Identifier: Apache-2.0
 *
 * exec: the delicate half of `gputrace run` (cli/run/exec.h says why it is not shell). Plumbing:
 *
 *   gputrace-cli exec [--env=NAME=VALUE]... [--after=WORD]... -- CMD [ARG...]
 *
 * Runs CMD with the variables, then the command made of the --after words with three more: how CMD
 * ended ("exit", "signal" or "missing"), its number, and when it began in ms since 1970. Ends as
 * CMD ended.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "cli/command.h"
#include "cli/run/exec.h"

#define MAX_WORDS 64

struct exec_words {
	char *word[MAX_WORDS + 4]; /* NULL-terminated, room for what gt_exec tells */
	size_t count;
};

static int add(struct exec_words *words, char *word)
{
	if (words->count == MAX_WORDS)
		return -E2BIG;
	words->word[words->count++] = word;
	return 0;
}

/* Index of CMD in argv, or negative errno. */
static int parse(int argc, char **argv, struct exec_words *ret_environment,
		 struct exec_words *ret_after)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		int error = -EINVAL;

		if (!strncmp(argv[i], "--env=", 6))
			error = add(ret_environment, argv[i] + 6);
		else if (!strncmp(argv[i], "--after=", 8))
			error = add(ret_after, argv[i] + 8);
		if (error)
			return error;
	}
	return i + 1 < argc ? i + 1 : -EINVAL;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void complain(const char *program, int error)
{
	fprintf(stderr, "gputrace: cannot run '%s': %s\n", program, strerror(error));
}

static void run_after(struct exec_words *after, const struct gt_exec *exec, uint64_t began)
{
	char kind[8], number[16], start[24];
	bool died = !exec->error && WIFSIGNALED(exec->wait_status);
	int value = exec->error ? exec->error
		    : died      ? WTERMSIG(exec->wait_status)
				: WEXITSTATUS(exec->wait_status);

	if (!after->count)
		return;
	snprintf(kind, sizeof(kind), "%s", exec->error ? "missing" : died ? "signal" : "exit");
	snprintf(number, sizeof(number), "%d", value);
	snprintf(start, sizeof(start), "%llu", (unsigned long long)began);
	after->word[after->count] = kind;
	after->word[after->count + 1] = number;
	after->word[after->count + 2] = start;
	gt_exec_helper(exec, after->word);
}

static int run(int argc, char **argv)
{
	struct exec_words environment = {0}, after = {0};
	int command = parse(argc, argv, &environment, &after);
	uint64_t began = now_ms();
	struct gt_exec exec;
	int error;

	if (command < 0) {
		fprintf(stderr,
			"usage: gputrace-cli exec [--env=NAME=VALUE]... [--after=WORD]... --"
			" CMD [ARG...]\n");
		return GT_EXIT_USAGE;
	}
	error = gt_exec_run(argv + command, environment.word, &exec);
	if (error) {
		complain(argv[command], -error);
		return 126;
	}
	if (exec.error)
		complain(argv[command], exec.error);
	run_after(&after, &exec, began);
	gt_exec_end(&exec);
}

const struct gt_command gt_command_exec = {
	.name = "exec",
	.arguments = "...",
	.run = run,
};
