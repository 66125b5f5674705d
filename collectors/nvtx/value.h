/* SPDX-License-Identifier: Apache-2.0
 *
 * Single values of payloads as text, into room that may be too small: what does not fit is cut.
 * Drain thread; @data has the bytes of the value.
 */
#ifndef GT_COLLECTORS_NVTX_VALUE_H
#define GT_COLLECTORS_NVTX_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/nvtx/payload.h"

/* Text that is being written into a buffer of fixed size. */
struct gt_nvtx_out {
	char *begin, *at, *end;
};

/* Appends text as far as it fits. */
void gt_nvtx_put(struct gt_nvtx_out *out, const char *text, size_t length);
void gt_nvtx_put_cstr(struct gt_nvtx_out *out, const char *text);

/* The first 64 bytes. */
void gt_nvtx_put_hex(struct gt_nvtx_out *out, const char *data, size_t size);
void gt_nvtx_put_address(struct gt_nvtx_out *out, uint64_t address);

/* One value of the predefined type @type. */
void gt_nvtx_put_scalar(struct gt_nvtx_out *out, uint64_t type, const char *data);

/* By name, flags with bars between them; what has no name as a number. */
void gt_nvtx_put_enum(struct gt_nvtx_out *out, const struct gt_nvtx_enum *e, uint64_t value);

/* The predefined types of strings, bytes of one of their units, and at most @units of them, up to
 * the first zero. */
bool gt_nvtx_is_text(uint64_t type);
size_t gt_nvtx_text_unit(uint64_t type);
void gt_nvtx_put_units(struct gt_nvtx_out *out, uint64_t type, const char *data, size_t units);

#endif
