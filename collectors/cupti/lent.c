/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Only as far as records have kinds and lengths that are known.
 */
#include "collectors/cupti/lent.h"

#include <stddef.h>

#include "collectors/cupti/buffers.h"
#include "collectors/cupti/library/lengths.h"
#include "collectors/cupti/replay.h"

struct counting {
	uint32_t version;
	uint64_t done;
};

/* CUPTI writes meanwhile. */
static __attribute__((no_sanitize("thread"))) uint64_t word_at(const uint8_t *data, size_t at)
{
	return *(const volatile uint64_t *)(const void *)(data + at);
}

static void count(void *context, const struct gt_cupti_lent *lent)
{
	struct counting *counting = context;
	size_t at = 0;

	while (at + sizeof(uint64_t) <= lent->bytes) {
		uint32_t kind = (uint32_t)word_at(lent->data, at);
		uint16_t bytes = gt_cupti_record_bytes(counting->version, kind);
		uint16_t end = gt_cupti_replay_end_at(kind);

		if (!bytes || bytes % sizeof(uint64_t) || at + bytes > lent->bytes)
			return;
		counting->done += end && word_at(lent->data, at + end);
		at += bytes;
	}
}

uint64_t gt_cupti_lent_done(const void *version)
{
	struct counting counting = {.version = *(const uint32_t *)version};

	if (counting.version)
		gt_cupti_buffers_each_lent(count, &counting);
	return counting.done;
}
