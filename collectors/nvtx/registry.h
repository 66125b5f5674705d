/* SPDX-License-Identifier: Apache-2.0
 *
 * What the program registers with NVTX once and refers to later: domains, strings, categories,
 * schemas, enumerations, counters. Immutable objects in one bounded arena, found through a hash
 * table; they live as long as the process, so that a handle never dangles, whatever library made
 * it.
 *
 * Any thread, no lock, no system call once started. A full arena refuses, which is counted.
 */
#ifndef GT_COLLECTORS_NVTX_REGISTRY_H
#define GT_COLLECTORS_NVTX_REGISTRY_H

#include <stddef.h>
#include <stdint.h>

/* What an object of the registry is. */
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
	const struct gt_nvtx_object
		*self;               /* tells an object from anything else that is passed in */
	struct gt_nvtx_object *next; /* in its bucket */
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

/* Maps the table. May be called again, by several threads at once. -ENOMEM. */
int gt_nvtx_registry_start(void);

/* @size zeroed bytes for a body, aligned to 16. NULL: the arena is full. */
void *gt_nvtx_registry_room(size_t size);

/* What an object is known by; @length of @text at most GT_NVTX_NAME_MAX. */
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

/* A new object; it hides an older one with the same key. NULL: full. */
const struct gt_nvtx_object *gt_nvtx_add(const struct gt_nvtx_key *key, const void *body);

/* @handle as the program gave it back, if it is an object of that kind, else NULL. */
const struct gt_nvtx_object *gt_nvtx_check(const void *handle, enum gt_nvtx_kind kind);

/* Objects as 32-bit references for records; 0 is none. */
uint32_t gt_nvtx_reference(const struct gt_nvtx_object *object);
const struct gt_nvtx_object *gt_nvtx_at(uint32_t reference);

/* How many objects were refused. */
uint64_t gt_nvtx_registry_refused(void);

#endif
