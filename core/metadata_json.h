/* SPDX-License-Identifier: Apache-2.0
 *
 * Metadata and ledger as members of a JSON object (docs/FORMAT.md): the header of a JSON trace, and
 * what readers make of that of a .pftrace. Drain thread or reader; no state.
 */
#ifndef GT_CORE_METADATA_JSON_H
#define GT_CORE_METADATA_JSON_H

#include <stdbool.h>

#include "core/json.h"
#include "core/schema/ledger.h"
#include "core/schema/metadata.h"

/* The members of the header, in the order that readers need them: all stand before the events.
 * @lines: each on its own line. @cut: 0 whole; each step leaves out more. */
void gt_metadata_json_put(const struct gt_metadata *metadata, struct gt_json *json, bool lines,
			  unsigned int cut);

/* The member "ledger". */
void gt_metadata_json_put_ledger(struct gt_json *json, const struct gt_ledger *ledger);

/* The member "repaired" of a file that its process did not close; nothing of others. */
void gt_metadata_json_put_repaired(struct gt_json *json,
				   const struct gt_metadata_repaired *repaired);

#endif
