/* SPDX-License-Identifier: Apache-2.0
 *
 * The quirk table, see the header.
 */
#include "collectors/cupti/library/quirks.h"

static const struct {
	uint32_t first, fixed;
	const char *text;
} quirks[GT_QUIRK_COUNT_] = {
#define GT_QUIRK(id, from, to, advice) [GT_QUIRK_##id] = {from, to, advice},
#include "collectors/cupti/library/quirks.def"
#undef GT_QUIRK
};

bool gt_cupti_has_quirk(uint32_t version, enum gt_cupti_quirk quirk)
{
	return version >= quirks[quirk].first && version < quirks[quirk].fixed;
}

const char *gt_cupti_quirk_text(enum gt_cupti_quirk quirk)
{
	return quirks[quirk].text;
}
