/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Numbers are coded by 7 bits to a byte: those of real networks are small.
 */
#include "core/schema/calls/shapes.h"

#include "core/guest/text.h"

#define CONVOLUTION 0x80u /* of the first byte, beside the rank */
#define CONTINUED   0x80u
#define PREFIX      2u /* N and C */

/* ---- in few bytes ---- */

struct bytes {
	uint8_t *out;
	const uint8_t *in;
	size_t at;
	bool failed;
};

static void put(struct bytes *b, uint64_t number)
{
	do {
		bool more = number > 127;

		if (b->at >= GT_SHAPES_BYTES) {
			b->failed = true;
			return;
		}
		b->out[b->at++] = (uint8_t)((number & 127) | (more ? CONTINUED : 0));
		number >>= 7;
	} while (number);
}

static uint64_t get(struct bytes *b)
{
	uint64_t number = 0;
	unsigned int bit = 0;
	uint8_t byte;

	do {
		if (b->at >= GT_SHAPES_BYTES || bit > 56) {
			b->failed = true;
			return 0;
		}
		byte = b->in[b->at++];
		number |= (uint64_t)(byte & 127) << bit;
		bit += 7;
	} while (byte & CONTINUED);
	return number;
}

static bool is_possible(const struct gt_shapes *s)
{
	if (!s->rank || s->rank > GT_SHAPES_RANK)
		return false;
	return !s->is_convolution || (s->rank > PREFIX && s->rank <= PREFIX + GT_SHAPES_PLACE);
}

bool gt_shapes_code(const struct gt_shapes *s, uint8_t out[GT_SHAPES_BYTES])
{
	struct bytes b = {.out = out, .at = 1};

	out[0] = 0;
	if (!is_possible(s))
		return false;
	for (unsigned int i = 0; i < s->rank; i++)
		put(&b, s->input[i]);
	if (s->is_convolution) {
		put(&b, s->channels);
		put(&b, s->groups);
	}
	for (unsigned int i = 0; s->is_convolution && i < s->rank - PREFIX; i++) {
		put(&b, s->filter[i]);
		put(&b, s->padding[i]);
		put(&b, s->stride[i]);
		put(&b, s->dilation[i]);
	}
	if (!b.failed)
		out[0] = (uint8_t)(s->rank | (s->is_convolution ? CONVOLUTION : 0));
	return !b.failed;
}

bool gt_shapes_decode(const uint8_t in[GT_SHAPES_BYTES], struct gt_shapes *ret_shapes)
{
	struct bytes b = {.in = in, .at = 1};
	struct gt_shapes *s = ret_shapes;

	*s = (struct gt_shapes){.rank = in[0] & ~CONVOLUTION,
				.is_convolution = (in[0] & CONVOLUTION) != 0};
	if (!is_possible(s))
		return false;
	for (unsigned int i = 0; i < s->rank; i++)
		s->input[i] = get(&b);
	if (s->is_convolution) {
		s->channels = get(&b);
		s->groups = get(&b);
	}
	for (unsigned int i = 0; s->is_convolution && i < s->rank - PREFIX; i++) {
		s->filter[i] = get(&b);
		s->padding[i] = get(&b);
		s->stride[i] = get(&b);
		s->dilation[i] = get(&b);
	}
	return !b.failed;
}

/* ---- the output ---- */

static uint64_t times(uint64_t a, uint64_t b, bool *failed)
{
	*failed |= __builtin_mul_overflow(a, b, &a);
	return a;
}

uint64_t gt_shapes_output(const struct gt_shapes *s, unsigned int i)
{
	bool failed = !s->stride[i] || !s->filter[i];
	uint64_t reach = failed ? 0 : times(s->filter[i] - 1, s->dilation[i], &failed) + 1;
	uint64_t room = times(s->padding[i], 2, &failed);

	failed |= __builtin_add_overflow(room, s->input[PREFIX + i], &room) || room < reach;
	return failed ? 0 : (room - reach) / s->stride[i] + 1;
}

static uint64_t of_group(const struct gt_shapes *s)
{
	return s->groups ? s->input[1] / s->groups : 0;
}

/* ---- as text ---- */

