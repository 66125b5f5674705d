/* SPDX-License-Identifier: Apache-2.0
 *
 * Identity of this process: name, host, rank among its peers. Session start.
 */
#ifndef GT_CORE_IDENTITY_H
#define GT_CORE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/schema/metadata.h"

/* Fills process, host, pid, run, rank, world size, local rank. */
void gt_identity_fill(struct gt_metadata *metadata);

/* The rank that a launcher gave this process; -1: none. */
int32_t gt_identity_rank(void);

/* The variable that says so; NULL: none. */
const char *gt_identity_rank_name(void);

/* Whether @word, "NAME=value" of an environment, is the variable of a rank. */
bool gt_identity_is_rank(const char *word);

/* True when a launcher gave this process a rank and there are, or may be, other ranks. */
bool gt_identity_has_peers(void);

/* True when a launcher says that there is only one rank. */
bool gt_identity_is_alone(void);

/* Fills command: only on request, arguments may hold secrets (REQ-88). */
void gt_identity_fill_command(struct gt_metadata *metadata);

/* Value of an environment variable; NULL: not set, empty, or a setuid process. */
const char *gt_identity_env(const char *name);

#endif
