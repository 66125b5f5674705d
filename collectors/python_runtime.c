/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding the interpreter, see the header: the first loaded object that defines _PyRuntime (the
 * program or libpython), and everything else out of the same object.
 */
#include "collectors/python_runtime.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/elf_lookup.h"

/* What interpreters export; a name that is missing gives 0. */
enum symbol {
	RUNTIME,
	CODE_TYPE,
	STRING_TYPE,
	BYTES_TYPE,
	GET_STATE,
	IS_FINALIZING,     /* from 3.13 on */
	IS_FINALIZING_OLD, /* to 3.12 */
	GET_VERSION,
	DEBUG_BUILD, /* exists where reference counts are checked */
	SYMBOL_COUNT_
};

static const char *const names[SYMBOL_COUNT_] = {
	[RUNTIME] = "_PyRuntime",
	[CODE_TYPE] = "PyCode_Type",
	[STRING_TYPE] = "PyUnicode_Type",
	[BYTES_TYPE] = "PyBytes_Type",
	[GET_STATE] = "PyGILState_GetThisThreadState",
	[IS_FINALIZING] = "Py_IsFinalizing",
	[IS_FINALIZING_OLD] = "_Py_IsFinalizing",
	[GET_VERSION] = "Py_GetVersion",
	[DEBUG_BUILD] = "_Py_NegativeRefcount",
};

struct search {
	uintptr_t found[SYMBOL_COUNT_];
	char path[4096]; /* empty: the program itself */
};

static int look_in(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *search = context;
	struct gt_elf elf;

	if (gt_elf_open(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, &elf) ||
	    !gt_elf_find(&elf, names[RUNTIME], NULL))
		return 0;
	for (int i = 0; i < SYMBOL_COUNT_; i++)
		search->found[i] = gt_elf_find(&elf, names[i], NULL);
	if (info->dlpi_name && strlen(info->dlpi_name) < sizeof(search->path))
		memcpy(search->path, info->dlpi_name, strlen(info->dlpi_name) + 1);
	return 1;
}

/* "3.11.7 (main, ...": PY_VERSION_HEX without its last byte, which nothing depends on. */
static uint32_t parse_version(const char *text)
{
	unsigned long part[3];
	char *end;

	for (int i = 0; i < 3; i++) {
		part[i] = strtoul(text, &end, 10);
		if (end == text || part[i] > 255)
			return 0;
		text = *end == '.' ? end + 1 : end;
	}
	return (uint32_t)(part[0] << 24 | part[1] << 16 | part[2] << 8);
}

/* @pointer is that of a pointer to a function. */
static void set_function(void *pointer, uintptr_t address)
{
	memcpy(pointer, &address, sizeof(address));
}

/* From 3.13 on the version stands in _PyRuntime, whole. */
static uint32_t read_version(const struct search *search, const uint64_t *debug_offsets)
{
	const char *(*get_version)(void) = NULL;
	uint32_t version;

	set_function(&get_version, search->found[GET_VERSION]);
	version = get_version ? parse_version(get_version()) : 0;
	if (version >= 0x030d0000 && (debug_offsets[1] & 0xffffff00) == version)
		version = (uint32_t)debug_offsets[1];
	return version;
}

/* The interpreter's functions are called from now on: it must not be unloaded. */
static void pin(const char *path)
{
	if (*path)
		dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

static const char *fill(const struct search *search, struct gt_python_runtime *runtime)
{
	const uint64_t *debug_offsets = (const uint64_t *)search->found[RUNTIME];
	uintptr_t is_finalizing = search->found[IS_FINALIZING] ? search->found[IS_FINALIZING]
							       : search->found[IS_FINALIZING_OLD];

	runtime->code_type = search->found[CODE_TYPE];
	runtime->string_type = search->found[STRING_TYPE];
	runtime->bytes_type = search->found[BYTES_TYPE];
	set_function(&runtime->get_state, search->found[GET_STATE]);
	set_function(&runtime->is_finalizing, is_finalizing);
	if (search->found[DEBUG_BUILD])
		return "it is a debug build";
	runtime->version = read_version(search, debug_offsets);
	if (!runtime->code_type || !runtime->string_type || !runtime->bytes_type ||
	    !runtime->get_state || !is_finalizing || !runtime->version)
		return "it does not export what is needed";
	return gt_python_layout_find(runtime->version, debug_offsets, &runtime->layout);
}

const char *gt_python_runtime_find(struct gt_python_runtime *ret_runtime)
{
	struct gt_python_runtime runtime = {0};
	struct search search = {0};
	const char *why;

	if (!dl_iterate_phdr(look_in, &search))
		return "";
	why = fill(&search, &runtime);
	*ret_runtime = runtime;
	if (!why)
		pin(search.path);
	return why;
}
