/* SPDX-License-Identifier: Apache-2.0
 *
 * The command gputrace: executes gputrace-cli, which lies beside it, with the paths of the other
 * parts. If gputrace-cli cannot be started, `run` executes the program untraced. That needs no
 * library here, no shell (it takes a descriptor above the limit, and complains of a deleted working
 * folder) and no other command. Nothing of ours is started with the LD_PRELOAD of the program.
 *
 *   gputrace [--source=FOLDER] COMMAND...    FOLDER: from scripts/gputrace, parts as they are built
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/words.h"

#define MOST_WORDS 5 /* gputrace-cli, a command and its first options */
#define LINE_BYTES (2 * PATH_MAX)

/* Where the parts of gputrace are. */
struct places {
	bool is_installed;
	char cli[PATH_MAX], library[PATH_MAX];
	char modules[PATH_MAX]; /* folder of the Python modules */
	char bench[PATH_MAX];   /* folder of the programs that bench starts */
};

/* ---- where they are ---- */

/* The folder of this program, and the one above. */
static void find_self(char *ret_here, char *ret_above)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n > 0)
		path[n] = 0;
	else if (!realpath((const char *)getauxval(AT_EXECFN), path))
		return;
	*strrchr(path, '/') = 0;
	strcpy(ret_here, path);
	if (strchr(path, '/'))
		*strrchr(path, '/') = 0;
	strcpy(ret_above, path);
}

