/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes of tensors and of convolutions, in few bytes, and how much a convolution computes. Numbers
 * are the program's, bytes may come from anywhere: any may be wrong. Pure functions, any thread.
 */
#ifndef GT_CORE_SCHEMA_CALLS_SHAPES_H
#define GT_CORE_SCHEMA_CALLS_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GT_SHAPES_RANK  8 /* of tensors, at most */
#define GT_SHAPES_PLACE 3 /* places in which a filter moves, at most */
#define GT_SHAPES_BYTES 32

/* Of a convolution: N and C, and as many places; a transposed one is the convolution that it is the
 * gradient of. */
struct gt_shapes {
	unsigned int rank; /* of the input; 0: there is none */
	bool is_convolution;
	uint64_t input[GT_SHAPES_RANK];
	uint64_t channels; /* of the output */
	uint64_t groups;
	uint64_t filter[GT_SHAPES_PLACE], padding[GT_SHAPES_PLACE], stride[GT_SHAPES_PLACE],
		dilation[GT_SHAPES_PLACE];
};

/* Sizes that take more bytes are left out: false, and the first byte is 0. */
bool gt_shapes_code(const struct gt_shapes *shapes, uint8_t out[GT_SHAPES_BYTES]);

/* False: there are none. */
bool gt_shapes_decode(const uint8_t in[GT_SHAPES_BYTES], struct gt_shapes *ret_shapes);

/* A number of the output, that of place @i. 0: there is none. */
uint64_t gt_shapes_output(const struct gt_shapes *shapes, unsigned int i);

#define GT_SHAPES_TEXT 112

/* What has a text of its own. */
enum gt_shapes_part {
	GT_SHAPES_OF_INPUT,
	GT_SHAPES_OF_FILTER,
	GT_SHAPES_OF_OUTPUT,
	GT_SHAPES_OF_PADDING,
	GT_SHAPES_OF_STRIDE,
	GT_SHAPES_OF_DILATION,
	GT_SHAPES_OF_GROUPS,
	GT_SHAPES_PART_COUNT_
};

/* "8x64x56x56": of a tensor, and what a convolution has in its places. Returns the length. */
size_t gt_shapes_text(const struct gt_shapes *shapes, enum gt_shapes_part part,
		      char out[GT_SHAPES_TEXT]);

/* And back, in the order of the parts; the output follows from the others. */
void gt_shapes_parse(struct gt_shapes *shapes, enum gt_shapes_part part, const char *text,
		     size_t length);

#endif
