/* SPDX-License-Identifier: Apache-2.0
 *
 * The map of shared objects, see the header. The loader's list is copied while its lock is held;
 * names are resolved and compared afterwards. Drain thread only.
 */
#include "collectors/symbols/modules.h"

#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "collectors/symbols/elf_image.h"
#include "core/guest/maps.h"
#include "core/guest/memory.h"
#include "core/guest/seccomp.h"
#include "core/spool_view.h"

/* One entry of the loader's list. */
struct seen {
	uint64_t bias, start, end;
	uint8_t build_id[GT_BUILD_ID_MAX];
	uint32_t build_id_size;
	bool is_main, is_vdso;
	char name[512];
};

struct gt_modules {
	struct gt_intern *pool;
	gt_module_gone_fn gone;
	void *context;
	struct gt_arena arena;
	struct gt_module **list;
	uint32_t count, capacity;
	unsigned long long adds, subs; /* the loader's counters at the last refresh */
	struct seen *seen;             /* scratch of a refresh */
	uint32_t seen_count, seen_capacity;
};

struct gt_modules *gt_modules_new(struct gt_intern *pool, gt_module_gone_fn gone, void *context)
{
	struct gt_modules *modules = gt_spool_map(sizeof(*modules));

	if (!modules)
		return NULL;
	modules->pool = pool;
	modules->gone = gone;
	modules->context = context;
	gt_arena_init(&modules->arena, 0);
	modules->arena.survives = true;
	gt_spool_set_root(GT_SPOOL_MODULES, modules);
	return modules;
}

void gt_modules_free(struct gt_modules *modules)
{
	if (!modules)
		return;
	gt_memory_unmap(modules->list, modules->capacity * sizeof(*modules->list));
	gt_memory_unmap(modules->seen, modules->seen_capacity * sizeof(*modules->seen));
	gt_arena_fini(&modules->arena);
	gt_memory_unmap(modules, sizeof(*modules));
}

/* Grows an array of @size-byte elements to hold one more than @count. */
static bool reserve(void **array, uint32_t count, uint32_t *capacity, size_t size)
{
	uint32_t more = *capacity ? *capacity * 2 : 64;
	void *grown;

	if (count < *capacity)
		return true;
	grown = gt_memory_grow(*array, *capacity * size, more * size);
	if (!grown)
		return false;
	*array = grown;
	*capacity = more;
	return true;
}

/* The list may be in the spool, where nothing can grow in place. */
static bool reserve_list(struct gt_modules *modules)
{
	uint32_t more = modules->capacity ? modules->capacity * 2 : 512;
	struct gt_module **list;

	if (modules->count < modules->capacity)
		return true;
	list = gt_spool_map(more * sizeof(*list));
	if (!list)
		return false;
	if (modules->count)
		memcpy(list, modules->list, modules->count * sizeof(*list));
	gt_memory_unmap(modules->list, modules->capacity * sizeof(*list));
	modules->list = list;
	modules->capacity = more;
	return true;
}

static void read_segments(struct seen *seen, const struct dl_phdr_info *info)
{
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR);

	seen->start = UINT64_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type != PT_LOAD)
			continue;
		seen->start = start < seen->start ? start : seen->start;
		seen->end = start + phdr->p_memsz > seen->end ? start + phdr->p_memsz : seen->end;
	}
	seen->is_vdso = vdso && vdso >= seen->start && vdso < seen->end;
}

static int collect(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct gt_modules *modules = arg;
	struct seen *seen;

	if (modules->seen_count == 0) {
		if (info->dlpi_adds == modules->adds && info->dlpi_subs == modules->subs)
			return 1;
		modules->adds = info->dlpi_adds;
		modules->subs = info->dlpi_subs;
	}
	if (!reserve((void **)&modules->seen, modules->seen_count, &modules->seen_capacity,
		     sizeof(*modules->seen)))
		return 0;
	seen = &modules->seen[modules->seen_count++];
	memset(seen, 0, sizeof(*seen));
	seen->bias = info->dlpi_addr;
	seen->is_main = modules->seen_count == 1;
	read_segments(seen, info);
	seen->build_id_size = gt_elf_image_loaded_build_id(info, seen->build_id);
	strncpy(seen->name, info->dlpi_name ? info->dlpi_name : "", sizeof(seen->name) - 1);
	return 0;
}

