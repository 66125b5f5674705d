/* SPDX-License-Identifier: Apache-2.0
 *
 * Recovery of the template of a killed process (spool_template.h) into a folder of the test, and
 * looking at the trace that is then there. Included by one file of a test.
 */
#ifndef GT_TESTS_UNIT_RECOVER_FIXTURE_H
#define GT_TESTS_UNIT_RECOVER_FIXTURE_H

#include <criterion/criterion.h>
#include <glob.h>

#include "pipeline/replay.h"
#include "tests/unit/spool_template.h"

static char folder[] = "/tmp/gt-recover-XXXXXX";

static inline void setup(void)
{
	cr_assert(mkdtemp(folder));
}

static inline void teardown(void)
{
	char command[128];

	gt_spool_remove();
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	cr_assert_eq(system(command), 0);
}

TestSuite(recover, .init = setup, .fini = teardown);

/* The one trace in the folder @where, as text; free(). */
static inline char *read_trace(const char *where)
{
	char pattern[256], *text = calloc(1, 1 << 20);
	glob_t found;
	FILE *file;

	snprintf(pattern, sizeof(pattern), "%s/*.pt.trace.json", where);
	if (glob(pattern, 0, NULL, &found))
		return text;
	cr_assert_eq(found.gl_pathc, 1);
	file = fopen(found.gl_pathv[0], "rb");
	cr_assert(file && fread(text, 1, (1 << 20) - 1, file) > 0);
	fclose(file);
	globfree(&found);
	return text;
}

static inline int count(const char *text, const char *what)
{
	int found = 0;

	for (; (text = strstr(text, what)); text++)
		found++;
	return found;
}

/* @data: of template_read, which is freed. */
static inline char *recover_from(void *data, size_t size)
{
	cr_assert_eq(gt_recover_bytes(data, size, folder), 0);
	free(data);
	return read_trace(folder);
}

static inline char *recover(void)
{
	size_t size;
	void *data = template_read(&size);

	return recover_from(data, size);
}

/* Of the last event with @what in it, in microseconds. */
static inline double end_of(const char *text, const char *what)
{
	const char *last = NULL;
	double ts, duration;

	while ((text = strstr(text, what)))
		last = text++;
	cr_assert_not_null(last, "%s", what);
	cr_assert_eq(sscanf(strstr(last, "\"ts\""), "\"ts\": %lf, \"dur\": %lf", &ts, &duration),
		     2);
	return ts + duration;
}

#endif
