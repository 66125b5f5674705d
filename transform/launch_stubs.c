/* SPDX-License-Identifier: Apache-2.0
 *
 * See launch_stubs.h.
 */
#include "transform/launch_stubs.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_named(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return !strcmp(slash ? slash + 1 : path, name);
}

static bool is_stub(const char *function)
{
	return function && (has_prefix(function, "__device_stub_") ||
			    has_prefix(function, "__wrapper__device_stub_"));
}

/* The toolkit's: the stub of a kernel, __cudaLaunchKernel_helper, templates and lambdas of
 * cuda_runtime.h. */
static bool is_toolkit(const struct gt_source_line *line)
{
	return is_named(line->file, "cuda_runtime.h") || is_stub(line->function) ||
	       (line->function && has_prefix(line->function, "__cuda"));
}

/* Is @function, "app::scale<float>(float*)" of @len bytes, the one that the stub @stub is made for?
 * clang makes stubs too, and calls them where <<<>>> stands. */
static bool is_kernel_of(const char *function, size_t len, const char *stub)
{
	char name[256];
	size_t from = 0, n = 0;

	while (n < len && !strchr("<(", function[n])) {
		if (function[n] == ':' || function[n] == ' ')
			from = n + 1;
		n++;
	}
	if (n == from || n - from >= sizeof(name))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)(n - from), function + from);
	return strstr(stub, name) != NULL;
}

size_t gt_launch_stubs(const struct gt_source_line *lines, size_t count, const char *text,
		       size_t function_len)
{
	const char *stub = is_stub(lines[0].calls) ? lines[0].calls : NULL, *function;
	size_t n = 0;

	while (n < count && is_toolkit(&lines[n])) {
		if (is_stub(lines[n].function))
			stub = lines[n].function;
		n++;
	}
	if (!stub || n == count)
		return n;
	function = lines[n].function;
	return n + (function ? is_kernel_of(function, strlen(function), stub)
			     : is_kernel_of(text, function_len, stub));
}