/* @folder/@name. False: there is no such file. */
static bool try(const char *folder, const char *name, char *ret_path)
{
	return snprintf(ret_path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX &&
	       !access(ret_path, F_OK);
}

/* In a folder of lib/, which is named after the processor. */
static bool try_each(const char *prefix, const char *name, char *ret_path)
{
	char lib[PATH_MAX], folder[PATH_MAX];
	struct dirent **entries;
	bool found = false;
	int count;

	try(prefix, "lib", lib);
	count = scandir(lib, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		found = found ||
			(*entries[i]->d_name != '.' && try(lib, entries[i]->d_name, folder) &&
			 try(folder, name, ret_path));
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return found;
}

static void find(const char *prefix, const char *name, char *ret_path)
{
	static const char *const folders[] = {"libexec", "lib64", "lib"};
	char folder[PATH_MAX];
	bool found = try_each(prefix, name, ret_path);

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && !found; i++) {
		try(prefix, folders[i], folder);
		found = try(folder, name, ret_path);
	}
}

static void find_built(const char *above, const char *source, struct places *ret_parts)
{
	try(above, "preload/libgputrace.so", ret_parts->library);
	try(source, "share/python", ret_parts->modules);
	try(above, "bench", ret_parts->bench);
}

static void find_installed(const char *above, struct places *ret_parts)
{
	find(above, "libgputrace.so", ret_parts->library);
	try(above, "share/gputrace/python", ret_parts->modules);
	find(above, "gputrace", ret_parts->bench);
}

/* @source: the source tree, NULL: installed. */
static void find_parts(const char *source, struct places *ret_parts)
{
	char here[PATH_MAX] = "", above[PATH_MAX] = "";

	*ret_parts = (struct places){.is_installed = !source};
	find_self(here, above);
	try(here, "gputrace-cli", ret_parts->cli);
	if (source)
		find_built(above, source, ret_parts);
	else
		find_installed(above, ret_parts);
}

/* ---- what is wrong with gputrace-cli ---- */

static const char *advice(const struct places *parts)
{
	return parts->is_installed ? "install gputrace again" : "build it: ninja -C build";
}

/* A line may quote others. */
static void say(const char *format, ...)
{
	char line[LINE_BYTES];
	va_list list;

	va_start(list, format);
	vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	for (char *c = line; *c; c++)
		*c = (unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c;
	fprintf(stderr, "gputrace: %s\n", line);
}

static _Noreturn void become_trial(const struct places *parts, int fd)
{
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	unsetenv("LD_PRELOAD");
	execl(parts->cli, parts->cli, "version", (char *)NULL);
	dprintf(fd, "%s: %s; %s\n", parts->cli, strerror(errno), advice(parts));
	_exit(127);
}

/* True when a line is the answer of gputrace-cli. Else the first line, which others may have
 * written too, is the reason. */
static bool read_answer(int fd, char *ret_why, size_t size)
{
	static const char answer[] = "gputrace ";
	FILE *lines = fdopen(fd, "r");
	char line[LINE_BYTES];
	bool found = false;

	*ret_why = 0;
	while (lines && fgets(line, sizeof(line), lines)) {
		line[strcspn(line, "\n")] = 0;
		found = found || !strncmp(line, answer, sizeof(answer) - 1);
		if (!*ret_why)
			snprintf(ret_why, size, "%s", line);
	}
	if (lines)
		fclose(lines);
	return found;
}

/* The end of a pipe that is no standard stream, which may be closed. */
static int keep_clear(int fd)
{
	int clear = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	close(fd);
	return clear;
}

/* Starts gputrace-cli once. False: *ret_why says what prevents it. */
static bool can_start(const struct places *parts, char *ret_why, size_t size)
{
	int fds[2], status = 0;
	bool answers;
	pid_t child;

	if (pipe2(fds, O_CLOEXEC) < 0 || (fds[1] = keep_clear(fds[1])) < 0 ||
	    (child = fork()) < 0) {
		snprintf(ret_why, size, "%s", strerror(errno));
		return false;
	}
	if (child == 0)
		become_trial(parts, fds[1]);
	close(fds[1]);
	answers = read_answer(fds[0], ret_why, size);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFSIGNALED(status))
		snprintf(ret_why, size, "%s is killed: %s; %s", parts->cli,
			 strsignal(WTERMSIG(status)), advice(parts));
	else if (answers)
		return true;
	else if (!*ret_why)
		snprintf(ret_why, size, "%s does nothing; %s", parts->cli, advice(parts));
	return false;
}

/* ---- the commands ---- */

/* Executes the program of `run` without our options. */
static int run_untraced(char **words, const char *why)
{
	int error;

	for (; *words && **words == '-' && strcmp(*words, "--") != 0; words++)
		words += gt_word_takes_next(*words, words[1]);
	words += *words && !strcmp(*words, "--");
	if (!*words) {
		say("%s", why);
		return GT_EXIT_USAGE;
	}
	say("the program runs untraced: %s", why);
	execvp(*words, words);
	error = errno;
	say("cannot run '%s': %s", *words, strerror(error));
	return error == ENOENT ? 127 : 126;
}

static char *word(const char *option, const char *value)
{
	char *text;

	return asprintf(&text, "%s%s", option, value ? value : "") < 0 ? (char *)option : text;
}

/* Only fails. */
static void execute(const struct places *parts, const char *command, char *const *options,
		    char *const *words)
{
	size_t count = 0, n = 0;
	char **argv;

	while (words[count])
		count++;
	argv = calloc(count + MOST_WORDS + 1, sizeof(*argv));
	if (!argv)
		return;
	argv[n++] = (char *)parts->cli;
	if (command)
		argv[n++] = (char *)command;
	for (; *options; options++)
		argv[n++] = *options;
	memcpy(argv + n, words, count * sizeof(*argv));
	execv(parts->cli, argv);
	free(argv);
}

/* The LD_PRELOAD of the program is for the program alone. */
static int run(const struct places *parts, char **words)
{
	const char *preload = getenv("LD_PRELOAD");
	char *options[] = {word("--library=", parts->library), word("--modules=", parts->modules),
			   preload ? word("--preload=", preload) : word("--preload", NULL), NULL};
	char why[LINE_BYTES];

	if (!can_start(parts, why, sizeof(why)))
		return run_untraced(words, why);
	unsetenv("LD_PRELOAD");
	execute(parts, "run", options, words);
	snprintf(why, sizeof(why), "%s: %s", parts->cli, strerror(errno));
	if (preload)
		setenv("LD_PRELOAD", options[2] + strlen("--preload="), 1);
	return run_untraced(words, why);
}

static int start(const struct places *parts, const char *command, char *const *options,
		 char *const *words)
{
	execute(parts, command, options, words);
	say("%s: %s; %s", parts->cli, strerror(errno), advice(parts));
	return GT_EXIT_FAILED;
}

int main(int argc, char **argv)
{
	static const char option[] = "--source=";
	bool is_source = argc > 1 && !strncmp(argv[1], option, sizeof(option) - 1);
	static struct places parts;
	char *options[3] = {NULL};

	find_parts(is_source ? argv[1] + sizeof(option) - 1 : NULL, &parts);
	argv += 1 + is_source;
	if (!*argv || (strcmp(*argv, "run") && strcmp(*argv, "doctor") && strcmp(*argv, "bench") &&
		       strcmp(*argv, "attach")))
		return start(&parts, NULL, options, argv);
	if (!strcmp(*argv, "run"))
		return run(&parts, argv + 1);
	options[0] = word("--library=", parts.library);
	if (!strcmp(*argv, "bench"))
		options[1] = word("--parts=", parts.bench);
	return start(&parts, *argv, options, argv + 1);
}
