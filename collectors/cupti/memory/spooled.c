/* SPDX-License-Identifier: Apache-2.0
 *
 * What recovery finds of the activity buffers, see the header.
 */
#include "collectors/cupti/memory/spooled.h"

#include <stdatomic.h>

#include "collectors/cupti/memory/slots.h"
#include "core/schema/ledger.h"
#include "core/spool_view.h"

void gt_cupti_slot_counts_report(const struct gt_cupti_slot_counts *counts,
				 struct gt_ledger *ledger)
{
	uint64_t *count = ledger->count;

	count[GT_LEDGER_BUFFERS_COMPLETED] = atomic_load(&counts->completed);
	count[GT_LEDGER_BUFFERS_FOREIGN] = atomic_load(&counts->foreign);
	count[GT_LEDGER_BUFFERS_DISCARDED] = atomic_load(&counts->discarded);
	count[GT_LEDGER_BUFFERS_LOST_BYTES] = atomic_load(&counts->discarded_bytes);
}

void gt_cupti_spooled_report(const struct gt_spool_view *view, struct gt_ledger *ledger)
{
	const struct gt_cupti_slots *spooled =
		gt_spool_view_root(view, GT_SPOOL_BUFFERS, sizeof(*spooled));

	if (spooled)
		gt_cupti_slot_counts_report(&spooled->counts, ledger);
}

void gt_cupti_spooled_each(const struct gt_spool_view *view,
			   void (*found)(void *context, const struct gt_cupti_spooled *buffer),
			   void *context)
{
	const struct gt_cupti_slots *spooled =
		gt_spool_view_root(view, GT_SPOOL_BUFFERS, sizeof(*spooled));
	const struct gt_cupti_slot *slots = spooled ? spooled->slots : NULL;

	for (uint32_t i = 0; slots && i < GT_CUPTI_BUFFERS_MAX; i++) {
		int state = atomic_load(&slots[i].state);
		struct gt_cupti_spooled buffer = {.valid = slots[i].valid,
						  .order = slots[i].order,
						  .foreign = gt_spool_bool(&slots[i].foreign),
						  .was_read = state == GT_CUPTI_SLOT_READ,
						  .read = slots[i].read,
						  .sampled = slots[i].sampled,
						  .unfinished = state == GT_CUPTI_SLOT_LENT};

		if (state != GT_CUPTI_SLOT_FULL && state != GT_CUPTI_SLOT_READ &&
		    state != GT_CUPTI_SLOT_LENT)
			continue;
		if (buffer.unfinished) { /* state before the kill */
			buffer.order = UINT64_MAX;
			buffer.foreign = false;
		}
		buffer.data = gt_spool_view_at(view, gt_spool_address(slots[i].data), buffer.valid);
		if (buffer.data)
			found(context, &buffer);
	}
}
