/* SPDX-License-Identifier: Apache-2.0
 *
 * See keys.h. Any thread, one per set.
 */
#include "readers/chrome/keys.h"

void gt_keys_init(struct gt_keys *keys)
{
	memset(keys->slot, 0, sizeof(keys->slot));
	memset(keys->key, 0, GT_KEY_FIRST_ * sizeof(keys->key[0]));
	keys->count = GT_KEY_FIRST_;
}

#define SLOTS  (2 * GT_KEYS_MOST)
#define PROBES 8 /* names that collide on purpose cost no more than that */

static unsigned int slot_of(const struct gt_key_text *key)
{
	uint64_t hash = key->field;

	for (int i = 0; i < GT_KEY_WORDS; i++)
		hash = (hash ^ key->text[i]) * 0x9e3779b97f4a7c15u;
	return (hash >> 56) % SLOTS; /* a multiplication carries no bit down */
}

static int is_same(const struct gt_key_text *a, const struct gt_key_text *b)
{
	return a->length == b->length && a->field == b->field &&
	       !memcmp(a->text, b->text, sizeof(a->text));
}

/* The number of a key that is like @wanted, which is added if there is none, or GT_KEY_NONE. */
static unsigned int intern(struct gt_keys *keys, const struct gt_key_text *wanted)
{
	unsigned int slot = slot_of(wanted);

	for (int probe = 0; probe < PROBES; probe++, slot = (slot + 1) % SLOTS) {
		uint8_t *place = &keys->slot[slot];

		if (!*place) {
			*place = (uint8_t)keys->count;
			keys->key[keys->count] = *wanted;
			return keys->count++;
		}
		if (is_same(&keys->key[*place], wanted))
			return *place;
	}
	return GT_KEY_NONE;
}

unsigned int gt_keys_learn(struct gt_keys *keys, unsigned int last, const char *p, size_t length,
			   uint8_t field)
{
	struct gt_key_text wanted = {.length = (uint8_t)length, .field = field};
	unsigned int key;
	uint8_t *next;

	if (length > GT_KEY_BYTES)
		return GT_KEY_NONE;
	memcpy(wanted.text, p, length);
	memset(wanted.mask, 0xff, length);
	if (keys->count == GT_KEYS_MOST) {
		/* a file with names of its own for each event must not stop the others' */
		gt_keys_init(keys);
		last = GT_KEY_NONE;
	}
	key = intern(keys, &wanted);
	next = keys->key[last].next;
	if (last != GT_KEY_NONE && key != GT_KEY_NONE && next[0] != key) {
		next[1] = next[0];
		next[0] = (uint8_t)key;
	}
	return key;
}
