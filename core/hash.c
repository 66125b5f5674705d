/* SPDX-License-Identifier: Apache-2.0
 *
 * See hash.h. Both halves of a product with a secret number: every bit of the key reaches every bit
 * of the hash, in a way that depends on the seed.
 */
#include "core/hash.h"

#include <string.h>

static uint64_t secret[2] = {0x9e3779b97f4a7c15u, 0x9fb21c651e98df25u};

void gt_hash_set_seed(const uint64_t seed[2])
{
	secret[0] = seed[0];
	secret[1] = seed[1] | 1;
}

static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t gt_hash_word(uint64_t word)
{
	return fold(word ^ secret[0], secret[1] ^ 0xd6e8feb86659fd93u);
}

uint64_t gt_hash_pair(uint64_t a, uint64_t b)
{
	return gt_hash_word(gt_hash_word(a) ^ b);
}

uint64_t gt_hash_bytes(const void *data, size_t length)
{
	const unsigned char *p = data;
	uint64_t hash = length, word;

	for (; length >= 8; p += 8, length -= 8) {
		memcpy(&word, p, 8);
		hash = gt_hash_word(hash ^ word);
	}
	for (word = 0; length; length--)
		word = word << 8 | *p++;
	return gt_hash_word(hash ^ word);
}
