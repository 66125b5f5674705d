/* SPDX-License-Identifier: Apache-2.0
 *
 * See load.h. The loader continues without a library that it cannot load. Its message on stderr is
 * not proof, as other messages appear there too: the child looks up a symbol of the tracer.
 */
#include "cli/run/load.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENTRY "InitializeInjection"

const char *gt_own_program(void)
{
	static const char link[] = "/proc/self/exe";

	return access(link, X_OK) ? program_invocation_name : link;
}

int gt_load_child(void)
{
	return dlsym(RTLD_DEFAULT, ENTRY) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static _Noreturn void become_child(const char *path, int stderr_fd)
{
	const char *program = gt_own_program();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(stderr_fd, STDERR_FILENO);
	setenv("LD_PRELOAD", path, 1);
	unsetenv("LD_DEBUG");
	execlp(program, program, "run", GT_LOAD_CHILD, (char *)NULL);
	perror(program);
	_exit(127);
}

/* The first line on stderr with the path of the library, else the first line. True: the former. */
static bool read_why(int fd, const char *path, char *ret_why, size_t size)
{
	FILE *lines = fdopen(fd, "r");
	bool is_about = false;
	char line[512];

	while (lines && fgets(line, sizeof(line), lines)) {
		line[strcspn(line, "\n")] = 0;
		if (is_about || (*ret_why && !strstr(line, path)))
			continue;
		is_about = strstr(line, path) != NULL;
		snprintf(ret_why, size, "%s", line);
	}
	if (lines)
		fclose(lines);
	else
		close(fd);
	return is_about;
}

/* A child that was started prints what has nothing to do with its end. */
static void explain_end(int status, bool is_about, const char *path, char *ret_why, size_t size)
{
	if (WIFSIGNALED(status))
		snprintf(ret_why, size, "a process that loads it is killed: %s",
			 strsignal(WTERMSIG(status)));
	else if (!is_about && WEXITSTATUS(status) == EXIT_FAILURE)
		snprintf(ret_why, size, "%s is not the tracer's library", path);
	else if (!*ret_why)
		snprintf(ret_why, size, "the loader ignores it");
}

bool gt_load_try(const char *path, char *ret_why, size_t size)
{
	int fds[2], status = -1;
	bool is_about;
	pid_t child;

	*ret_why = 0;
	if (pipe2(fds, O_CLOEXEC) < 0 || (child = fork()) < 0) {
		snprintf(ret_why, size, "%s", strerror(errno));
		return false;
	}
	if (child == 0)
		become_child(path, fds[1]);
	close(fds[1]);
	is_about = read_why(fds[0], path, ret_why, size);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	explain_end(status, is_about, path, ret_why, size);
	return false;
}
