/* SPDX-License-Identifier: Apache-2.0
 *
 * Names as the program passes them: bytes, presumably UTF-8, or wide characters. Bounded. Any
 * thread; no lock, no allocation, no locale.
 */
#ifndef GT_COLLECTORS_NVTX_TEXT_H
#define GT_COLLECTORS_NVTX_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* Length of @text, at most @max; never cuts inside a character. *ret_cut: it was longer. */
size_t gt_nvtx_text_length(const char *text, size_t max, bool *ret_cut);

/* Converts @text to UTF-8 in @out; invalid characters become U+FFFD. Returns the length, at most
 * @max. *ret_cut: it was longer. */
size_t gt_nvtx_text_from_wide(const wchar_t *text, char *out, size_t max, bool *ret_cut);

#endif
