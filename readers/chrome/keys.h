/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands between two values of an event, learned from the events before. A file has few
 * sequences of keys, so the text up to a value is compared with what followed the same key before,
 * as a whole (", \"stream\": "), and is scanned only if it differs. What is equal to text that was
 * scanned in the same place needs no second scan. One thread per set.
 */
#ifndef GT_READERS_CHROME_KEYS_H
#define GT_READERS_CHROME_KEYS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GT_KEY_WORDS 4                  /* of text; a longer one is not learned */
#define GT_KEY_BYTES (GT_KEY_WORDS * 8) /* readable behind the scanned text */
#define GT_KEYS_MOST 128                /* then it starts again */

/* Places that have no text: what is unknown, and the beginning of an object. */
enum {
	GT_KEY_NONE,
	GT_KEY_BEGIN,
	GT_KEY_FIRST_,
};

/* Text before a value. */
struct gt_key_text {
	uint64_t text[GT_KEY_WORDS], mask[GT_KEY_WORDS];
	uint8_t length;  /* bytes */
	uint8_t field;   /* the caller's name of this key */
	uint8_t next[2]; /* keys that followed, the last one first */
};

/* The keys of one kind of object: an index of one set means nothing in another. */
struct gt_keys {
	unsigned int count;
	uint8_t slot[2 * GT_KEYS_MOST]; /* hash of the text -> key */
	struct gt_key_text key[GT_KEYS_MOST];
};

/* Whether @key is at @p. */
static inline int gt_key_text_is_at(const struct gt_key_text *key, const char *p)
{
	uint64_t text[GT_KEY_WORDS], differ = 0;

	memcpy(text, p, sizeof(text));
	for (int i = 0; i < GT_KEY_WORDS; i++)
		differ |= (text[i] ^ key->text[i]) & key->mask[i];
	return !differ;
}

/* The key behind @last whose text is at @p, or GT_KEY_NONE. Reads GT_KEY_BYTES at @p. */
static inline unsigned int gt_keys_expect(const struct gt_keys *keys, unsigned int last,
					  const char *p)
{
	const uint8_t *next = keys->key[last].next;

	if (next[0] && gt_key_text_is_at(&keys->key[next[0]], p))
		return next[0];
	return next[1] && gt_key_text_is_at(&keys->key[next[1]], p) ? next[1] : GT_KEY_NONE;
}

/* Prepares an empty set. */
void gt_keys_init(struct gt_keys *keys);

/* Learns that the @length bytes at @p are the text of @field, behind the key @last. Returns the
 * key, or GT_KEY_NONE if it is too long or has no place. */
unsigned int gt_keys_learn(struct gt_keys *keys, unsigned int last, const char *p, size_t length,
			   uint8_t field);

#endif
