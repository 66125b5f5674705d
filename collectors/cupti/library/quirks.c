/* SPDX-License-Identifier: Apache-2.0
 *
 * The quirk table, see the header.
 */
#include "collectors/cupti/library/quirks.h"

#include "core/guest/text.h"

static const struct {
	const char *name;
	uint32_t first, fixed;
	const char *text;
} quirks[GT_QUIRK_COUNT_] = {
#define GT_QUIRK(id, from, to, advice) [GT_QUIRK_##id] = {#id, from, to, advice},
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

void gt_cupti_quirks_list(uint32_t version, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < GT_QUIRK_COUNT_; i++) {
		if (!gt_cupti_has_quirk(version, (enum gt_cupti_quirk)i) || used >= size)
			continue;
		used += gt_text_format(text + used, size - used, "%s%s", used ? " " : "",
				       quirks[i].name);
	}
	for (char *c = text; *c; c++) {
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	}
}
