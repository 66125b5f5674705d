/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary bytes as a pattern and, behind a zero, the value of every variable: what comes in from
 * the value is harmless, whatever the pattern is.
 */
#include "core/pattern.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static const char *value;

static const char *lookup(const char *name)
{
	(void)name;
	return value;
}

static size_t count_slashes(const char *text)
{
	size_t count = 0;

	for (; (text = strchr(text, '/')); text++)
		count++;
	return count;
}

static void check_clean(void)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	char clean[GT_PATTERN_VALUE + 1];

	gt_pattern_clean(value, clean);
	if (!*clean || *clean == '.' || clean[strspn(clean, plain)])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *pattern = malloc(size + 2); /* of its own, so that a read behind its end is seen */
	char name[256];
	int error;

	if (!pattern)
		return 0;
	memcpy(pattern, data, size);
	pattern[size] = pattern[size + 1] = 0;
	value = pattern + strlen(pattern) + 1;
	error = gt_pattern_expand(pattern, lookup, name, sizeof(name));
	if (!memchr(name, 0, sizeof(name)) || (error && strlen(name) != sizeof(name) - 1))
		abort();
	if (count_slashes(name) > count_slashes(pattern))
		abort();
	check_clean();
	free(pattern);
	return 0;
}
