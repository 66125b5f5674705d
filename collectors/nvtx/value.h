/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of payloads as text, cut to the room available. Drain thread; @data holds the bytes of the
 * value.
 */
#ifndef GT_COLLECTORS_NVTX_VALUE_H
#define GT_COLLECTORS_NVTX_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/nvtx/payload.h"

/* Text in a buffer of fixed size. */
struct gt_nvtx_out {
	char *begin, *at, *end;
};

/* Appends as much text as fits. */
void gt_nvtx_put(struct gt_nvtx_out *out, const char *text, size_t length);
void gt_nvtx_put_cstr(struct gt_nvtx_out *out, const char *text);

/* The first 64 bytes as hex. */
void gt_nvtx_put_hex(struct gt_nvtx_out *out, const char *data, size_t size);
void gt_nvtx_put_address(struct gt_nvtx_out *out, uint64_t address);

/* One value of the predefined type @type. */
void gt_nvtx_put_scalar(struct gt_nvtx_out *out, uint64_t type, const char *data);

/* Enumerators by name, flags joined by bars; values without a name as numbers. */
void gt_nvtx_put_enum(struct gt_nvtx_out *out, const struct gt_nvtx_enum *e, uint64_t value);

/* Whether a predefined type is text; bytes of one of its units; appends at most @units of them, up
 * to the first zero. */
bool gt_nvtx_is_text(uint64_t type);
size_t gt_nvtx_text_unit(uint64_t type);
void gt_nvtx_put_units(struct gt_nvtx_out *out, uint64_t type, const char *data, size_t units);

#endif