static size_t put_list(const uint64_t *numbers, unsigned int count, char *out)
{
	size_t n = 0;

	for (unsigned int i = 0; i < count; i++) {
		if (i)
			out[n++] = 'x';
		n += gt_text_decimal(out + n, numbers[i]);
	}
	out[n] = 0;
	return n;
}

static size_t put_filter(const struct gt_shapes *s, unsigned int places, char *out)
{
	uint64_t numbers[PREFIX + GT_SHAPES_PLACE] = {s->channels, of_group(s)};

	for (unsigned int i = 0; i < places; i++)
		numbers[PREFIX + i] = s->filter[i];
	return put_list(numbers, PREFIX + places, out);
}

static size_t put_output(const struct gt_shapes *s, unsigned int places, char *out)
{
	uint64_t numbers[PREFIX + GT_SHAPES_PLACE] = {s->input[0], s->channels};

	for (unsigned int i = 0; i < places; i++)
		numbers[PREFIX + i] = gt_shapes_output(s, i);
	return put_list(numbers, PREFIX + places, out);
}

size_t gt_shapes_text(const struct gt_shapes *s, enum gt_shapes_part part, char out[GT_SHAPES_TEXT])
{
	const uint64_t *const lists[GT_SHAPES_PART_COUNT_] = {[GT_SHAPES_OF_PADDING] = s->padding,
							      [GT_SHAPES_OF_STRIDE] = s->stride,
							      [GT_SHAPES_OF_DILATION] =
								      s->dilation};
	unsigned int places = s->is_convolution && is_possible(s) ? s->rank - PREFIX : 0;

	*out = 0;
	if (part == GT_SHAPES_OF_INPUT)
		return put_list(s->input, is_possible(s) ? s->rank : 0, out);
	if (!places)
		return 0;
	if (part == GT_SHAPES_OF_FILTER)
		return put_filter(s, places, out);
	if (part == GT_SHAPES_OF_OUTPUT)
		return put_output(s, places, out);
	if (part == GT_SHAPES_OF_GROUPS)
		return put_list(&s->groups, 1, out);
	return part < GT_SHAPES_PART_COUNT_ && lists[part] ? put_list(lists[part], places, out) : 0;
}

static unsigned int read_list(const char *text, size_t length, uint64_t numbers[GT_SHAPES_RANK])
{
	unsigned int count = 0;

	for (size_t i = 0; i < length && count < GT_SHAPES_RANK; i++) {
		uint64_t number = 0;

		for (; i < length && text[i] >= '0' && text[i] <= '9'; i++)
			number = number * 10 + (uint64_t)(text[i] - '0');
		numbers[count++] = number;
	}
	return count;
}

static void take_filter(struct gt_shapes *s, const uint64_t *numbers, unsigned int count)
{
	if (count != s->rank || count <= PREFIX || count > PREFIX + GT_SHAPES_PLACE)
		return;
	s->is_convolution = true;
	s->channels = numbers[0];
	s->groups = numbers[1] ? s->input[1] / numbers[1] : 0;
	for (unsigned int i = 0; i < count - PREFIX; i++) {
		s->filter[i] = numbers[PREFIX + i];
		s->stride[i] = s->dilation[i] = 1;
	}
}

void gt_shapes_parse(struct gt_shapes *s, enum gt_shapes_part part, const char *text, size_t length)
{
	uint64_t numbers[GT_SHAPES_RANK] = {0};
	unsigned int count = read_list(text, length, numbers);
	uint64_t *list = part == GT_SHAPES_OF_PADDING  ? s->padding
			 : part == GT_SHAPES_OF_STRIDE ? s->stride
						       : s->dilation;

	if (part == GT_SHAPES_OF_INPUT) {
		s->rank = count;
		for (unsigned int i = 0; i < count; i++)
			s->input[i] = numbers[i];
	} else if (part == GT_SHAPES_OF_FILTER) {
		take_filter(s, numbers, count);
	} else if (part == GT_SHAPES_OF_GROUPS) {
		s->groups = numbers[0];
	} else if (part != GT_SHAPES_OF_OUTPUT) {
		for (unsigned int i = 0; i < count && i < GT_SHAPES_PLACE; i++)
			list[i] = numbers[i];
	}
}
