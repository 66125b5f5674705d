/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/elf/behind.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/elf/elf_lookup.h"
#include "core/elf/reach.h"

#define HEADERS 1024u
#define KEPT    64u /* libraries to keep at the next closing */

/* A module that calls, as it was found behind so many closings. Its place is never given to another
 * one: what it went on to is kept by its number. */
struct module {
	_Atomic uintptr_t from, to;
	_Atomic uint64_t name; /* hash of its path and of its first bytes */
	_Atomic unsigned int closings;
};

static struct module callers[GT_BEHIND_CALLERS];
static _Atomic unsigned int caller_count, closings;
static __thread struct {
	const void *caller;
	unsigned int number;
} last;

struct module_search {
	uintptr_t address; /* in the module */
	uintptr_t from, to;
	uint64_t path;    /* hash, see above */
	const char *name; /* of a function in any other module */
	uintptr_t found;
};

/* Whether it is the module, and where that is. */
static bool covers(const struct dl_phdr_info *info, struct module_search *search)
{
	search->from = UINTPTR_MAX;
	search->to = 0;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD)
			continue;
		search->from = from < search->from ? from : search->from;
		search->to = from + part->p_memsz > search->to ? from + part->p_memsz : search->to;
	}
	return search->address >= search->from && search->address < search->to;
}

/* FNV-1a. */
static uint64_t hash(uint64_t start, const void *bytes, size_t count)
{
	const unsigned char *c = bytes;

	for (size_t i = 0; i < count; i++)
		start = (start ^ c[i]) * 0x100000001b3;
	return start;
}

/* The headers, and behind them the build id: another one after it was built again. */
static size_t headers_of(const struct dl_phdr_info *info, uintptr_t from)
{
	for (size_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_R &&
		    info->dlpi_addr + info->dlpi_phdr[i].p_vaddr == from)
			return info->dlpi_phdr[i].p_filesz < HEADERS ? info->dlpi_phdr[i].p_filesz
								     : HEADERS;
	return 0;
}

static int find_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct module_search *search = context;

	(void)size;
	if (!covers(info, search))
		return 0;
	search->path = hash(0, info->dlpi_name, strlen(info->dlpi_name));
	search->path =
		hash(search->path, (const void *)search->from, headers_of(info, search->from));
	return 1;
}

static int find_in_another(struct dl_phdr_info *info, size_t size, void *context)
{
	struct module_search *search = context;
	struct gt_elf elf;

	(void)size;
	if (covers(info, search) ||
	    gt_elf_open(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, &elf))
		return 0;
	search->found = gt_elf_find(&elf, search->name, NULL);
	return search->found != 0;
}

static bool is_at(const struct module *module, uintptr_t address)
{
	return address >= atomic_load(&module->from) && address < atomic_load(&module->to);
}

/* Something was closed since it was looked at: it may be another one now, which is then forgotten.
 */
static bool is_still(struct module *module, const struct module_search *now, unsigned int closed)
{
	bool same = now->from == atomic_load(&module->from) &&
		    now->to == atomic_load(&module->to) && now->path == atomic_load(&module->name);

	if (same)
		atomic_store(&module->closings, closed);
	else
		atomic_store(&module->to, 0);
	return same;
}

/* Its number; 0: there is no room for it. */
static unsigned int add(const struct module_search *found, unsigned int closed)
{
	unsigned int i = atomic_load(&caller_count) < GT_BEHIND_CALLERS
				 ? atomic_fetch_add(&caller_count, 1)
				 : GT_BEHIND_CALLERS;

	if (i >= GT_BEHIND_CALLERS)
		return 0;
	atomic_store(&callers[i].from, found->from);
	atomic_store(&callers[i].name, found->path);
	atomic_store(&callers[i].closings, closed);
	atomic_store(&callers[i].to, found->to);
	return i + 1;
}

static bool find_caller(struct module_search *search)
{
	struct dl_phdr_info info;

	if (!gt_reach_is_ready())
		return dl_iterate_phdr(find_module, search);
	return gt_reach_object((const void *)search->address, &info) &&
	       find_module(&info, sizeof(info), search);
}

static unsigned int number_of(const void *caller)
{
	struct module_search search = {.address = (uintptr_t)caller};
	unsigned int i = 0, closed = atomic_load(&closings);

	while (i < GT_BEHIND_CALLERS && !is_at(&callers[i], search.address))
		i++;
	if (i < GT_BEHIND_CALLERS && atomic_load(&callers[i].closings) == closed)
		return i + 1;
	if (!find_caller(&search))
		return 0;
	return i < GT_BEHIND_CALLERS && is_still(&callers[i], &search, closed)
		       ? i + 1
		       : add(&search, closed);
}

