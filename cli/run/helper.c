/* SPDX-License-Identifier: Apache-2.0
 *
 * See helper.h.
 */
#include "cli/run/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/load.h"
#include "cli/run/say.h"
#include "readers/shell_word.h"

#define MOST_WORDS 8          /* of the command itself */
#define MOST_BYTES (1u << 20) /* of names in one command line: half of what the kernel takes */

/* The limits are the program's: they may not stop what is done with its traces. */
static void lift_limits(void)
{
	static const int kinds[] = {RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_AS, RLIMIT_DATA,
				    RLIMIT_NOFILE};
	struct rlimit limit;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (getrlimit(kinds[i], &limit))
			continue;
		limit.rlim_cur = limit.rlim_max;
		setrlimit(kinds[i], &limit);
	}
	signal(SIGXFSZ, SIG_IGN); /* write() fails instead, and the helper says so */
}

static _Noreturn void become_helper(const struct gt_helper *helper, const struct gt_exec *exec,
				    char **argv, int stdout_fd)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t mask = exec->old_mask;

	dup2(null, STDIN_FILENO);
	dup2(stdout_fd, STDOUT_FILENO);
	if (helper->is_steady)
		sigaddset(&mask, SIGINT);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	unsetenv("LD_PRELOAD"); /* it is for the program */
	lift_limits();
	execvp(gt_own_program(), argv);
	_exit(127);
}

static void read_lines(const struct gt_helper *helper, int fd)
{
	FILE *lines = fdopen(fd, "r");
	size_t size = 0;
	char *line = NULL;

	while (lines && getline(&line, &size, lines) > 0) {
		line[strcspn(line, "\n")] = 0;
		helper->line(line);
	}
	free(line);
	if (lines)
		fclose(lines);
	else
		close(fd);
}

/* Ctrl-C ends a helper on purpose. */
static void say_death(const struct gt_helper *helper, int status, char *const *files, size_t count)
{
	const char *slash = strrchr(*files, '/');
	int number = WTERMSIG(status);
	size_t length = count > 1 && slash ? (size_t)(slash - *files) : strlen(*files);
	char *path, *word;

	if (!WIFSIGNALED(status) || number == SIGINT)
		return;
	path = strndup(*files, length);
	word = path ? gt_shell_word(path) : NULL;
	gt_say("%s was killed by signal %d (%s); run `gputrace %s %s`", helper->words[0], number,
	       strsignal(number), helper->words[0], word ? word : *files);
	free(word);
	free(path);
}

/* Returns its wait status. */
static int run_once(const struct gt_helper *helper, const struct gt_exec *exec, char **argv)
{
	int fds[2] = {-1, STDERR_FILENO}, status = 0;
	pid_t child;

	if (helper->line && pipe2(fds, O_CLOEXEC) < 0)
		return 0;
	child = fork();
	if (child == 0)
		become_helper(helper, exec, argv, fds[1]);
	if (helper->line) {
		close(fds[1]);
		read_lines(helper, fds[0]);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	return status;
}

/* How many of the files fit into one command line, at least one. */
static size_t fitting(char *const *files, size_t count)
{
	size_t n = 0, bytes = 0;

	while (n < count && (n == 0 || bytes + strlen(files[n]) < MOST_BYTES))
		bytes += strlen(files[n++]) + 1 + sizeof(char *);
	return n;
}

void gt_helper_run(const struct gt_helper *helper, const struct gt_exec *exec, char *const *files,
		   size_t count)
{
	char **argv = calloc(count + MOST_WORDS + 3, sizeof(*argv));
	size_t words = 0;

	if (!argv)
		return;
	argv[words++] = program_invocation_name;
	for (const char *const *word = helper->words; *word && words < MOST_WORDS; word++)
		argv[words++] = (char *)*word;
	argv[words++] = (char *)"--";
	while (count) {
		size_t n = fitting(files, count);

		memcpy(argv + words, files, n * sizeof(*argv));
		argv[words + n] = NULL;
		say_death(helper, run_once(helper, exec, argv), files, n);
		files += n;
		count -= n;
	}
	free(argv);
}
