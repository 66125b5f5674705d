/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "cli/export_dataset.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"

#define PROGRAM "gputrace_dataset.py"

/* Of an installed gputrace, or in its build folder. */
static int find_program(char *ret_path, size_t size)
{
	static const char *const places[] = {"../" GT_DATASET_FOLDER "/" PROGRAM,
					     "../transform/" PROGRAM};
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (length < 0)
		return -errno;
	self[length] = 0;
	slash = strrchr(self, '/');
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(ret_path, size, "%.*s/%s", (int)(slash - self), self, places[i]);
		if (!access(ret_path, R_OK))
			return 0;
	}
	return -ENOENT;
}

/* A signal that ends us ends the child, which removes what it has half written. */
static int wait_for(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return GT_EXIT_FAILED;
		kill(child, SIGTERM);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) != 127)
		return WEXITSTATUS(status) ? GT_EXIT_FAILED : GT_EXIT_OK;
	return GT_EXIT_FAILED;
}

/* The words live until the child has them. */
static int start(const char *python, const char **words)
{
	pid_t child = fork();

	if (child < 0)
		return GT_EXIT_FAILED;
	if (!child) {
		execvp(python, (char *const *)words);
		fprintf(stderr,
			"gputrace export: %s: %s; GPUTRACE_PYTHON names a Python with pyarrow\n",
			python, strerror(errno));
		_exit(127);
	}
	return wait_for(child);
}

int gt_export_dataset(const char *form, const char *folder, char *const *paths, size_t count)
{
	const char *python = getenv("GPUTRACE_PYTHON");
	const char **words = calloc(count + 10, sizeof(*words));
	char program[PATH_MAX + 64];
	size_t n = 0;
	int rc;

	if (!words)
		return GT_EXIT_FAILED;
	if (find_program(program, sizeof(program))) {
		fputs("gputrace export: " PROGRAM " is not where gputrace was installed\n", stderr);
		free(words);
		return GT_EXIT_FAILED;
	}
	python = python && *python ? python : "python3";
	words[n++] = python;
	words[n++] = program;
	words[n++] = "--";
	words[n++] = form;
	words[n++] = folder;
	for (size_t i = 0; i < count; i++)
		words[n++] = paths[i];
	rc = start(python, words);
	free(words);
	return rc;
}
