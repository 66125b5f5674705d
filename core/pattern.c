/* SPDX-License-Identifier: Apache-2.0
 *
 * Patterns of file names, see the header.
 */
#include "core/pattern.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "core/guest/sys.h"

#define NAME_BYTES 128 /* of a variable; a longer one counts as not set */

struct pattern_name {
	char *text;
	size_t length, size;
	bool cut;
};

static void add(struct pattern_name *name, const char *text, size_t length)
{
	size_t room = name->size - 1 - name->length;

	name->cut |= length > room;
	length = length < room ? length : room;
	memcpy(name->text + name->length, text, length);
	name->length += length;
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == '-';
}

void gt_pattern_clean(const char *value, char *ret_name)
{
	size_t n = 0;

	while (value && *value == '.')
		value++;
	if (!value || !*value)
		value = "unset";
	for (; *value && n < GT_PATTERN_VALUE; value++)
		ret_name[n++] = is_plain(*value) ? *value : '_';
	ret_name[n] = 0;
}

static void add_value(struct pattern_name *name, const char *value)
{
	char clean[GT_PATTERN_VALUE + 1];

	gt_pattern_clean(value, clean);
	add(name, clean, strlen(clean));
}

static void add_host(struct pattern_name *name)
{
	char host[65];

	gt_sys_host(host, sizeof(host));
	host[strcspn(host, ".")] = 0;
	add_value(name, host);
}

/* The value of the variable in "%q{NAME}" at @at, NULL: not set. *ret_length: of the expression, 0:
 * something else. */
static const char *look_up(const char *at, gt_pattern_lookup lookup, size_t *ret_length)
{
	const char *end = strncmp(at, "%q{", 3) ? NULL : strchr(at, '}');
	char variable[NAME_BYTES];
	size_t length;

	*ret_length = end ? (size_t)(end - at) + 1 : 0;
	length = end ? *ret_length - 4 : 0;
	if (!length || length >= sizeof(variable))
		return NULL;
	memcpy(variable, at + 3, length);
	variable[length] = 0;
	return lookup(variable);
}

/* Expands "%q{NAME}" at @at. Returns its length, 0: something else. */
static size_t add_variable(struct pattern_name *name, const char *at, gt_pattern_lookup lookup)
{
	size_t length;
	const char *value = look_up(at, lookup, &length);

	if (length)
		add_value(name, value);
	return length;
}

/* Expands the % expression at @at. Returns its length in the pattern. */
static size_t add_place(struct pattern_name *name, const char *at, gt_pattern_lookup lookup)
{
	size_t length = add_variable(name, at, lookup);

	if (length)
		return length;
	if (at[1] == 'h')
		add_host(name);
	else
		add(name, "%", 1);
	return at[1] == 'h' || at[1] == '%' ? 2 : 1;
}

int gt_pattern_expand(const char *pattern, gt_pattern_lookup lookup, char *ret_name, size_t size)
{
	struct pattern_name name = {.text = ret_name, .size = size};

	while (*pattern) {
		size_t plain = strcspn(pattern, "%");

		add(&name, pattern, plain);
		pattern += plain;
		if (*pattern)
			pattern += add_place(&name, pattern, lookup);
	}
	ret_name[name.length] = 0;
	return name.cut ? -ENAMETOOLONG : 0;
}

bool gt_pattern_unset(const char *pattern, gt_pattern_lookup lookup, char *ret_name, size_t size)
{
	for (const char *at = strchr(pattern, '%'); at;) {
		size_t length, n;
		const char *value = look_up(at, lookup, &length);

		if (length && (!value || !*value)) {
			n = length - 4 < size ? length - 4 : size - 1;
			memcpy(ret_name, at + 3, n);
			ret_name[n] = 0;
			return true;
		}
		at = strchr(at + (length ? length : at[1] == '%' ? 2 : 1), '%');
	}
	return false;
}

int gt_pattern_escape(const char *name, char *ret_pattern, size_t size)
{
	struct pattern_name pattern = {.text = ret_pattern, .size = size};

	for (; *name; name++)
		add(&pattern, *name == '%' ? "%%" : name, *name == '%' ? 2 : 1);
	ret_pattern[pattern.length] = 0;
	return pattern.cut ? -ENAMETOOLONG : 0;
}
