/* SPDX-License-Identifier: Apache-2.0
 *
 * What the program registers with NVTX once and refers to later: domains, strings, categories,
 * schemas, enumerations, counters. Immutable objects in one bounded arena, found through a hash
 * table; they live as long as the process, so that no handle dangles, whatever library made it.
 *
 * Any thread, no lock, no system call once started. When the arena is full, objects are refused and
 * counted.
 */
#ifndef GT_COLLECTORS_NVTX_REGISTRY_H
#define GT_COLLECTORS_NVTX_REGISTRY_H

#include <stddef.h>
#include <stdint.h>

/* Kind of an object. */
enum gt_nvtx_kind {
	GT_NVTX_DOMAIN = 1, /* key: text */
	GT_NVTX_STRING,     /* key: domain and text */
	GT_NVTX_CATEGORY,   /* key: domain and number; so are those below */
	GT_NVTX_SCHEMA,
	GT_NVTX_ENUM,
	GT_NVTX_COUNTER,
	GT_NVTX_THREAD, /* domain 0, number: its id */
};

/* An object of the registry: a domain, a string, a schema, a counter. */
struct gt_nvtx_object {
	const struct gt_nvtx_object *self; /* proves that a handle is an object */
	struct gt_nvtx_object *next;       /* in its bucket */
	uint64_t hash;
	uint64_t number;  /* the program's own number */
	const void *body; /* SCHEMA, ENUM, COUNTER: the struct of collectors/nvtx/payload.h */
	uint32_t domain;  /* reference of the domain, 0: the global one */
	uint16_t kind;
	uint16_t length;
	char text[]; /* zero-terminated */
};

/* Names longer than this are cut. */
#define GT_NVTX_NAME_MAX 1000u

/* Maps the table. May be called again, even by several threads at once. -ENOMEM. */
int gt_nvtx_registry_start(void);

/* @size zeroed bytes for a body, aligned to 16. NULL: the arena is full. */
void *gt_nvtx_registry_room(size_t size);

/* Key of an object; @length of @text at most GT_NVTX_NAME_MAX. */
struct gt_nvtx_key {
	enum gt_nvtx_kind kind;
	uint32_t domain;
	uint64_t number;
	const char *text;
	size_t length;
};

/* The object with this key, or NULL. */
const struct gt_nvtx_object *gt_nvtx_find(const struct gt_nvtx_key *key);

/* The object with this key, made if there is none. DOMAIN and STRING only. NULL: full. */
const struct gt_nvtx_object *gt_nvtx_find_or_add(const struct gt_nvtx_key *key);

/* Adds an object, which hides an older one with the same key. NULL: full. */
const struct gt_nvtx_object *gt_nvtx_add(const struct gt_nvtx_key *key, const void *body);

/* @handle from the program if it is an object of that kind, else NULL. */
const struct gt_nvtx_object *gt_nvtx_check(const void *handle, enum gt_nvtx_kind kind);

/* 32-bit references of objects, for records; 0: none. */
uint32_t gt_nvtx_reference(const struct gt_nvtx_object *object);
const struct gt_nvtx_object *gt_nvtx_at(uint32_t reference);

/* Number of refused objects. */
uint64_t gt_nvtx_registry_refused(void);

#endif
