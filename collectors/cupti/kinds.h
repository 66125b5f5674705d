/* SPDX-License-Identifier: Apache-2.0
 *
 * The kinds of activity records that are asked of CUPTI.
 */
#ifndef GT_COLLECTORS_CUPTI_KINDS_H
#define GT_COLLECTORS_CUPTI_KINDS_H

#include <cupti.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_config;

/* When a kind is wanted. */
enum gt_cupti_wanted { GT_CUPTI_ALWAYS, GT_CUPTI_WITH_SYNC, GT_CUPTI_WITH_MEMORY };

/* A kind. */
struct gt_cupti_kind {
	CUpti_ActivityKind kind;
	const char *name;
	enum gt_cupti_wanted when;
	bool dump;      /* also report those that exist already */
	uint32_t since; /* version of CUPTI; older ones are not asked */
};

#define GT_CUPTI_KIND_COUNT 14
/* All but whole graphs and unified memory, which are turned on in other ways. */
extern const struct gt_cupti_kind gt_cupti_kinds[GT_CUPTI_KIND_COUNT];

/* Whether @config asks for it, and this CUPTI has it. */
bool gt_cupti_kind_is_wanted(const struct gt_config *config, size_t i);

/* Whether it may have been enabled here. */
bool gt_cupti_kind_may_be_on(size_t i);

/* Whether its records are ours when another tool has enabled it, too. */
bool gt_cupti_kind_is_ours(size_t i);

#endif
