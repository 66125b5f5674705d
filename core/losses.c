/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/losses.h"

void gt_losses_add_kind(struct gt_losses *losses, enum gt_ledger_key key, uint64_t n)
{
	for (int i = 0; i < GT_LEDGER_KINDS_; i++)
		if (gt_ledger_kinds[i].written == key)
			losses->kinds[i] += n;
}

void gt_losses_add(struct gt_losses *losses, const struct gt_losses *more)
{
	losses->disk += more->disk;
	losses->memory += more->memory;
	losses->early += more->early;
	losses->killed += more->killed;
	for (int i = 0; i < GT_LEDGER_KINDS_; i++)
		losses->kinds[i] += more->kinds[i];
	if (!losses->error)
		losses->error = more->error;
	if (!losses->since)
		losses->since = more->since;
}

struct gt_losses gt_losses_of(const struct gt_ledger *ledger)
{
	struct gt_losses losses = {
		.disk = ledger->count[GT_LEDGER_EVENTS_LOST_DISK],
		.memory = ledger->count[GT_LEDGER_EVENTS_LOST_MEMORY],
		.early = ledger->count[GT_LEDGER_EVENTS_LOST_EARLY],
		.killed = ledger->count[GT_LEDGER_EVENTS_LOST_KILLED],
	};

	for (int i = 0; i < GT_LEDGER_KINDS_; i++)
		losses.kinds[i] = ledger->count[gt_ledger_kinds[i].lost];
	return losses;
}

void gt_losses_count(const struct gt_losses *losses, struct gt_ledger *ledger)
{
	ledger->count[GT_LEDGER_EVENTS_LOST_DISK] += losses->disk;
	ledger->count[GT_LEDGER_EVENTS_LOST_MEMORY] += losses->memory;
	ledger->count[GT_LEDGER_EVENTS_LOST_EARLY] += losses->early;
	ledger->count[GT_LEDGER_EVENTS_LOST_KILLED] += losses->killed;
	for (int i = 0; i < GT_LEDGER_KINDS_; i++)
		ledger->count[gt_ledger_kinds[i].lost] += losses->kinds[i];
}

void gt_losses_forget(struct gt_ledger *ledger)
{
	ledger->count[GT_LEDGER_EVENTS_LOST_DISK] = 0;
	ledger->count[GT_LEDGER_EVENTS_LOST_MEMORY] = 0;
	ledger->count[GT_LEDGER_EVENTS_LOST_EARLY] = 0;
	ledger->count[GT_LEDGER_EVENTS_LOST_KILLED] = 0;
	for (int i = 0; i < GT_LEDGER_KINDS_; i++)
		ledger->count[gt_ledger_kinds[i].lost] = 0;
}

/* Takes at most @most off *rest. How much that was. */
static uint64_t take(uint64_t *rest, uint64_t most)
{
	uint64_t taken = *rest < most ? *rest : most;

	*rest -= taken;
	return taken;
}

struct gt_losses gt_losses_settle(const struct gt_losses *told, const struct gt_ledger *ledger)
{
	struct gt_losses lost = {.since = told->since, .error = told->error};
	uint64_t rest = gt_losses_sum(told);

	for (int i = 0; i < GT_LEDGER_KINDS_; i++) {
		uint64_t missing = gt_ledger_missing(ledger, &gt_ledger_kinds[i]);

		lost.kinds[i] = take(&missing, told->kinds[i]);
		take(&rest, told->kinds[i] - lost.kinds[i]); /* written after all */
	}
	lost.killed = take(&rest, told->killed);
	lost.early = take(&rest, told->early);
	lost.memory = take(&rest, told->memory);
	lost.disk = rest;
	return lost;
}

uint64_t gt_losses_add_missing(struct gt_losses *losses, const struct gt_ledger *ledger)
{
	uint64_t sum = 0;

	for (int i = 0; i < GT_LEDGER_KINDS_; i++) {
		uint64_t missing = gt_ledger_missing(ledger, &gt_ledger_kinds[i]);

		if (missing > losses->kinds[i]) {
			sum += missing - losses->kinds[i];
			losses->kinds[i] = missing;
		}
	}
	return sum;
}
