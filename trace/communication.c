/* SPDX-License-Identifier: Apache-2.0
 *
 * See communication.h. A name is looked at once, however many kernels have it.
 */
#include "trace/communication.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 1024 /* function's name that is compared */

static const struct {
	const char *pattern;
} table[] = {
#define GT_COMMUNICATION(pattern, library, source) {pattern},
#include "trace/communication.def"
#undef GT_COMMUNICATION
};

static const struct {
	const char *word;
	struct gt_comm_kind collective;
} words[] = {
#define GT_COLLECTIVE(word, collective, together) {word, {collective, together}},
#include "trace/collectives.def"
#undef GT_COLLECTIVE
};

/* Most names differ before the pattern's first star. */
static bool fits(const char *pattern, const char *name)
{
	return !strncmp(pattern, name, strcspn(pattern, "*?[\\")) && !fnmatch(pattern, name, 0);
}

static const char *behind_colons(const char *name)
{
	const char *tail = name;

	for (const char *p = name; (p = strstr(p, "::")); p += 2)
		tail = p + 2;
	while (*tail == '_')
		tail++;
	return tail;
}

/* @glob NULL: any pattern of the table. */
static bool is_function(const char *qualified, const char *glob)
{
	const char *tail = behind_colons(qualified);

	if (glob)
		return !fnmatch(glob, qualified, 0) || !fnmatch(glob, tail, 0);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const char *pattern = table[i].pattern;

		if (*pattern != '*' && *pattern != *tail && *pattern != *qualified)
			continue; /* as nearly all */
		if (fits(pattern, strstr(pattern, "::") ? qualified : tail))
			return true;
	}
	return false;
}

/* "void (anonymous namespace)::f<int>(float*)" -> "f": the function without what its namespaces do
 * not tell. */
static void take_function(const char *name, char *ret, size_t size)
{
	static const char nameless[] = "(anonymous namespace)::";
	size_t n = 0;

	for (; *name && *name != '(' && *name != '<' && n + 1 < size; name++) {
		ret[n++] = *name;
		if (*name == ' ') /* what stood before it was the type */
			n = 0;
		while (!strncmp(name + 1, nameless, sizeof(nameless) - 1))
			name += sizeof(nameless) - 1;
	}
	ret[n] = 0;
}

/* "_ZN4vllm26cross_device_reduce_1stageI..." : each word has its length before it. */
static bool is_mangled_function(const char *name, const char *glob)
{
	char word[LONGEST];

	for (const char *p = name + 2; *p; p++) {
		size_t n = isdigit((unsigned char)*p) ? strtoul(p, (char **)&p, 10) : 0;

		if (!n)
			continue;
		if (n >= sizeof(word) || strnlen(p, n) < n)
			return false;
		memcpy(word, p, n);
		word[n] = 0;
		if (is_function(word, glob))
			return true;
		p += n - 1;
	}
	return false;
}

static bool is_kernel(const char *name, const char *glob)
{
	char function[LONGEST];

	if (glob && !fnmatch(glob, name, 0))
		return true;
	if (!strncmp(name, "_Z", 2))
		return is_mangled_function(name, glob);
	if (!strncmp(name, "(anonymous namespace)::", 23))
		name += 23;
	take_function(name, function, sizeof(function));
	return is_function(function, glob);
}

struct gt_comm_kind gt_communication_collective(const char *kernel)
{
	char plain[256];
	size_t n = 0;

	for (; *kernel && *kernel != '(' && n + 1 < sizeof(plain); kernel++)
		if (*kernel != '_')
			plain[n++] = *kernel;
	plain[n] = 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(plain, words[i].word))
			return words[i].collective;
	return (struct gt_comm_kind){"(other)", false};
}

int gt_communication_mark(struct gt_model *model, const char *glob)
{
	enum { UNKNOWN, NO, YES };
	uint8_t *known = calloc(model->names.text.count + 1, 1);

	if (!known)
		return -ENOMEM;
	for (size_t i = 0; i < model->op_traits.count; i++) {
		struct gt_op_traits *op = &model->op_traits.at[i];

		if (op->kind != GT_OP_KERNEL)
			continue;
		if (known[op->name] == UNKNOWN)
			known[op->name] =
				is_kernel(gt_model_name(model, op->name), glob) ? YES : NO;
		if (!op->comm)
			op->comm = known[op->name] == YES;
	}
	free(known);
	return 0;
}