static const struct gt_string *find_path(struct gt_modules *modules, const struct seen *seen)
{
	char path[PATH_MAX];
	ssize_t length;

	bool resolves = gt_seccomp_permits(GT_SYS_readlink);

	if (seen->is_main && resolves) {
		length = readlink("/proc/self/exe", path, sizeof(path) - 1);
		if (length > 0)
			return gt_intern_get(modules->pool, path, (size_t)length);
	}
	if (resolves && strchr(seen->name, '/') && realpath(seen->name, path))
		return gt_intern_cstr(modules->pool, path);
	/* a relative name was relative to the folder of that time; if another file has the name by
	 * now, its build-id differs */
	if (seen->name[0] != '/' && !seen->is_vdso && (seen->name[0] || seen->is_main) &&
	    gt_maps_path(seen->start, path, sizeof(path)))
		return gt_intern_cstr(modules->pool, path);
	return gt_intern_cstr(modules->pool, seen->name[0] ? seen->name : "(no name)");
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_ours(const char *path)
{
	static const char *const names[] = {"libgputrace", "libcupti", "libcudart", "libcuda.so",
					    "libnvidia"};
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (has_prefix(slash ? slash + 1 : path, names[i]))
			return true;
	return false;
}

static bool is_same(const struct gt_module *module, const struct seen *seen)
{
	return module->bias == seen->bias && module->start == seen->start &&
	       module->end == seen->end && module->build_id_size == seen->build_id_size &&
	       memcmp(module->build_id, seen->build_id, module->build_id_size) == 0;
}

/* A module that returns to the same place becomes the old entry: a program that opens and closes a
 * plug-in in a loop must not fill the list. */
static bool add_again(struct gt_modules *modules, const struct seen *seen,
		      const struct gt_string *path)
{
	for (uint32_t i = 0; i < modules->count; i++) {
		struct gt_module *module = modules->list[i];

		if (module->is_loaded || module->path != path || !is_same(module, seen))
			continue;
		module->is_loaded = true;
		return true;
	}
	return false;
}

static const struct gt_string *make_build_id(struct gt_modules *modules, const struct seen *seen)
{
	static const char digits[] = "0123456789abcdef";
	char text[2 * GT_BUILD_ID_MAX];

	for (uint32_t i = 0; i < seen->build_id_size; i++) {
		text[2 * i] = digits[seen->build_id[i] >> 4];
		text[2 * i + 1] = digits[seen->build_id[i] & 15];
	}
	if (!seen->build_id_size)
		return NULL;
	return gt_intern_get(modules->pool, text, 2 * (size_t)seen->build_id_size);
}

static void add(struct gt_modules *modules, const struct seen *seen)
{
	const struct gt_string *path = find_path(modules, seen);
	struct gt_module *module;

	if (add_again(modules, seen, path))
		return;
	if (!reserve_list(modules))
		return;
	module = gt_arena_get(&modules->arena, sizeof(*module));
	if (!module)
		return;
	module->path = path;
	module->bias = seen->bias;
	module->start = seen->start;
	module->end = seen->end;
	memcpy(module->build_id, seen->build_id, sizeof(module->build_id));
	module->build_id_size = seen->build_id_size;
	module->build_id_text = make_build_id(modules, seen);
	module->is_main = seen->is_main;
	module->is_vdso = seen->is_vdso;
	module->is_loaded = true;
	module->ours = !seen->is_main && is_ours(module->path->text);
	modules->list[modules->count++] = module;
}

static bool is_still_loaded(const struct gt_modules *modules, const struct gt_module *module)
{
	for (uint32_t i = 0; i < modules->seen_count; i++)
		if (is_same(module, &modules->seen[i]))
			return true;
	return false;
}

static bool is_known(const struct gt_modules *modules, const struct seen *seen)
{
	for (uint32_t i = 0; i < modules->count; i++)
		if (modules->list[i]->is_loaded && is_same(modules->list[i], seen))
			return true;
	return false;
}

/* First the modules that have gone, then the new ones, which may be at the same place. */
static void compare(struct gt_modules *modules)
{
	for (uint32_t i = 0; i < modules->count; i++) {
		struct gt_module *module = modules->list[i];

		if (!module->is_loaded || is_still_loaded(modules, module))
			continue;
		module->is_loaded = false;
		if (modules->gone)
			modules->gone(modules->context, module);
	}
	for (uint32_t i = 0; i < modules->seen_count; i++)
		if (!is_known(modules, &modules->seen[i]))
			add(modules, &modules->seen[i]);
}

bool gt_modules_refresh(struct gt_modules *modules)
{
	modules->seen_count = 0;
	dl_iterate_phdr(collect, modules);
	if (modules->seen_count == 0)
		return false;
	compare(modules);
	return true;
}

struct gt_module *gt_modules_find(const struct gt_modules *modules, uint64_t pc)
{
	struct gt_module *found = NULL;

	for (uint32_t i = modules->count; i-- > 0;) {
		struct gt_module *module = modules->list[i];

		if (pc < module->start || pc >= module->end)
			continue;
		if (module->is_loaded)
			return module;
		found = found ? found : module;
	}
	return found;
}

uint32_t gt_modules_count(const struct gt_modules *modules)
{
	return modules->count;
}

struct gt_module *gt_modules_at(const struct gt_modules *modules, uint32_t index)
{
	return modules->list[index];
}

static bool restore_module(struct gt_modules *modules, const struct gt_spool_view *view,
			   const struct gt_module *from)
{
	const struct gt_string *path = gt_spool_view_string(view, from->path);
	const struct gt_string *build_id = gt_spool_view_string(view, from->build_id_text);
	struct gt_module *module;

	if (!path || !reserve_list(modules))
		return false;
	module = gt_arena_get(&modules->arena, sizeof(*module));
	if (!module)
		return false;
	module->path = gt_intern_get(modules->pool, path->text, path->length);
	module->bias = from->bias;
	module->start = from->start;
	module->end = from->end;
	memcpy(module->build_id, from->build_id, sizeof(module->build_id));
	module->build_id_size =
		from->build_id_size <= GT_BUILD_ID_MAX ? from->build_id_size : GT_BUILD_ID_MAX;
	if (build_id)
		module->build_id_text =
			gt_intern_get(modules->pool, build_id->text, build_id->length);
	module->is_main = module->is_vdso = false; /* this process has its own */
	module->is_loaded = gt_spool_bool(&from->is_loaded) && !gt_spool_bool(&from->is_vdso);
	module->ours = gt_spool_bool(&from->ours);
	modules->list[modules->count++] = module;
	return true;
}

void gt_modules_restore(struct gt_modules *modules, const struct gt_spool_view *view)
{
	const struct gt_modules *from = gt_spool_view_root(view, GT_SPOOL_MODULES, sizeof(*from));
	struct gt_module *const *list =
		from ? gt_spool_view_at(view, gt_spool_address(from->list),
					(uint64_t)from->count * sizeof(void *))
		     : NULL;

	for (uint32_t i = 0; list && i < from->count; i++) {
		const struct gt_module *module =
			gt_spool_view_at(view, gt_spool_address(list[i]), sizeof(*module));

		if (module && !restore_module(modules, view, module))
			return;
	}
}
