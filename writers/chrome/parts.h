/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of lines that many lines have in common: printed once, then copied. Each is what the
 * printer has appended, under the key of all that it depends on. Drain thread only.
 */
#ifndef GT_WRITERS_CHROME_PARTS_H
#define GT_WRITERS_CHROME_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/json/json.h"

#define GT_CHROME_SHORT_SLOTS  64u
#define GT_CHROME_SHORT_BYTES  96u
#define GT_CHROME_CALL_SLOTS   64u
#define GT_CHROME_CALL_BYTES   192u
#define GT_CHROME_LAUNCH_FEW   32u
#define GT_CHROME_LAUNCH_MANY  1024u /* once these are too few, if there is the memory */
#define GT_CHROME_LAUNCH_BYTES 312u
#define GT_CHROME_RECENT       64u
#define GT_CHROME_REGISTERS    9u /* in the sizes of a launch configuration */

/* What a short part is: the last word of its key. */
enum { GT_CHROME_PART_WHERE, GT_CHROME_PART_PLACE };

/* Of a track or a stream. The options of a file are no part of keys: there are parts for each. */
struct gt_chrome_short {
	uint32_t key[4];
	uint8_t length; /* 0: empty */
	char text[GT_CHROME_SHORT_BYTES];
};

/* The line of a call up to its time, by the call and its thread. */
struct gt_chrome_call_part {
	uint32_t name, tid, domain;
	uint32_t length; /* 0: empty */
	char text[GT_CHROME_CALL_BYTES];
};

/* What a launch configuration prints. */
struct gt_chrome_launch_key {
	uint32_t sizes[14]; /* grid to local memory of struct gt_kernel_event */
	uint32_t flags, priority, channel, est_percent, percent;
	uint32_t tag; /* of the first sizes and the registers, in which most differ */
	uint64_t blocks, warps;
};

/* The text of one. */
struct gt_chrome_launch_part {
	struct gt_chrome_launch_key key;
	uint32_t configuration; /* of the kernel that it was found for last; 0: it has none */
	uint32_t length;        /* 0: empty */
	char text[GT_CHROME_LAUNCH_BYTES];
};

/* Of a file. */
struct gt_chrome_parts {
	struct gt_chrome_short shorts[GT_CHROME_SHORT_SLOTS];
	struct gt_chrome_call_part calls[GT_CHROME_CALL_SLOTS];
	struct gt_chrome_launch_part few[GT_CHROME_LAUNCH_FEW];
	struct gt_chrome_launch_part *launches; /* these, or many */
	uint32_t launch_slots;
	bool stays;                                             /* as large as it is */
	struct gt_chrome_launch_part *recent[GT_CHROME_RECENT]; /* by configuration; NULL: none */
};

/* NULL: no memory. _free of NULL is fine. */
struct gt_chrome_parts *gt_chrome_parts_new(void);
void gt_chrome_parts_free(struct gt_chrome_parts *parts);

/* Makes room for more launch configurations; those that are known are forgotten. False: it stays as
 * it is. */
bool gt_chrome_parts_grow(struct gt_chrome_parts *parts);

/* The slot of a short part; its text is the one of @key if that is its key. */
static inline struct gt_chrome_short *gt_chrome_short_slot(struct gt_chrome_parts *parts,
							   const uint32_t key[4])
{
	uint32_t hash = key[0] + key[1] * 5 + key[2] * 13 + key[3] * 29;

	return &parts->shorts[(hash ^ hash >> 6) % GT_CHROME_SHORT_SLOTS];
}

/* Copies the part, if the slot has it. */
static inline bool gt_chrome_short_put(const struct gt_chrome_short *slot, const uint32_t key[4],
				       struct gt_json *json)
{
	if (!slot->length || memcmp(slot->key, key, sizeof(slot->key)))
		return false;
	gt_json_short(json, slot->text, slot->length, GT_CHROME_SHORT_BYTES);
	return true;
}

/* Keeps what was printed from @begin on. */
static inline void gt_chrome_short_keep(struct gt_chrome_short *slot, const uint32_t key[4],
					const struct gt_json *json, size_t begin)
{
	size_t length = json->length - begin;

	if (json->failed || length > GT_CHROME_SHORT_BYTES)
		return;
	memcpy(slot->key, key, sizeof(slot->key));
	memcpy(slot->text, json->text + begin, length);
	slot->length = (uint8_t)length;
}

/* The slot of a call. */
static inline struct gt_chrome_call_part *gt_chrome_call_slot(struct gt_chrome_parts *parts,
							      uint32_t name, uint32_t tid)
{
	uint32_t hash = (name * 31 + tid) * 0x9e3779b9u;

	return &parts->calls[hash >> 26];
}

/* The slot of a launch configuration, of which it sets the tag: one of four. */
static inline struct gt_chrome_launch_part *gt_chrome_launch_slot(struct gt_chrome_parts *parts,
								  struct gt_chrome_launch_key *key,
								  bool *ret_known)
{
	struct gt_chrome_launch_part *part;
	uint64_t words[3], hash = key->sizes[GT_CHROME_REGISTERS];

	memcpy(words, key->sizes, sizeof(words));
	for (size_t i = 0; i < 3; i++)
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u;
	key->tag = (uint32_t)(hash >> 32);
	part = &parts->launches[key->tag & (parts->launch_slots - 1) & ~3u];
	*ret_known = true;
	for (int way = 0; way < 4; way++) {
		if (!part[way].length) {
			*ret_known = false;
			return &part[way];
		}
		if (part[way].key.tag == key->tag && !memcmp(&part[way].key, key, sizeof(*key)))
			return &part[way];
	}
	*ret_known = false;
	if (!parts->stays && gt_chrome_parts_grow(parts))
		return &parts->launches[key->tag & (parts->launch_slots - 1) & ~3u];
	return &part[key->tag >> 30];
}

/* The part that was found last for this configuration; NULL: none. */
static inline struct gt_chrome_launch_part *gt_chrome_launch_recent(
	const struct gt_chrome_parts *parts, uint32_t configuration)
{
	struct gt_chrome_launch_part *part = parts->recent[configuration % GT_CHROME_RECENT];

	return configuration && part && part->configuration == configuration ? part : NULL;
}

#endif
