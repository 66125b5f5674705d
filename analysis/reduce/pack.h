/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers and texts as bytes for another process: numbers of 7 bits a byte, the lowest first. Who
 * reads them trusts nothing: what does not fit makes the whole reading bad, and all that follows
 * reads as 0. One thread per message.
 */
#ifndef GT_ANALYSIS_REDUCE_PACK_H
#define GT_ANALYSIS_REDUCE_PACK_H

#include <stdint.h>

#include "readers/vec.h"

/* A message in the making. */
struct gt_pack {
	GT_VEC(uint8_t) bytes;
	bool failed; /* no memory */
};

/* One that is read; the bytes are the caller's. */
struct gt_pack_in {
	const uint8_t *at, *end;
	bool bad;
};

/* Append a number, or a text of @len bytes without a NUL. */
void gt_pack_put(struct gt_pack *out, uint64_t number);
void gt_pack_put_signed(struct gt_pack *out, int64_t number);
void gt_pack_put_text(struct gt_pack *out, const char *text, size_t len);
/* Frees the bytes. Also of a zeroed struct. */
void gt_pack_fini(struct gt_pack *out);

/* The next number. */
uint64_t gt_pack_take(struct gt_pack_in *in);
int64_t gt_pack_take_signed(struct gt_pack_in *in);

/* The next number, if it is at most @most. */
uint64_t gt_pack_take_most(struct gt_pack_in *in, uint64_t most);

/* How many things of a byte or more each follow: never more than the bytes that are left. */
size_t gt_pack_take_count(struct gt_pack_in *in);

/* The next text: in the bytes, not terminated. "" of a bad message. */
const char *gt_pack_take_text(struct gt_pack_in *in, size_t *ret_len);

#endif
