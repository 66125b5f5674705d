/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of the ledger's keys; the counting is inline in the header.
 */
#include "core/schema/ledger.h"

const struct gt_ledger_row gt_ledger_rows[GT_LEDGER_COUNT_] = {
#define GT_LEDGER(id, key, text) [GT_LEDGER_##id] = {.json = key, .help = text},
#include "core/schema/ledger.def"
#undef GT_LEDGER
};
