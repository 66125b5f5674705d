/* SPDX-License-Identifier: Apache-2.0
 *
 * Who this process is: name, host, rank among its peers. Session start.
 */
#ifndef GT_CORE_IDENTITY_H
#define GT_CORE_IDENTITY_H

#include <stdbool.h>

#include "core/schema/metadata.h"

/* Fills process, host, pid, run, rank, world size, local rank. */
void gt_identity_fill(struct gt_metadata *metadata);

/* True when a launcher tells that there is one rank only. */
bool gt_identity_is_alone(void);

/* Fills command: only on request, arguments may hold secrets (REQ-88). */
void gt_identity_fill_command(struct gt_metadata *metadata);

/* The value of an environment variable, never in a setuid process. NULL: not set or empty. */
const char *gt_identity_env(const char *name);

#endif
