/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the interpreter, see the header: the first loaded object that defines _PyRuntime (the
 * program or libpython), and everything else in the same object.
 */
#include "collectors/python/runtime.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/elf/elf_lookup.h"

/* Symbols of interpreters; a missing one is 0. */
enum symbol {
	RUNTIME,
	CODE_TYPE,
	STRING_TYPE,
	BYTES_TYPE,
	GET_STATE,
	IS_FINALIZING,     /* from 3.13 on */
	IS_FINALIZING_OLD, /* to 3.12 */
	VERSION,           /* from 3.11 on */
	GET_VERSION,
	NO_SITE,
	IGNORE_ENVIRONMENT,
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
	[VERSION] = "Py_Version",
	[GET_VERSION] = "Py_GetVersion",
	[NO_SITE] = "Py_NoSiteFlag",
	[IGNORE_ENVIRONMENT] = "Py_IgnoreEnvironmentFlag",
	[DEBUG_BUILD] = "_Py_NegativeRefcount",
};

struct python_search {
	uintptr_t found[SYMBOL_COUNT_];
	char path[4096]; /* empty: the program itself */
};

static int look_in(struct dl_phdr_info *info, size_t size, void *context)
{
	struct python_search *search = context;
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

/* "3.11.7 (main, ...": PY_VERSION_HEX without its last byte, which does not matter. */
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

/* @pointer points to a function pointer. */
static void set_function(void *pointer, uintptr_t address)
{
	memcpy(pointer, &address, sizeof(address));
}

/* Calls Py_GetVersion only where there is no number: from 3.11 on it fills its text at the first
 * call, and a starting interpreter could see it unfinished. */
static uint32_t read_version(const struct python_search *search)
{
	const char *(*get_version)(void) = NULL;
	const unsigned long *version = (const unsigned long *)search->found[VERSION];

	if (version)
		return (uint32_t)*version;
	set_function(&get_version, search->found[GET_VERSION]);
	return get_version ? parse_version(get_version()) : 0;
}

static const char *fill(const struct python_search *search, struct gt_python_runtime *runtime)
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
	runtime->version = read_version(search);
	if (!runtime->code_type || !runtime->string_type || !runtime->bytes_type ||
	    !runtime->get_state || !is_finalizing || !runtime->version)
		return "it does not export what is needed";
	return gt_python_layout_find(runtime->version, debug_offsets, &runtime->layout);
}

const char *gt_python_runtime_find(struct gt_python_runtime *ret_runtime)
{
	struct gt_python_runtime runtime = {0};
	struct python_search search = {0};
	const char *why;
	void *handle = NULL;

	if (!dl_iterate_phdr(look_in, &search))
		return "";
	/* The loader lists objects before it relocates them: this waits until it has. */
	if (*search.path) {
		handle = dlopen(search.path, RTLD_NOW | RTLD_NOLOAD);
		if (!handle)
			return "";
	}
	why = fill(&search, &runtime);
	*ret_runtime = runtime;
	/* its functions are called from now on: keep it loaded */
	if (!why && handle)
		dlopen(search.path, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
	if (handle)
		dlclose(handle);
	return why;
}

static bool is_set(uintptr_t flag)
{
	return flag && *(const volatile int *)flag != 0;
}

const char *gt_python_runtime_isolation(void)
{
	struct python_search search = {0};

	if (!dl_iterate_phdr(look_in, &search))
		return NULL;
	if (is_set(search.found[IGNORE_ENVIRONMENT]))
		return "off: Python was started with -E or -I, which ignore PYTHONPATH";
	if (is_set(search.found[NO_SITE]))
		return "off: Python was started with -S, which leaves sitecustomize out";
	return "";
}
