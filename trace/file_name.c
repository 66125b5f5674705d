/* SPDX-License-Identifier: Apache-2.0
 *
 * See file_name.h.
 */
#include "trace/file_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "trace/segment_files.h"

static bool ends_in(const char *text, const char *ending)
{
	size_t length = strlen(text), size = strlen(ending);

	return length >= size && !strcmp(text + length - size, ending);
}

void gt_file_name_parse(const char *path, struct gt_file_name *ret_name)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strchr(name, '.'), *line = dot;
	char *end;

	*ret_name = (struct gt_file_name){.part = gt_segment_number(path)};
	while (line && line > name && *line != '_')
		line--;
	if (!line || line == name || !isdigit((unsigned char)line[1]) ||
	    !isdigit((unsigned char)dot[1]))
		return;
	ret_name->pid = strtoll(line + 1, &end, 10);
	if (end != dot)
		return;
	ret_name->started = strtoll(dot + 1, &end, 10);
	ret_name->is_ours = *end == '.' && (ends_in(end, ".json") || ends_in(end, ".json.gz"));
	if (!strncmp(name, "rank", 4) && isdigit((unsigned char)name[4])) {
		ret_name->rank = strtoll(name + 4, &end, 10);
		ret_name->has_rank = *end == '_';
	}
}
