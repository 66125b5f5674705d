/* SPDX-License-Identifier: Apache-2.0
 *
 * A picture of the mapped objects, kept from call to call and extended at its end when more were
 * loaded (the loader appends), read again when some went. Looking for a definition is then a walk
 * over tables (core/elf/elf_lookup.h).
 */
#include "preload/scope.h"

#include <string.h>

#include "core/elf/elf_lookup.h"

/* Of more than these only the runtimes are kept. Memory that is not touched costs nothing. */
#ifndef MAX_OBJECTS
#define MAX_OBJECTS 16384
#endif
#define NONE SIZE_MAX

struct object {
	struct gt_elf elf;
	const char *path; /* the loader's, lives as long as the object */
	bool usable;      /* elf holds something */
	bool runtime;     /* a libcudart */
};

static struct {
	struct object objects[MAX_OBJECTS];
	size_t count;
	size_t mapped; /* count, and those for which there is no room */
	unsigned long long adds, subs;
	size_t behind;     /* the first object behind this library, 0: not seen */
	size_t global_end; /* behind the last object that was loaded with the program */
	size_t runtimes;
} picture;

/* A walk over the dependencies of an object, breadth first. */
static struct {
	uint16_t queue[MAX_OBJECTS];
	size_t head, tail;
	uint64_t seen[(MAX_OBJECTS + 63) / 64];
} walk;

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool begins(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static void look_at(const struct dl_phdr_info *info, struct object *object)
{
	object->path = info->dlpi_name ? info->dlpi_name : "";
	object->usable =
		!gt_elf_open(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, &object->elf);
	object->runtime = object->usable && (begins(object->elf.soname, "libcudart") ||
					     begins(base_name(object->path), "libcudart"));
	picture.runtimes += object->runtime;
}

static void add_object(const struct dl_phdr_info *info)
{
	struct object *object = &picture.objects[picture.count++];

	look_at(info, object);
	if (object->usable && gt_elf_contains(&object->elf, (uintptr_t)&picture))
		picture.behind = picture.count;
}

/* There is no room: a runtime takes the place of the last object that is none. */
static void add_runtime(const struct dl_phdr_info *info)
{
	struct object object;
	size_t last = picture.count;

	look_at(info, &object);
	while (object.runtime && last-- > 0) {
		if (picture.objects[last].runtime)
			continue;
		picture.objects[last] = object;
		break;
	}
}

/* Adds what is not in the picture yet. @context: how many were seen in this round. */
static int see(struct dl_phdr_info *info, size_t size, void *context)
{
	size_t *seen = context;

	if ((*seen)++ < picture.mapped)
		return 0;
	picture.mapped++;
	if (picture.count < MAX_OBJECTS)
		add_object(info);
	else
		add_runtime(info);
	return 0;
}

/* The loader compares names given in DT_NEEDED with sonames and with the names it loaded by. */
static size_t index_of(const char *needed)
{
	const char *name = base_name(needed);

	for (size_t i = 0; i < picture.count; i++) {
		const struct object *object = &picture.objects[i];

		if (object->usable &&
		    (!strcmp(object->elf.soname, needed) || !strcmp(base_name(object->path), name)))
			return i;
	}
	return NONE;
}

static void walk_push(size_t index)
{
	if (index == NONE || (walk.seen[index / 64] >> (index % 64) & 1))
		return;
	walk.seen[index / 64] |= UINT64_C(1) << (index % 64);
	walk.queue[walk.tail++] = (uint16_t)index;
}

static void walk_start(size_t index)
{
	memset(walk.seen, 0, sizeof(walk.seen));
	walk.head = walk.tail = 0;
	walk_push(index);
}

/* The next object; its dependencies will come later. NONE: that was all. */
static size_t walk_next(void)
{
	const char *needed;
	size_t index;

	if (walk.head == walk.tail)
		return NONE;
	index = walk.queue[walk.head++];
	for (size_t i = 0; (needed = gt_elf_needed(&picture.objects[index].elf, i)); i++)
		walk_push(index_of(needed));
	return index;
}

/* Libraries that were loaded with the program stand in front of all that came later. */
static size_t find_global_end(void)
{
	size_t end = 0, index;

	if (!picture.count || !picture.objects[0].usable)
		return 0;
	walk_start(0);
	while ((index = walk_next()) != NONE)
		end = index >= end ? index + 1 : end;
	return end;
}

enum gt_scope_change gt_scope_refresh(const struct dl_phdr_info *info)
{
	enum gt_scope_change change = GT_SCOPE_GREW;
	size_t seen = 0;

	if (picture.count && info->dlpi_adds == picture.adds && info->dlpi_subs == picture.subs)
		return GT_SCOPE_SAME;
	if (!picture.count || info->dlpi_subs != picture.subs) {
		picture.count = picture.mapped = picture.runtimes = 0;
		picture.behind = 0;
		change = GT_SCOPE_SHRANK;
	}
	dl_iterate_phdr(see, &seen);
	picture.adds = info->dlpi_adds;
	picture.subs = info->dlpi_subs;
	if (change == GT_SCOPE_SHRANK)
		picture.global_end = find_global_end();
	return change;
}

size_t gt_scope_count(void)
{
	return picture.mapped;
}

size_t gt_scope_runtimes(void)
{
	return picture.runtimes;
}

static size_t object_at(uintptr_t address)
{
	for (size_t i = 0; i < picture.count; i++) {
		if (picture.objects[i].usable && gt_elf_contains(&picture.objects[i].elf, address))
			return i;
	}
	return NONE;
}

bool gt_scope_extent(uintptr_t address, uintptr_t *ret_start, size_t *ret_size)
{
	size_t index = object_at(address);

	if (index == NONE)
		return false;
	*ret_start = picture.objects[index].elf.start;
	*ret_size = picture.objects[index].elf.end - picture.objects[index].elf.start;
	return true;
}

const char *gt_scope_path(uintptr_t address)
{
	size_t index = object_at(address);

	return index == NONE ? NULL : picture.objects[index].path;
}

bool gt_scope_same(uintptr_t one, uintptr_t other)
{
	size_t index = object_at(one);

	return index != NONE && index == object_at(other);
}

/* Only what stands behind this library can be what it took the place of. */
static uintptr_t define(size_t index, const char *name, const char *version)
{
	const struct object *object = &picture.objects[index];

	if (!object->usable || index < picture.behind)
		return 0;
	return gt_elf_find(&object->elf, name, version);
}

/* The version of the runtime that the caller was linked with, NULL: it does not say. */
static const char *version_wanted(size_t caller, const char *name)
{
	const struct gt_elf *elf;

	if (caller == NONE)
		return NULL;
	elf = &picture.objects[caller].elf;
	if (gt_elf_version_needed(elf, "libcudart", 1))
		return gt_elf_reference_version(elf, name);
	return gt_elf_version_needed(elf, "libcudart", 0);
}

static uintptr_t find_in_global_scope(const char *name, const char *version)
{
	uintptr_t address = 0;

	/* not preloaded: then nobody called us in place of a global symbol */
	for (size_t i = picture.behind ? picture.behind : picture.global_end;
	     i < picture.global_end && !address; i++)
		address = define(i, name, version);
	return address;
}

static uintptr_t find_in_dependencies(size_t caller, const char *name, const char *version)
{
	uintptr_t address = 0;
	size_t index;

	if (caller == NONE)
		return 0;
	walk_start(caller);
	while (!address && (index = walk_next()) != NONE)
		address = define(index, name, version);
	return address;
}

static struct gt_scope_answer find_in_runtimes(const char *name, const char *version)
{
	struct gt_scope_answer answer = {0};

	for (size_t i = 0; i < picture.count; i++) {
		uintptr_t address = 0;

		if (!picture.objects[i].runtime)
			continue;
		if (version && gt_elf_defines_version(&picture.objects[i].elf, version)) {
			address = define(i, name, version);
			if (address)
				return (struct gt_scope_answer){.address = address};
		}
		address = define(i, name, NULL);
		answer.guessed |= address && answer.address;
		if (!answer.address)
			answer.address = address;
	}
	return answer;
}

struct gt_scope_answer gt_scope_find(uintptr_t address, const char *name)
{
	size_t caller = object_at(address);
	const char *version = version_wanted(caller, name);
	uintptr_t found = find_in_global_scope(name, version);

	if (!found)
		found = find_in_dependencies(caller, name, version);
	if (found)
		return (struct gt_scope_answer){.address = found, .firm = true};
	return find_in_runtimes(name, version);
}

uintptr_t gt_scope_find_any(uintptr_t address, const char *name)
{
	uintptr_t found = find_in_global_scope(name, NULL);

	if (!found)
		found = find_in_dependencies(object_at(address), name, NULL);
	for (size_t i = 0; i < picture.count && !found; i++)
		found = define(i, name, NULL);
	return found;
}

uintptr_t gt_scope_symbol(const char *name, const char *version, uintptr_t *ret_end)
{
	for (size_t i = 0; i < picture.count; i++) {
		uintptr_t address = picture.objects[i].usable
					    ? gt_elf_find(&picture.objects[i].elf, name, version)
					    : 0;

		if (address) {
			*ret_end = picture.objects[i].elf.end;
			return address;
		}
	}
	return 0;
}
