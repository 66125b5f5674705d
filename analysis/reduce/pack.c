/* SPDX-License-Identifier: Apache-2.0
 *
 * See pack.h.
 */
#include "analysis/reduce/pack.h"

#include <string.h>

static bool push(struct gt_pack *out, uint8_t byte)
{
	if (!out->failed && !gt_vec_push(&out->bytes, byte))
		out->failed = true;
	return !out->failed;
}

void gt_pack_put(struct gt_pack *out, uint64_t number)
{
	while (number > 0x7f && push(out, (uint8_t)(number | 0x80)))
		number >>= 7;
	push(out, (uint8_t)(number & 0x7f));
}

/* Small ones of both signs are short: 0, -1, 1, -2, ... */
void gt_pack_put_signed(struct gt_pack *out, int64_t number)
{
	gt_pack_put(out, (uint64_t)number << 1 ^ (number < 0 ? UINT64_MAX : 0));
}

void gt_pack_put_text(struct gt_pack *out, const char *text, size_t len)
{
	gt_pack_put(out, len);
	for (size_t i = 0; i < len && !out->failed; i++)
		push(out, (uint8_t)text[i]);
}

void gt_pack_fini(struct gt_pack *out)
{
	gt_vec_free(&out->bytes);
}

static uint64_t refuse(struct gt_pack_in *in)
{
	in->bad = true;
	in->at = in->end;
	return 0;
}

uint64_t gt_pack_take(struct gt_pack_in *in)
{
	uint64_t number = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint64_t bits;

		if (in->at == in->end)
			return refuse(in);
		bits = *in->at & 0x7f;
		if (bits << shift >> shift != bits)
			return refuse(in);
		number |= bits << shift;
		if (!(*in->at++ & 0x80))
			return number;
	}
	return refuse(in);
}

int64_t gt_pack_take_signed(struct gt_pack_in *in)
{
	uint64_t number = gt_pack_take(in);

	return (int64_t)(number >> 1 ^ (number & 1 ? UINT64_MAX : 0));
}

uint64_t gt_pack_take_most(struct gt_pack_in *in, uint64_t most)
{
	uint64_t number = gt_pack_take(in);

	return number <= most ? number : refuse(in);
}

size_t gt_pack_take_count(struct gt_pack_in *in)
{
	uint64_t count = gt_pack_take(in);

	return count <= (uint64_t)(in->end - in->at) ? (size_t)count : (size_t)refuse(in);
}

const char *gt_pack_take_text(struct gt_pack_in *in, size_t *ret_len)
{
	size_t len = gt_pack_take_count(in);
	const char *text = (const char *)in->at;

	*ret_len = len;
	if (!len)
		return "";
	if (memchr(text, 0, len)) {
		*ret_len = 0;
		refuse(in);
		return "";
	}
	in->at += len;
	return text;
}
