/* SPDX-License-Identifier: Apache-2.0
 *
 * Metadata and ledger as members of a JSON object (docs/FORMAT.md): the header of a JSON trace, or
 * that of a .pftrace as readers convert it. Drain thread or reader; no state.
 */
#ifndef GT_CORE_JSON_METADATA_JSON_H
#define GT_CORE_JSON_METADATA_JSON_H

#include <stdbool.h>

#include "core/json/json.h"
#include "core/schema/ledger.h"
#include "core/schema/metadata.h"

/* Appends the members of the header in the order that readers need; all precede the events.
 * @lines: each on its own line. @cut: 0: complete; each step leaves out more. */
void gt_metadata_json_put(const struct gt_metadata *metadata, struct gt_json *json, bool lines,
			  unsigned int cut);

/* Appends the member "ledger". */
void gt_metadata_json_put_ledger(struct gt_json *json, const struct gt_ledger *ledger);

/* Appends the member "repaired" if the process did not close the file. */
void gt_metadata_json_put_repaired(struct gt_json *json,
				   const struct gt_metadata_repaired *repaired);

#endif
