/* SPDX-License-Identifier: Apache-2.0
 *
 * Of glibc's struct link_map (include/link.h there) three parts are used behind the public ones,
 * which every version has in this order: where the program headers are, with their number, and the
 * object's own list, which follow each other; and the lists in whose order the loader looks for
 * what the object refers to: the program's first, then that of what was opened.
 */
#include "core/elf/reach.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "core/elf/elf_lookup.h"

#define FIRST_WORD 5u   /* behind the public part */
#define WORDS      140u /* every version's is longer */
#define MOST       65536u
#define YIELDS     4000000 /* a reader that was cancelled never ends */

/* Of <dlfcn.h>, which older systems do not have. */
struct object_found {
	unsigned long long flags;
	void *from, *to;
	struct link_map *map;
	void *more[12];
};
typedef int (*find_fn)(void *address, struct object_found *found);

struct headers {
	const ElfW(Phdr) *parts;
	ElfW(Addr) entry;
	ElfW(Half) count;
};

/* Objects in an order. It may be replaced by a longer one, and then its number grows. */
struct list {
	const struct link_map *const *_Atomic objects;
	_Atomic unsigned int count;
};

struct scope {
	struct list *first[4];
	size_t room;
	struct list *const *_Atomic lists; /* up to NULL; first, where there is room */
	struct list *own[2];
};

static struct {
	_Atomic(find_fn) find; /* NULL: not known; written last */
	const struct link_map *ours;
	struct list *program;
	const struct link_map *const *start; /* its objects before anything was opened: they stay */
	unsigned int start_count, ours_at;
	size_t headers_at, scope_at;
} loader;

/* ---- who reads, who closes ---- */

#define PID     32 /* a forked child has none of its parent's */
#define CLOSERS 16
#define PART    UINT64_C(0xffff)

static _Atomic uint64_t users;

static uint64_t now_of(uint64_t word, uint64_t self)
{
	return word >> PID == self ? word : self << PID;
}

static bool begin_to_read(void)
{
	uint64_t self = (uint64_t)getpid(), before = atomic_load(&users), now;

	do {
		now = now_of(before, self);
		if (now >> CLOSERS & PART)
			return false;
	} while (!atomic_compare_exchange_weak(&users, &before, now + 1));
	return true;
}

static void end_reading(void)
{
	atomic_fetch_sub(&users, 1);
}

void gt_reach_close(void)
{
	uint64_t self = (uint64_t)getpid(), before = atomic_load(&users), now;

	do
		now = now_of(before, self);
	while (!atomic_compare_exchange_weak(&users, &before, now + (UINT64_C(1) << CLOSERS)));
	for (int i = 0; i < YIELDS && (atomic_load(&users) & PART); i++)
		sched_yield();
}

void gt_reach_closed(void)
{
	atomic_fetch_sub(&users, UINT64_C(1) << CLOSERS);
}

/* ---- what the loader knows of an object ---- */

static const void *part_of(const struct link_map *map, size_t at)
{
	return (const char *)map + at;
}

static const struct headers *headers_of(const struct link_map *map)
{
	return part_of(map, loader.headers_at);
}

static const struct scope *scope_of(const struct link_map *map)
{
	return part_of(map, loader.scope_at);
}

/* The object's own, with what it needs. */
static const struct list *list_of(const struct link_map *map)
{
	return part_of(map, loader.headers_at + sizeof(struct headers));
}

static const struct link_map *object_at(find_fn find, const void *address)
{
	struct object_found found = {0};

	return find((void *)(uintptr_t)address, &found) ? NULL : found.map;
}

/* An array that is replaced is given back afterwards: what was read before is still its own. */
static const struct link_map *object_of(struct list *list, unsigned int i)
{
	const struct link_map *const *objects = atomic_load(&list->objects), *const * now;
	const struct link_map *object;

	for (;; objects = now) {
		object = __atomic_load_n(&objects[i], __ATOMIC_ACQUIRE);
		now = atomic_load(&list->objects);
		if (now == objects)
			return object;
	}
}

static struct list *list_at(const struct scope *scope, unsigned int i)
{
	struct list *const *lists = atomic_load(&scope->lists), *const * now;
	struct list *list;

	for (;; lists = now) {
		list = __atomic_load_n(&lists[i], __ATOMIC_ACQUIRE);
		now = atomic_load(&scope->lists);
		if (now == lists)
			return list;
	}
}

/* ---- looking ---- */

static int look_in(const struct link_map *map, const char *name, void **ret)
{
	const struct headers *headers = headers_of(map);
	struct gt_elf elf;
	bool is_indirect;

	if (map == loader.ours || gt_elf_open(map->l_addr, headers->parts, headers->count, &elf))
		return 0;
	*ret = (void *)gt_elf_find_any(&elf, name, &is_indirect);
	return *ret && is_indirect ? -EAGAIN : 0;
}

