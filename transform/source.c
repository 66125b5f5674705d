/* SPDX-License-Identifier: Apache-2.0
 *
 * See source.h. Each module is a libdwfl session of its own, for two versions of one library may
 * have been loaded one after the other.
 */
#include "transform/source.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "readers/vec.h"

#define MOST_BYTES  (4ll << 30) /* of a module */
#define DEBUG_FILES "/usr/lib/debug/.build-id/%.2s/%s.debug"

struct source_module {
	char *path, *build_id;
	Dwfl *dwfl;
	Dwfl_Module *dwfl_module; /* NULL: not found */
};

struct gt_sources {
	GT_VEC(struct source_module) modules;
	GT_VEC(char *) paths; /* that had to be put together */
	size_t missing;
};

static char debug_path[] = ":.debug:/usr/lib/debug";
static char *debug_path_pointer = debug_path;

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &debug_path_pointer,
};

struct gt_sources *gt_sources_new(bool debuginfod)
{
	if (!debuginfod) /* libdwfl asks servers when this is set */
		unsetenv("DEBUGINFOD_URLS");
	return calloc(1, sizeof(struct gt_sources));
}

void gt_sources_free(struct gt_sources *sources)
{
	if (!sources)
		return;
	for (size_t i = 0; i < sources->modules.count; i++) {
		struct source_module *module = &sources->modules.at[i];

		if (module->dwfl)
			dwfl_end(module->dwfl);
		free(module->path);
		free(module->build_id);
	}
	for (size_t i = 0; i < sources->paths.count; i++)
		free(sources->paths.at[i]);
	free(sources->paths.at);
	free(sources->modules.at);
	free(sources);
}

size_t gt_sources_missing(const struct gt_sources *sources)
{
	return sources->missing;
}

static bool has_build_id(Dwfl_Module *module, const char *build_id)
{
	const unsigned char *bytes;
	char text[129];
	GElf_Addr where;
	int count = dwfl_module_build_id(module, &bytes, &where);

	if (count <= 0 || (size_t)count * 2 >= sizeof(text))
		return false;
	for (int i = 0; i < count; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return strcmp(text, build_id) == 0;
}

static void close_module(struct source_module *module)
{
	if (module->dwfl)
		dwfl_end(module->dwfl);
	module->dwfl = NULL;
	module->dwfl_module = NULL;
}

/* A trace names what is opened: a pipe would block, a device might do anything. So it is looked at
 * before it is opened, as the same file. */
static int open_regular(const char *path)
{
	int seen = open(path, O_PATH | O_CLOEXEC), fd = -1;
	char again[64];
	struct stat st;

	if (seen < 0)
		return -1;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", seen);
	if (!fstat(seen, &st) && S_ISREG(st.st_mode) && st.st_size <= MOST_BYTES)
		fd = open(again, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	close(seen);
	return fd;
}

/* The file @path, when it is what was loaded. */
static bool open_file(struct source_module *module, const char *path)
{
	int fd = open_regular(path);

	if (fd < 0)
		return false;
	module->dwfl = dwfl_begin(&callbacks);
	if (!module->dwfl) {
		close(fd);
		return false;
	}
	dwfl_report_begin(module->dwfl);
	module->dwfl_module = dwfl_report_offline(module->dwfl, "", path, fd);
	if (!module->dwfl_module)
		close(fd); /* else libdwfl does */
	dwfl_report_end(module->dwfl, NULL, NULL);
	if (module->dwfl_module && has_build_id(module->dwfl_module, module->build_id))
		return true;
	close_module(module);
	return false;
}

static bool open_module(struct source_module *module)
{
	char path[256];

	if (strlen(module->build_id) < 4 ||
	    module->build_id[strspn(module->build_id, "0123456789abcdef")])
		return false;
	if (open_file(module, module->path))
		return true;
	snprintf(path, sizeof(path), DEBUG_FILES, module->build_id, module->build_id + 2);
	return open_file(module, path);
}

static struct source_module *find_module(struct gt_sources *sources, const char *path,
					 const char *build_id)
{
	struct source_module *module;

	for (size_t i = 0; i < sources->modules.count; i++) {
		module = &sources->modules.at[i];
		if (!strcmp(module->path, path) && !strcmp(module->build_id, build_id))
			return module;
	}
	if (!gt_vec_grow(&sources->modules))
		return NULL;
	module = &sources->modules.at[sources->modules.count];
	*module = (struct source_module){.path = strdup(path), .build_id = strdup(build_id)};
	if (!module->path || !module->build_id) {
		free(module->path);
		free(module->build_id);
		return NULL;
	}
	sources->modules.count++;
	if (!open_module(module))
		sources->missing++;
	return module;
}

/* "/a/b/../c" and "/a/./c" -> "/a/c", in place. */
static void simplify(char *path)
{
	char *to = path;

	for (const char *from = path; *from;) {
		size_t len = 1 + strcspn(from + 1, "/");

		if (len == 3 && !memcmp(from, "/..", 3)) {
			while (to > path && *--to != '/')
				;
		} else if (len > 1 && !(len == 2 && from[1] == '.')) {
			memmove(to, from, len);
			to += len;
		}
		from += len;
	}
	*to = 0;
}

/* Into @path: the whole path, and behind its zero @file and @folder, by which it is found again. */
static void write_path(char *path, const char *folder, const char *file)
{
	size_t folder_len = strlen(folder), file_len = strlen(file), len;

	memcpy(path, folder, folder_len);
	path[folder_len] = '/';
	memcpy(path + folder_len + 1, file, file_len + 1);
	simplify(path);
	len = strlen(path);
	memcpy(path + len + 1, file, file_len + 1);
	memcpy(path + len + file_len + 2, folder, folder_len + 1);
}

/* The whole path of a file that the compiler was given as @file in @folder. */
static const char *make_whole(struct gt_sources *sources, const char *folder, const char *file)
{
	char *path;

	if (!file || *file == '/' || !folder || *folder != '/')
		return file;
	for (size_t i = 0; i < sources->paths.count; i++) { /* few: one a source file */
		const char *known = sources->paths.at[i] + strlen(sources->paths.at[i]) + 1;

		if (!strcmp(known, file) && !strcmp(known + strlen(known) + 1, folder))
			return sources->paths.at[i];
	}
	if (!gt_vec_grow(&sources->paths))
		return file;
	path = calloc(1, 2 * (strlen(folder) + strlen(file)) + 8);
	if (!path)
		return file;
	write_path(path, folder, file);
	sources->paths.at[sources->paths.count++] = path;
	return path;
}

/* Where an inlined function was called from. */
static bool find_call(struct gt_sources *sources, Dwarf_Die *cu, Dwarf_Die *inlined,
		      struct gt_source_line *ret_line)
{
	Dwarf_Word file, line;
	Dwarf_Attribute attribute, folder;
	Dwarf_Files *files;

	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) ||
	    dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) ||
	    dwarf_getsrcfiles(cu, &files, NULL))
		return false;
	*ret_line = (struct gt_source_line){.line = (int)line};
	ret_line->file =
		make_whole(sources, dwarf_formstring(dwarf_attr(cu, DW_AT_comp_dir, &folder)),
			   dwarf_filesrc(files, file, NULL, NULL));
	return ret_line->file != NULL;
}