/* Libraries that are to stay: where they begin, 0: free. A call may not wait for the loader, a
 * closing does: what has been found is kept just before. */
static struct {
	_Atomic uintptr_t from;
	_Atomic bool is_done;
} kept[KEPT];

/* False: there is no room. */
static bool keep_later(const void *found)
{
	struct module_search search = {.address = (uintptr_t)found};

	if (!gt_reach_is_ready() || !find_caller(&search))
		return false;
	for (size_t i = 0; i < KEPT; i++) {
		uintptr_t none = 0;

		if (atomic_load(&kept[i].from) == search.from ||
		    atomic_compare_exchange_strong(&kept[i].from, &none, search.from))
			return true;
	}
	return false;
}

void gt_behind_close(void)
{
	for (size_t i = 0; i < KEPT; i++) {
		uintptr_t from = atomic_load(&kept[i].from);

		if (!from || atomic_load(&kept[i].is_done))
			continue;
		gt_elf_keep((const void *)from);
		atomic_store(&kept[i].is_done, true);
	}
	gt_reach_close();
}

void gt_behind_closed(void)
{
	gt_reach_closed();
	atomic_fetch_add(&closings, 1);
}

static bool is_ours(const void *address)
{
	Dl_info of, ours;

	return dladdr(address, &of) && dladdr((const void *)is_ours, &ours) &&
	       of.dli_fbase == ours.dli_fbase;
}

/* What @caller was loaded with. The program itself was loaded with what has been looked at, and
 * with us. */
static void *look_beside(const void *caller, const char *name)
{
	void *handle, *found = NULL;
	Dl_info info;

	if (!dladdr(caller, &info) || !info.dli_fname || !strchr(info.dli_fname, '/'))
		return NULL;
	handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (handle) {
		found = dlsym(handle, name);
		dlclose(handle);
	}
	dlerror(); /* the program did not ask */
	return found && is_ours(found) ? NULL : found;
}

static void *look_elsewhere(const char *name, const char *const *sonames)
{
	struct module_search search = {.address = (uintptr_t)look_elsewhere, .name = name};

	for (size_t i = 0; sonames[i] && !search.found; i++)
		search.found = gt_elf_find_loaded(sonames[i], name, NULL);
	if (!search.found)
		dl_iterate_phdr(find_in_another, &search);
	return (void *)search.found;
}

static void *look(const void *caller, const char *name, const char *const *sonames)
{
	void *found = NULL;

	if (caller && gt_reach_find(caller, name, &found))
		found = look_beside(caller, name);

	return found ? found : look_elsewhere(name, sonames);
}

/* The library stays where it is; a module that has the function itself may go. */
static void *keep(void *_Atomic *slot, void *found, const struct module *caller)
{
	if (found && (!caller || !is_at(caller, (uintptr_t)found)) && !keep_later(found))
		gt_elf_keep(found);
	atomic_store_explicit(slot, found ? found : GT_BEHIND_NONE, memory_order_relaxed);
	return found;
}

static void *look_for_all(struct gt_behind *behind, const char *name)
{
	void *found = atomic_load_explicit(&behind->of[0], memory_order_relaxed);

	if (found)
		return found == GT_BEHIND_NONE ? NULL : found;
	if (gt_reach_find(NULL, name, &found)) {
		found = dlsym(RTLD_NEXT, name);
		if (!found)
			dlerror();
	}
	return keep(&behind->of[0], found, NULL);
}

static void *look_for_one(struct gt_behind *behind, const char *name, const char *const *sonames)
{
	void *_Atomic *slot = &behind->of[last.number];
	void *found = last.number ? atomic_load_explicit(slot, memory_order_relaxed) : NULL;

	if (found)
		return found == GT_BEHIND_NONE ? NULL : found;
	found = look(last.caller, name, sonames);
	return last.number ? keep(slot, found, &callers[last.number - 1]) : found;
}

void *gt_behind_ask(struct gt_behind *behind, const char *name, const char *const *sonames)
{
	void *found = gt_behind_known(behind);
	int saved = errno;

	if (!found)
		found = look_for_all(behind, name);
	if (!found)
		found = look_for_one(behind, name, sonames);
	errno = saved;
	return found;
}

void *gt_behind_look(struct gt_behind *behind, const char *name, const char *const *sonames,
		     const void *caller)
{
	int saved = errno;
	void *found = look_for_all(behind, name);

	last.number = found ? 0 : number_of(caller);
	last.caller = caller;
	if (!found)
		found = look_for_one(behind, name, sonames);
	errno = saved;
	return found;
}

unsigned int gt_behind_caller(void)
{
	return last.number;
}
