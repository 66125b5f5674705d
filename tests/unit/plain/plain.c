/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the tests that plain/criterion/criterion.h registered in order, each in its own process.
 * Exit status: 0 all passed, 1 one failed, 77 all were skipped. Main thread only, except
 * plain_fail, which a test's own threads may call.
 */
#include <criterion/criterion.h>

#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_SKIPPED 77
#define EXIT_FAILED  99

static struct plain_test *tests, *suites;
static atomic_bool failed;

static void append(struct plain_test **list, struct plain_test *test)
{
	while (*list)
		list = &(*list)->next;
	*list = test;
}

void plain_register(struct plain_test *test)
{
	append(&tests, test);
}

void plain_register_suite(struct plain_test *suite)
{
	append(&suites, suite);
}

void plain_fail(bool fatal, const char *file, int line, const char *check, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	flockfile(stderr);
	fprintf(stderr, "%s:%d: failed: %s:", file, line, check);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	funlockfile(stderr);
	va_end(arguments);
	atomic_store(&failed, true);
	if (fatal)
		_exit(EXIT_FAILED);
}

void plain_skip(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	_exit(EXIT_SKIPPED);
}

void plain_log(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
}

static const struct plain_test *find_suite(const char *name)
{
	for (const struct plain_test *suite = suites; suite; suite = suite->next)
		if (!strcmp(suite->suite, name))
			return suite;
	return NULL;
}

/* The test's process. exit() on purpose: the sanitizer reports there. */
static void run_here(const struct plain_test *test)
{
	const struct plain_test *suite = find_suite(test->suite);
	void (*init)(void) = test->init ? test->init : suite ? suite->init : NULL;
	void (*fini)(void) = test->fini ? test->fini : suite ? suite->fini : NULL;

	if (init)
		init();
	test->run();
	if (fini)
		fini();
	exit(atomic_load(&failed) ? EXIT_FAILED : 0);
}

/* 0 passed, 1 failed, EXIT_SKIPPED. */
static int run(const struct plain_test *test)
{
	int status = 0;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0)
		run_here(test);
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 1;
	if (test->signal)
		return !(WIFSIGNALED(status) && WTERMSIG(status) == test->signal);
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED)
		return EXIT_SKIPPED;
	return !(WIFEXITED(status) && WEXITSTATUS(status) == test->exit_code);
}

int main(void)
{
	int passed = 0, bad = 0, skipped = 0;

	for (const struct plain_test *test = tests; test; test = test->next) {
		int result = test->disabled ? EXIT_SKIPPED : run(test);

		printf("%s %s::%s\n",
		       result == 0   ? "ok  "
		       : result == 1 ? "FAIL"
				     : "skip",
		       test->suite, test->name);
		passed += result == 0;
		bad += result == 1;
		skipped += result == EXIT_SKIPPED;
	}
	printf("%d passed, %d failed, %d skipped\n", passed, bad, skipped);
	return bad ? 1 : passed ? 0 : EXIT_SKIPPED;
}
