/* SPDX-License-Identifier: Apache-2.0
 *
 * The protocol-buffer encoder: bytes against those of the format's own documentation, and lengths
 * on both sides of every size of a length.
 */
#include <criterion/criterion.h>

#include "writers/perfetto/proto.h"

static void expect(const struct gt_proto *proto, const void *bytes, size_t size)
{
	cr_assert_not(proto->failed);
	cr_assert_eq(proto->length, size, "%zu bytes", proto->length);
	cr_assert_arr_eq(proto->data, bytes, size);
}

Test(proto, numbers)
{
	struct gt_proto proto;

	cr_assert_eq(gt_proto_init(&proto, 4096), 0);
	gt_proto_uint(&proto, 1, 150); /* the example of the encoding's documentation */
	expect(&proto, "\x08\x96\x01", 3);
	gt_proto_cut(&proto, 0);
	gt_proto_int(&proto, 1, -2);
	expect(&proto, "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
	gt_proto_cut(&proto, 0);
	gt_proto_uint(&proto, 3000, 0); /* a tag of three bytes */
	expect(&proto, "\xc0\xbb\x01\x00", 4);
	gt_proto_cut(&proto, 0);
	gt_proto_double(&proto, 2, 1.0);
	expect(&proto, "\x11\x00\x00\x00\x00\x00\x00\xf0\x3f", 9);
	gt_proto_cut(&proto, 0);
	gt_proto_cstr(&proto, 2, "testing");
	expect(&proto, "\x12\x07testing", 9);
	gt_proto_fini(&proto);
}

Test(proto, message_in_a_message)
{
	struct gt_proto proto;
	size_t outer, inner;

	cr_assert_eq(gt_proto_init(&proto, 4096), 0);
	outer = gt_proto_begin(&proto, 3);
	inner = gt_proto_begin(&proto, 4);
	gt_proto_uint(&proto, 1, 150);
	gt_proto_end(&proto, inner);
	gt_proto_end(&proto, outer);
	expect(&proto, "\x1a\x05\x22\x03\x08\x96\x01", 7);
	gt_proto_fini(&proto);
}

/* A varint at *at, which moves past it. */
static uint64_t get_varint(const struct gt_proto *proto, size_t *at)
{
	uint64_t value = 0;
	unsigned int shift = 0;

	do
		value |= (uint64_t)(proto->data[*at] & 0x7f) << shift;
	while (shift += 7, proto->data[(*at)++] & 0x80);
	return value;
}

Test(proto, numbers_of_every_size)
{
	struct gt_proto proto;

	cr_assert_eq(gt_proto_init(&proto, 4096), 0);
	for (unsigned int bits = 0; bits < 64; bits++)
		for (uint64_t less = 0; less < 2; less++) {
			uint64_t value = ((uint64_t)1 << bits) - less;
			size_t at = 1;
			size_t bytes = value ? (63 - (size_t)__builtin_clzll(value)) / 7 + 1 : 1;

			gt_proto_cut(&proto, 0);
			gt_proto_uint(&proto, 1, value);
			cr_assert_eq(get_varint(&proto, &at), value);
			cr_assert_eq(at, 1 + bytes);
			cr_assert_eq(proto.length, at);
		}
	gt_proto_fini(&proto);
}

Test(proto, lengths_of_every_size)
{
	static const size_t sizes[] = {0, 1, 126, 127, 128, 129, 16383, 16384, 70000, 2097152};
	static char text[2097152];
	struct gt_proto proto;

	cr_assert_eq(gt_proto_init(&proto, 64), 0);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i * 31);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t begin, at = 0, rest;

		gt_proto_cut(&proto, 0);
		begin = gt_proto_begin(&proto, 15);
		gt_proto_bytes(&proto, 1, text, sizes[i]);
		gt_proto_end(&proto, begin);
		cr_assert_not(proto.failed);
		cr_assert_eq(get_varint(&proto, &at), 15 << 3 | 2);
		rest = get_varint(&proto, &at);
		cr_assert_eq(at + rest, proto.length, "size %zu", sizes[i]);
		cr_assert_eq(get_varint(&proto, &at), 1 << 3 | 2);
		cr_assert_eq(get_varint(&proto, &at), sizes[i]);
		cr_assert_eq(memcmp(proto.data + at, text, sizes[i]), 0);
	}
	gt_proto_fini(&proto);
}
