/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of Criterion that the unit tests use, for builds with ThreadSanitizer only: Criterion's
 * runner maps an arena at a fixed address that is in ThreadSanitizer's shadow, so it cannot start
 * there. Same source of the tests, one process per test, a line per failure, exit status 1.
 * Left out: theories, parameters, redirection. plain.c is the runner.
 */
#ifndef GT_TESTS_UNIT_PLAIN_CRITERION_H
#define GT_TESTS_UNIT_PLAIN_CRITERION_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct plain_test {
	const char *suite, *name;
	void (*run)(void);
	/* What the writer of the test may set. */
	void (*init)(void), (*fini)(void);
	int signal, exit_code;
	bool disabled;
	const char *description;
	double timeout;
	struct plain_test *next;
};

void plain_register(struct plain_test *test);
void plain_register_suite(struct plain_test *suite);

/* Notes a failed check; ends the test when @fatal. */
void plain_fail(bool fatal, const char *file, int line, const char *check, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
void plain_skip(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void plain_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define Test(suite_, name_, ...)                                                                   \
	static void suite_##_##name_##_body(void);                                                 \
	static struct plain_test suite_##_##name_##_test = {                                       \
		.suite = #suite_, .name = #name_, .run = suite_##_##name_##_body, __VA_ARGS__};    \
	__attribute__((constructor)) static void suite_##_##name_##_register(void)                 \
	{                                                                                          \
		plain_register(&suite_##_##name_##_test);                                          \
	}                                                                                          \
	static void suite_##_##name_##_body(void)

#define TestSuite(suite_, ...)                                                                     \
	static struct plain_test suite_##_suite = {.suite = #suite_, __VA_ARGS__};                 \
	__attribute__((constructor)) static void suite_##_register(void)                           \
	{                                                                                          \
		plain_register_suite(&suite_##_suite);                                             \
	}                                                                                          \
	struct plain_test

/* The message is optional: "" __VA_ARGS__ joins it, the trailing argument feeds an empty one. */
#define PLAIN_CHECK(fatal, text, condition, ...)                                                   \
	do {                                                                                       \
		if (!(condition))                                                                  \
			plain_fail(fatal, __FILE__, __LINE__, text, " " __VA_ARGS__);              \
	} while (0)

#define cr_assert(condition, ...) PLAIN_CHECK(true, #condition, condition, __VA_ARGS__)
#define cr_assert_not(condition, ...)                                                              \
	PLAIN_CHECK(true, "not " #condition, !(condition), __VA_ARGS__)
#define cr_assert_eq(a, b, ...)      PLAIN_CHECK(true, #a " == " #b, (a) == (b), __VA_ARGS__)
#define cr_assert_neq(a, b, ...)     PLAIN_CHECK(true, #a " != " #b, (a) != (b), __VA_ARGS__)
#define cr_assert_lt(a, b, ...)      PLAIN_CHECK(true, #a " < " #b, (a) < (b), __VA_ARGS__)
#define cr_assert_leq(a, b, ...)     PLAIN_CHECK(true, #a " <= " #b, (a) <= (b), __VA_ARGS__)
#define cr_assert_gt(a, b, ...)      PLAIN_CHECK(true, #a " > " #b, (a) > (b), __VA_ARGS__)
#define cr_assert_geq(a, b, ...)     PLAIN_CHECK(true, #a " >= " #b, (a) >= (b), __VA_ARGS__)
#define cr_assert_null(a, ...)       PLAIN_CHECK(true, #a " is NULL", (a) == NULL, __VA_ARGS__)
#define cr_assert_not_null(a, ...)   PLAIN_CHECK(true, #a " is not NULL", (a) != NULL, __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...)  PLAIN_CHECK(true, #a " eq " #b, !strcmp(a, b), __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...) PLAIN_CHECK(true, #a " ne " #b, strcmp(a, b), __VA_ARGS__)
#define cr_assert_arr_eq(a, b, n, ...)                                                             \
	PLAIN_CHECK(true, #a " eq " #b, !memcmp(a, b, n), __VA_ARGS__)
#define cr_assert_float_eq(a, b, e, ...)                                                           \
	PLAIN_CHECK(true, #a " ~ " #b, (a) - (b) <= (e) && (b) - (a) <= (e), __VA_ARGS__)
#define cr_assert_fail(...)       PLAIN_CHECK(true, "fail", false, __VA_ARGS__)

#define cr_expect(condition, ...) PLAIN_CHECK(false, #condition, condition, __VA_ARGS__)
#define cr_expect_not(condition, ...)                                                              \
	PLAIN_CHECK(false, "not " #condition, !(condition), __VA_ARGS__)
#define cr_expect_eq(a, b, ...)     PLAIN_CHECK(false, #a " == " #b, (a) == (b), __VA_ARGS__)
#define cr_expect_neq(a, b, ...)    PLAIN_CHECK(false, #a " != " #b, (a) != (b), __VA_ARGS__)
#define cr_expect_lt(a, b, ...)     PLAIN_CHECK(false, #a " < " #b, (a) < (b), __VA_ARGS__)
#define cr_expect_leq(a, b, ...)    PLAIN_CHECK(false, #a " <= " #b, (a) <= (b), __VA_ARGS__)
#define cr_expect_gt(a, b, ...)     PLAIN_CHECK(false, #a " > " #b, (a) > (b), __VA_ARGS__)
#define cr_expect_geq(a, b, ...)    PLAIN_CHECK(false, #a " >= " #b, (a) >= (b), __VA_ARGS__)
#define cr_expect_null(a, ...)      PLAIN_CHECK(false, #a " is NULL", (a) == NULL, __VA_ARGS__)
#define cr_expect_not_null(a, ...)  PLAIN_CHECK(false, #a " is not NULL", (a) != NULL, __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...) PLAIN_CHECK(false, #a " eq " #b, !strcmp(a, b), __VA_ARGS__)
#define cr_expect_arr_eq(a, b, n, ...)                                                             \
	PLAIN_CHECK(false, #a " eq " #b, !memcmp(a, b, n), __VA_ARGS__)
#define cr_expect_float_eq(a, b, e, ...)                                                           \
	PLAIN_CHECK(false, #a " ~ " #b, (a) - (b) <= (e) && (b) - (a) <= (e), __VA_ARGS__)
#define cr_expect_fail(...) PLAIN_CHECK(false, "fail", false, __VA_ARGS__)

#define cr_skip_test(...)   plain_skip(" " __VA_ARGS__)
#define cr_skip(...)        plain_skip(" " __VA_ARGS__)
#define cr_log_info(...)    plain_log(__VA_ARGS__)
#define cr_log_warn(...)    plain_log(__VA_ARGS__)
#define cr_log_error(...)   plain_log(__VA_ARGS__)

#endif
