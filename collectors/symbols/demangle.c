/* SPDX-License-Identifier: Apache-2.0
 *
 * Demangling by the process's libstdc++, see the header. Drain thread only.
 */
#include "collectors/symbols/demangle.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/symbols/mangled.h"
#include "core/guest/forkgate.h"
#include "core/guest/memory.h"

typedef char *demangle_fn(const char *, char *, size_t *, int *);

#define RECENT_LOG2 8

/* The name that lay at an address last. */
struct recent {
	const char *at; /* NULL: none */
	const struct gt_string *readable, *mangled;
};

struct gt_demangle {
	struct gt_intern *pool;
	demangle_fn *call; /* NULL: not searched, or not found */
	bool has_looked;
	const struct gt_string **readable; /* by id of the mangled string, NULL: not known yet */
	uint32_t size;
	struct recent recent[1u << RECENT_LOG2];
};

struct gt_demangle *gt_demangle_new(struct gt_intern *pool)
{
	struct gt_demangle *demangle = gt_memory_map(sizeof(*demangle));

	if (demangle)
		demangle->pool = pool;
	return demangle;
}

void gt_demangle_free(struct gt_demangle *demangle)
{
	if (!demangle)
		return;
	gt_memory_unmap(demangle->readable, demangle->size * sizeof(*demangle->readable));
	gt_memory_unmap(demangle, sizeof(*demangle));
}

static demangle_fn *find_demangler(void)
{
	const char *name = "libstdc++.so.6";
	demangle_fn *found;
	void *handle;

	gt_forkgate_lock();
	handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD | RTLD_LOCAL);
	if (!handle)
		handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	found = handle ? gt_forkgate_symbol(handle, "__cxa_demangle") : NULL;
	gt_forkgate_unlock();
	return found;
}

/* The cached answer for the string @id. NULL: no memory. */
static const struct gt_string **answer_of(struct gt_demangle *demangle, uint32_t id)
{
	uint32_t size = demangle->size ? demangle->size : 1024;
	void *grown;

	while (size <= id)
		size *= 2;
	if (size != demangle->size) {
		grown = gt_memory_grow(demangle->readable,
				       demangle->size * sizeof(*demangle->readable),
				       size * sizeof(*demangle->readable));
		if (!grown)
			return NULL;
		demangle->readable = grown;
		demangle->size = size;
	}
	return &demangle->readable[id];
}

/* The program's allocator may hold a lock that a forked child would inherit. */
static char *call_demangler(const struct gt_demangle *demangle, const char *name)
{
	int status;
	char *text;

	gt_forkgate_lock();
	text = demangle->call(name, NULL, NULL, &status);
	gt_forkgate_unlock();
	return text;
}

static void free_text(char *text)
{
	gt_forkgate_lock();
	free(text);
	gt_forkgate_unlock();
}

static const struct gt_string *make_readable(struct gt_demangle *demangle,
					     const struct gt_string *name)
{
	const struct gt_string *readable;
	char *text;

	if (gt_mangled_expansion(name->text, name->length) > GT_DEMANGLE_TEXT_MAX)
		return name;
	if (!demangle->has_looked) {
		demangle->has_looked = true;
		demangle->call = find_demangler();
	}
	if (!demangle->call)
		return name;
	text = call_demangler(demangle, name->text);
	if (!text)
		return name;
	readable = gt_intern_cstr(demangle->pool, text);
	free_text(text);
	return readable;
}

/* The place for the answer. NULL: @mangled stays as it is, or there is no memory. */
static const struct gt_string **place_of(struct gt_demangle *demangle,
					 const struct gt_string *mangled)
{
	if (mangled->length > GT_DEMANGLE_MAX || strncmp(mangled->text, "_Z", 2) != 0)
		return NULL;
	return answer_of(demangle, mangled->id);
}

const struct gt_string *gt_demangle_both(struct gt_demangle *demangle, const char *name,
					 size_t length, const struct gt_string **ret_mangled)
{
	const struct gt_string *mangled = gt_intern_get(demangle->pool, name, length);
	const struct gt_string **answer = place_of(demangle, mangled);

	if (answer && !*answer)
		*answer = make_readable(demangle, mangled);
	*ret_mangled = answer && *answer != mangled ? mangled : NULL;
	return answer ? *answer : mangled;
}

const struct gt_string *gt_demangle_at(struct gt_demangle *demangle, const char *name,
				       const struct gt_string **ret_mangled)
{
	uint64_t hash = (uintptr_t)name * 0x9e3779b97f4a7c15u;
	struct recent *recent = &demangle->recent[hash >> (64 - RECENT_LOG2)];
	const struct gt_string *then = recent->mangled ? recent->mangled : recent->readable;

	if (recent->at != name || strcmp(then->text, name) != 0) {
		recent->at = name;
		recent->readable = gt_demangle_both(demangle, name, strlen(name), &recent->mangled);
	}
	*ret_mangled = recent->mangled;
	return recent->readable;
}

const struct gt_string *gt_demangle_get(struct gt_demangle *demangle, const char *name,
					size_t length)
{
	const struct gt_string *mangled;

	return gt_demangle_both(demangle, name, length, &mangled);
}

bool gt_demangle_learn(struct gt_demangle *demangle, const struct gt_string *mangled,
		       const struct gt_string *readable)
{
	const struct gt_string **answer = place_of(demangle, mangled);

	if (answer && !*answer)
		*answer = readable;
	return answer;
}