static int look_at_start(const char *name, void **ret)
{
	int r = 0;

	for (unsigned int i = loader.ours_at + 1; i < loader.start_count && !r && !*ret; i++)
		r = look_in(loader.start[i], name, ret);
	return r;
}

static int look_through(struct list *list, unsigned int from, const char *name, void **ret)
{
	unsigned int count = atomic_load(&list->count);
	int r = 0;

	for (unsigned int i = from; i < count && !r && !*ret; i++)
		r = look_in(object_of(list, i), name, ret);
	return r;
}

static int look_in_scope(const struct scope *scope, const char *name, void **ret)
{
	struct list *list;
	int r = 0;

	for (unsigned int i = 0; !r && !*ret && (list = list_at(scope, i)); i++)
		r = look_through(list, list == loader.program ? loader.start_count : 0, name, ret);
	return r;
}

static int look_further(const struct link_map *caller, const char *name, void **ret)
{
	int r;

	if (!begin_to_read())
		return -EAGAIN;
	r = caller ? look_in_scope(scope_of(caller), name, ret)
		   : look_through(loader.program, loader.start_count, name, ret);
	end_reading();
	return r;
}

int gt_reach_find(const void *caller, const char *name, void **ret)
{
	find_fn find = atomic_load_explicit(&loader.find, memory_order_acquire);
	const struct link_map *object = NULL;
	int r;

	*ret = NULL;
	if (!find)
		return -EAGAIN;
	if (caller && !(object = object_at(find, caller)))
		return 0;
	r = look_at_start(name, ret);
	if (r || *ret || (!caller && atomic_load(&loader.program->count) == loader.start_count))
		return r;
	return look_further(object, name, ret);
}

bool gt_reach_is_ready(void)
{
	return atomic_load_explicit(&loader.find, memory_order_acquire);
}

bool gt_reach_object(const void *address, struct dl_phdr_info *ret)
{
	find_fn find = atomic_load_explicit(&loader.find, memory_order_acquire);
	const struct link_map *map = find ? object_at(find, address) : NULL;

	if (!map)
		return false;
	*ret = (struct dl_phdr_info){.dlpi_addr = map->l_addr,
				     .dlpi_name = map->l_name,
				     .dlpi_phdr = headers_of(map)->parts,
				     .dlpi_phnum = headers_of(map)->count};
	return true;
}

/* ---- finding out where ---- */

static int is_ours(struct dl_phdr_info *info, size_t size, void *context)
{
	struct dl_phdr_info *us = context;

	(void)size;
	if (info->dlpi_addr != us->dlpi_addr)
		return 0;
	*us = *info;
	return 1;
}

static bool find_headers(void)
{
	struct dl_phdr_info us = {.dlpi_addr = loader.ours->l_addr};

	if (!dl_iterate_phdr(is_ours, &us))
		return false;
	for (size_t i = FIRST_WORD; i < WORDS; i++) {
		loader.headers_at = i * sizeof(void *);
		if (headers_of(loader.ours)->parts == us.dlpi_phdr &&
		    headers_of(loader.ours)->count == us.dlpi_phnum)
			return true;
	}
	return false;
}

static bool find_scope(void)
{
	for (size_t i = FIRST_WORD; i + sizeof(struct scope) / sizeof(void *) <= WORDS; i++) {
		const struct scope *scope;

		loader.scope_at = i * sizeof(void *);
		scope = scope_of(loader.ours);
		if (scope->room == 4 && scope->lists == scope->first &&
		    scope->own[0] == list_of(loader.ours))
			return true;
	}
	return false;
}

/* The loader itself has no list of lists. A library linked with -Bsymbolic has one of its own in
 * front. What was opened has one more than the program's. */
static bool is_from_start(const struct link_map *object)
{
	struct list *const *lists = scope_of(object)->first;

	lists += *lists && *lists == list_of(object) + 1;
	return !*lists || (*lists == loader.program && !lists[1]);
}

/* The program's list is that of the first object, and has us. */
static bool find_start(void)
{
	const struct link_map *program = loader.ours;

	while (program->l_prev)
		program = program->l_prev;
	loader.program = scope_of(program)->first[0];
	if (loader.program != list_of(program) || loader.program->count > MOST)
		return false;
	loader.start = loader.program->objects;
	loader.start_count = loader.ours_at = loader.program->count;
	for (unsigned int i = 0; i < loader.start_count; i++) {
		if (!is_from_start(loader.start[i]))
			return false;
		if (loader.start[i] == loader.ours)
			loader.ours_at = i;
	}
	return loader.ours_at < loader.start_count && loader.start[0] == program;
}

__attribute__((constructor)) static void begin(void)
{
	find_fn find = (find_fn)dlsym(RTLD_DEFAULT, "_dl_find_object");

	if (!find) {
		dlerror();
		return;
	}
	loader.ours = object_at(find, (const void *)begin);
	if (loader.ours && find_headers() && find_scope() && find_start())
		atomic_store_explicit(&loader.find, find, memory_order_release);
}
