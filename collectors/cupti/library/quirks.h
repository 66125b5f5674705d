/* SPDX-License-Identifier: Apache-2.0
 *
 * Known faults of CUPTI versions as data (REQ-12). Pure; any thread.
 */
#ifndef GT_COLLECTORS_CUPTI_LIBRARY_QUIRKS_H
#define GT_COLLECTORS_CUPTI_LIBRARY_QUIRKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Known faults of CUPTI versions (quirks.def). */
enum gt_cupti_quirk {
#define GT_QUIRK(id, first, fixed, text) GT_QUIRK_##id,
#include "collectors/cupti/library/quirks.def"
#undef GT_QUIRK
	GT_QUIRK_COUNT_
};

/* Whether this CUPTI has the quirk. Versions newer than all known ones have none. */
bool gt_cupti_has_quirk(uint32_t version, enum gt_cupti_quirk quirk);

/* What a user of that CUPTI must know about the quirk, or "". */
const char *gt_cupti_quirk_text(enum gt_cupti_quirk quirk);

/* The names of this CUPTI's quirks in lower case, with a space between them, as text. */
void gt_cupti_quirks_list(uint32_t version, char *text, size_t size);

#endif