/* The scopes around an address as they lie inside each other in the code; free *ret_scopes. (What
 * dwarf_getscopes gives goes on, behind an inlined function, where that was written.) */
static int find_scopes(Dwarf_Die *cu, Dwarf_Addr address, Dwarf_Die **ret_scopes)
{
	Dwarf_Die *written = NULL;
	int count = dwarf_getscopes(cu, address, &written);

	count = count > 0 ? dwarf_getscopes_die(&written[0], ret_scopes) : 0;
	free(written);
	return count;
}

/* Does a call that DWARF lists (DW_TAG_call_site) return to @address? */
static bool returns_to(Dwarf_Die *call, Dwarf_Addr address)
{
	Dwarf_Attribute attribute;
	Dwarf_Addr behind;

	switch (dwarf_tag(call)) {
	case DW_TAG_call_site:
		return !dwarf_formaddr(dwarf_attr(call, DW_AT_call_return_pc, &attribute),
				       &behind) &&
		       behind == address;
	case DW_TAG_GNU_call_site: /* before DWARF 5 */
		return !dwarf_lowpc(call, &behind) && behind == address;
	default:
		return false;
	}
}

/* What the call in @scope calls that returns to @address. NULL: not known, as for a pointer. */
static const char *find_callee(Dwarf_Die *scope, Dwarf_Addr address)
{
	Dwarf_Die call, callee;
	Dwarf_Attribute origin;
	int rc;

	for (rc = dwarf_child(scope, &call); rc == 0; rc = dwarf_siblingof(&call, &call)) {
		if (!returns_to(&call, address))
			continue;
		if (!dwarf_attr(&call, DW_AT_call_origin, &origin) &&
		    !dwarf_attr(&call, DW_AT_abstract_origin, &origin))
			return NULL;
		return dwarf_formref_die(&origin, &callee) ? dwarf_diename(&callee) : NULL;
	}
	return NULL;
}

/* The innermost position is @lines[0]; each inlined function around it gives its name to the
 * position so far and the place of its call as the next one. */
static size_t add_inlined(struct gt_sources *sources, Dwfl_Module *module, Dwarf_Addr address,
			  struct gt_source_line *lines)
{
	Dwarf_Addr bias;
	Dwarf_Die *cu = dwfl_module_addrdie(module, address, &bias);
	Dwarf_Die *scopes = NULL;
	int count = cu ? find_scopes(cu, address - bias, &scopes) : 0;
	size_t lines_count = 1;

	if (count > 0) /* a frame's address is the last byte of its call */
		lines[0].calls = find_callee(&scopes[0], address - bias + 1);
	for (int i = 0; i < count && lines_count < GT_SOURCE_DEPTH; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag == DW_TAG_subprogram)
			break;
		if (tag != DW_TAG_inlined_subroutine ||
		    !find_call(sources, cu, &scopes[i], &lines[lines_count]))
			continue;
		lines[lines_count - 1].function = dwarf_diename(&scopes[i]);
		lines_count++;
	}
	free(scopes);
	return lines_count;
}

size_t gt_sources_find(struct gt_sources *sources, const char *path, const char *build_id,
		       uint64_t offset, struct gt_source_line *ret_lines)
{
	struct source_module *module = find_module(sources, path, build_id);
	Dwfl_Line *line;
	GElf_Addr bias;

	if (!module || !module->dwfl_module || !dwfl_module_getelf(module->dwfl_module, &bias))
		return 0;
	line = dwfl_module_getsrc(module->dwfl_module, bias + offset);
	ret_lines[0] = (struct gt_source_line){0};
	if (line)
		ret_lines[0].file =
			make_whole(sources, dwfl_line_comp_dir(line),
				   dwfl_lineinfo(line, NULL, &ret_lines[0].line, NULL, NULL, NULL));
	if (!ret_lines[0].file || ret_lines[0].line <= 0)
		return 0;
	return add_inlined(sources, module->dwfl_module, bias + offset, ret_lines);
}
