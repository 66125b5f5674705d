/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "collectors/cupti/library/lengths.h"

#include <cupti.h>
#include <stddef.h>

#define NEWEST_CHECKED 130599u /* the updates of a release keep its layouts */

static const struct {
	uint32_t since;
	uint16_t kind, bytes;
} rows[] = {
#define GT_RECORD_BYTES(kind, since, bytes, name) {since, CUPTI_ACTIVITY_KIND_##kind, bytes},
#include "collectors/cupti/library/lengths.def"
#undef GT_RECORD_BYTES
};

uint16_t gt_cupti_record_bytes(uint32_t version, uint32_t kind)
{
	uint16_t bytes = 0;

	for (size_t i = 0; version <= NEWEST_CHECKED && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].kind == kind && rows[i].since <= version)
			bytes = rows[i].bytes;
	return bytes;
}
