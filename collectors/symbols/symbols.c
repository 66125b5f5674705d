/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns return addresses into frames, see the header. Drain thread only.
 */
#include "collectors/symbols/symbols.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/symbols/kernel_stubs.h"
#include "collectors/symbols/table.h"
#include "core/guest/memory.h"

struct gt_symbols {
	struct gt_modules *modules;
	struct gt_demangle *demangle;
	struct gt_arena arena;
	size_t max_bytes;
	size_t table_bytes;
	uint64_t refused; /* modules whose table does not fit */
};

/* Tables of a module, read at the first look-up. */
struct names {
	bool is_open;
	struct gt_symbol_table table;
	struct gt_kernel_stubs stubs;
};

struct gt_symbols *gt_symbols_new(struct gt_modules *modules, struct gt_demangle *demangle,
				  size_t max_bytes)
{
	struct gt_symbols *symbols = gt_memory_map(sizeof(*symbols));

	if (!symbols)
		return NULL;
	symbols->modules = modules;
	symbols->demangle = demangle;
	symbols->max_bytes = max_bytes;
	gt_arena_init(&symbols->arena, max_bytes);
	symbols->arena.survives = true;
	return symbols;
}

uint64_t gt_symbols_refused(const struct gt_symbols *symbols)
{
	return symbols->refused;
}

void gt_symbols_free(struct gt_symbols *symbols)
{
	if (!symbols)
		return;
	for (uint32_t i = 0; i < gt_modules_count(symbols->modules); i++) {
		struct names *names = gt_modules_at(symbols->modules, i)->symbols;

		if (names) {
			gt_kernel_stubs_fini(&names->stubs);
			gt_symbol_table_close(&names->table);
		}
		gt_modules_at(symbols->modules, i)->symbols = NULL;
	}
	gt_arena_fini(&symbols->arena);
	gt_memory_unmap(symbols, sizeof(*symbols));
}

static void open_names(struct gt_symbols *symbols, struct names *names,
		       const struct gt_module *module)
{
	size_t used = symbols->arena.total + symbols->table_bytes;
	size_t room = used < symbols->max_bytes ? symbols->max_bytes - used : 0;
	uint64_t before = gt_memory_count().refused;
	int error = gt_symbol_table_open(&names->table, module, room);

	symbols->refused += error == -ENOMEM || (error && gt_memory_count().refused != before);
	if (error)
		return;
	names->is_open = true;
	gt_kernel_stubs_init(&names->stubs, &names->table,
			     room - gt_symbol_table_memory(&names->table));
	gt_symbol_table_thin(&names->table);
	symbols->table_bytes += gt_symbol_table_memory(&names->table) + names->stubs.bytes;
	symbols->arena.max_bytes = symbols->max_bytes - symbols->table_bytes;
}

/* Reads the module's table at the first call. NULL: it has none. */
static const struct names *find_names(struct gt_symbols *symbols, struct gt_module *module)
{
	struct names *names = module->symbols;

	if (!names) {
		names = gt_arena_get(&symbols->arena, sizeof(*names));
		if (!names)
			return NULL;
		module->symbols = names;
		open_names(symbols, names, module);
	}
	return names->is_open ? names : NULL;
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_api_name(const char *name)
{
	return has_prefix(name, "cuda") && isupper((unsigned char)name[4]);
}

/* A template of cuda_runtime.h that calls the function of its name:
 * _ZL16cudaLaunchKernelIcE9cudaError, _Z10cudaMallocIfE9cudaError. */
static bool is_api_template(const char *name)
{
	char *end;
	unsigned long length;

	if (!has_prefix(name, "_Z"))
		return false;
	name += name[2] == 'L' ? 3 : 2;
	length = strtoul(name, &end, 10);
	return is_api_name(end) && length < strlen(end) && end[length] == 'I' &&
	       strstr(end, "E9cudaError");
}

/*
 * Functions that the CUDA toolkit adds to a program: the runtime that nvcc links statically, the
 * functions generated for <<<>>>, the templates of cuda_runtime.h. The user wants the caller of
 * these. @name is mangled.
 */
static bool is_toolkit(const char *name)
{
	static const char *const beginnings[] = {"libcudart_static_", "__cuda", "_ZN6cudart",
						 "_ZL25__cudaLaunchKernel_helper"};

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (has_prefix(name, beginnings[i]))
			return true;
	return is_api_name(name) || is_api_template(name) ||
	       (has_prefix(name, "_Z") && strstr(name, "__wrapper__device_stub_"));
}

static void name_frame(struct gt_symbols *symbols, struct gt_stack_frame *frame,
		       struct gt_module *module)
{
	const struct names *names = find_names(symbols, module);
	const char *name = names ? gt_symbol_table_find(&names->table, frame->offset) : NULL;

	if (!name)
		return;
	/* .symtab appends versions: memcpy@GLIBC_2.2.5 */
	frame->function = gt_demangle_get(symbols->demangle, name, strcspn(name, "@"));
	frame->ours |= is_toolkit(name) ||
		       gt_kernel_stubs_has(&names->stubs, &names->table, symbols->demangle, name);
}

const struct gt_stack_frame *gt_symbols_find_frame(void *context, uint64_t pc)
{
	struct gt_symbols *symbols = context;
	struct gt_stack_frame *frame = gt_arena_get(&symbols->arena, sizeof(*frame));
	uint64_t call = pc - 1; /* the call instruction */
	struct gt_module *module;

	if (!frame)
		return NULL;
	module = gt_modules_find(symbols->modules, call);
	if (!module) {
		frame->kind = GT_FRAME_JIT;
		frame->offset = call;
		return frame;
	}
	frame->kind = GT_FRAME_NATIVE;
	frame->module = module->path;
	frame->build_id = module->build_id_text;
	frame->offset = call - module->bias;
	frame->ours = module->ours;
	name_frame(symbols, frame, module);
	return frame;
}
