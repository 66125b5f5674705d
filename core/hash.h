/* SPDX-License-Identifier: Apache-2.0
 *
 * Hashes for tables. Who reads files of strangers sets a seed first: without knowing it nobody can
 * choose keys that collide. No result may depend on the order of a table. Any thread.
 */
#ifndef GT_CORE_HASH_H
#define GT_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Takes 16 random bytes. Once, before the first table; tables made before are of no use then. */
void gt_hash_set_seed(const uint64_t seed[2]);

/* Of a number, of two, of @length bytes: all 64 bits of it may be used. */
uint64_t gt_hash_word(uint64_t word);

/* See gt_hash_word(). */
uint64_t gt_hash_pair(uint64_t a, uint64_t b);

/* See gt_hash_word(). */
uint64_t gt_hash_bytes(const void *data, size_t length);

#endif
