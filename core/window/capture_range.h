/* SPDX-License-Identifier: Apache-2.0
 *
 * What --capture-range names, as nsys has it:
 *
 *   cudaProfilerApi        from cudaProfilerStart or cuProfilerStart to the Stop
 *   nvtx:NAME              NVTX ranges of that name in the default domain
 *   nvtx:NAME@DOMAIN       the same in a domain; NAME@*: in any
 *   python:FUNCTION        calls of such functions, by qualified name, with the module's or
 * without: share/python makes ranges of them, in a domain of their own
 *   cudaGraphLaunch:N      N launches of graphs, from the beginning of the first one to that of the
 * next one behind them; N may be left out: 1
 *
 * NAME, DOMAIN and FUNCTION may have * and ?. Any thread; no allocation, no locale.
 */
#ifndef GT_CORE_WINDOW_CAPTURE_RANGE_H
#define GT_CORE_WINDOW_CAPTURE_RANGE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/window/glob.h"

#define GT_CAPTURE_RANGE_NAME    256 /* bytes of a name, with its end */

/* The domain of share/python/_gputrace/functions.py. */
#define GT_CAPTURE_PYTHON_DOMAIN "Python"
#define GT_CAPTURE_PYTHON        "python:"
#define GT_CAPTURE_LAUNCHES      1000000u

/* What is recorded. */
enum gt_capture_range_kind {
	GT_CAPTURE_ALL,
	GT_CAPTURE_PROFILER,
	GT_CAPTURE_NVTX,
	GT_CAPTURE_GRAPHS
};

/* A range that is asked for. */
struct gt_capture_range {
	enum gt_capture_range_kind kind;
	char name[GT_CAPTURE_RANGE_NAME];
	char domain[GT_CAPTURE_RANGE_NAME]; /* empty: the default one */
	uint32_t launches;                  /* of graphs, that make one */
	bool is_function; /* the name may also match behind a dot of what has it */
};

/* Copies a name. -ENAMETOOLONG. */
static inline int gt_capture_range_copy(char *ret_text, const char *text, size_t length)
{
	if (length >= GT_CAPTURE_RANGE_NAME)
		return -ENAMETOOLONG;
	memcpy(ret_text, text, length);
	ret_text[length] = 0;
	return 0;
}

/* @name: behind "python:". As _parse. */
static inline int gt_capture_range_parse_function(const char *name,
						  struct gt_capture_range *ret_range)
{
	int rc = *name ? gt_capture_range_copy(ret_range->name, name, strlen(name)) : -EINVAL;

	if (rc)
		return rc;
	memcpy(ret_range->domain, GT_CAPTURE_PYTHON_DOMAIN, sizeof(GT_CAPTURE_PYTHON_DOMAIN));
	ret_range->is_function = true;
	ret_range->kind = GT_CAPTURE_NVTX;
	return 0;
}

/* @text: behind "cudaGraphLaunch". As _parse. */
static inline int gt_capture_range_parse_graphs(const char *text,
						struct gt_capture_range *ret_range)
{
	uint32_t launches = 0;

	if (!*text)
		launches = 1;
	else if (*text++ != ':' || *text == '0')
		return -EINVAL;
	for (; *text >= '0' && *text <= '9' && launches <= GT_CAPTURE_LAUNCHES; text++)
		launches = launches * 10 + (uint32_t)(*text - '0');
	if (*text || !launches || launches > GT_CAPTURE_LAUNCHES)
		return -EINVAL;
	ret_range->launches = launches;
	ret_range->kind = GT_CAPTURE_GRAPHS;
	return 0;
}

/* @text: the value of the option, empty: all is recorded. -EINVAL: none of these; -ENAMETOOLONG. */
static inline int gt_capture_range_parse(const char *text, struct gt_capture_range *ret_range)
{
	static const char nvtx[] = "nvtx:", graphs[] = "cudaGraphLaunch";
	const char *name, *at;
	int rc;

	*ret_range = (struct gt_capture_range){.kind = GT_CAPTURE_ALL};
	if (!*text)
		return 0;
	if (!strcmp(text, "cudaProfilerApi")) {
		ret_range->kind = GT_CAPTURE_PROFILER;
		return 0;
	}
	if (!strncmp(text, graphs, sizeof(graphs) - 1))
		return gt_capture_range_parse_graphs(text + sizeof(graphs) - 1, ret_range);
	if (!strncmp(text, GT_CAPTURE_PYTHON, strlen(GT_CAPTURE_PYTHON)))
		return gt_capture_range_parse_function(text + strlen(GT_CAPTURE_PYTHON), ret_range);
	if (strncmp(text, nvtx, sizeof(nvtx) - 1) != 0)
		return -EINVAL;
	name = text + sizeof(nvtx) - 1;
	at = strrchr(name, '@');
	if (!*name || at == name)
		return -EINVAL;
	rc = gt_capture_range_copy(ret_range->name, name, at ? (size_t)(at - name) : strlen(name));
	if (!rc && at)
		rc = gt_capture_range_copy(ret_range->domain, at + 1, strlen(at + 1));
	ret_range->kind = rc ? GT_CAPTURE_ALL : GT_CAPTURE_NVTX;
	return rc;
}

/* Whether @text matches @pattern. */
static inline bool gt_capture_range_is_like(const char *pattern, const char *text, size_t length)
{
	return gt_glob_has(pattern, strlen(pattern), text, length);
}

/* Whether a range of this name, in the domain of this name (empty: the default one), is asked
 * for. */
static inline bool gt_capture_range_has(const struct gt_capture_range *range, const char *name,
					size_t length, const char *domain)
{
	if (!gt_capture_range_is_like(range->domain, domain, strlen(domain)))
		return false;
	if (gt_capture_range_is_like(range->name, name, length))
		return true;
	for (size_t i = 0; range->is_function && i < length; i++)
		if (name[i] == '.' &&
		    gt_capture_range_is_like(range->name, name + i + 1, length - i - 1))
			return true;
	return false;
}

#endif
