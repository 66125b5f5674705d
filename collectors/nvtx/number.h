/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers in payloads, by the predefined types of the payload extension. Any thread.
 */
#ifndef GT_COLLECTORS_NVTX_NUMBER_H
#define GT_COLLECTORS_NVTX_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/nvtx/headers.h"

/* A number from a payload. */
struct gt_nvtx_number {
	const char *name; /* of its entry */
	uint64_t type;    /* predefined, or of an enumeration */
	bool is_enum;
	bool is_real;
	int64_t integer;
	double real;
};

/* Bytes of one value of a predefined type, 0: not one. */
size_t gt_nvtx_type_size(uint64_t type);

/* Whether this payload type is a signed number. */
bool gt_nvtx_is_signed(uint64_t type);

/* Loads @size bytes (at most 8) at @data. */
uint64_t gt_nvtx_load(const char *data, size_t size);
int64_t gt_nvtx_load_signed(const char *data, size_t size);

/* False: not a floating-point type. */
bool gt_nvtx_load_real(uint64_t type, const char *data, double *ret_value);

/* Decodes a predefined number type at @data. False: not a number, or cut. */
bool gt_nvtx_decode_number(uint64_t type, const char *data, size_t size,
			   struct gt_nvtx_number *ret_number);

#endif
