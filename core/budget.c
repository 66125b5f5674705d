/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. A limit is shared by all processes of a container, so each takes little of it.
 */
#include "core/budget.h"

#include "core/guest/text.h"

#define MIB             ((uint64_t)1 << 20)

/* Parts of the group's limit. */
#define SHARE_MEMORY    8u  /* anonymous memory and spool */
#define SHARE_UNSAVED   16u /* page cache of the trace */
#define SHARE_IN_MEMORY 8u  /* a trace on tmpfs */

/* With less nothing can be recorded, and the disk is asked for too little at once. */
#define LEAST_MEMORY    (24 * MIB)
#define LEAST_LIMIT     (2 * LEAST_MEMORY)
#define LEAST_UNSAVED   MIB
#define LEAST_FILE      MIB
#define LEAST_RING      ((uint64_t)16 << 10)

/* Parts of the tracer's memory. Little memory is mostly taken by tables of fixed size; four threads
 * have a whole ring. */
#define SHARE_MOVING    4u  /* rings and activity buffers, half for each */
#define SHARE_ONE       32u /* one ring, one buffer */

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void lower(struct gt_config *config, enum gt_option_id id, uint64_t most)
{
	if (gt_config_number(config, id) > (int64_t)most)
		config->value[id].number = (int64_t)most;
}

/* Rings have a power of two. */
static uint64_t power_below(uint64_t bytes)
{
	uint64_t power = LEAST_RING;

	while (power * 2 <= bytes)
		power *= 2;
	return power;
}

static void fit_memory(struct gt_config *config, uint64_t most, bool *ret_limits)
{
	if (gt_config_number(config, GT_CONFIG_MAX_RSS) <= (int64_t)most)
		return;
	*ret_limits = true;
	lower(config, GT_CONFIG_MAX_RSS, most);
	lower(config, GT_CONFIG_MAX_MEMORY, most / SHARE_MOVING);
	lower(config, GT_CONFIG_RING_SIZE, power_below(most / SHARE_ONE));
	lower(config, GT_CONFIG_BUFFER_SIZE, most / SHARE_ONE);
}

bool gt_budget_fit(struct gt_config *config, const struct gt_cgroup_limit *cgroup,
		   struct gt_budget *ret_budget)
{
	uint64_t limit = cgroup->bytes;

	*ret_budget = (struct gt_budget){.cgroup = *cgroup};
	if (limit) {
		fit_memory(config, larger(limit / SHARE_MEMORY, LEAST_MEMORY),
			   &ret_budget->limits_memory);
		ret_budget->in_memory = limit / SHARE_IN_MEMORY;
		ret_budget->unsaved = larger(limit / SHARE_UNSAVED, LEAST_UNSAVED);
	}
	lower(config, GT_CONFIG_MAX_MEMORY,
	      (uint64_t)gt_config_number(config, GT_CONFIG_MAX_RSS) / 2);
	return !limit || limit >= LEAST_LIMIT;
}

bool gt_budget_fit_space(struct gt_config *config, uint64_t free, struct gt_budget *budget)
{
	if (free < GT_BUDGET_SPACE)
		return false;
	fit_memory(config, free / SHARE_MEMORY, &budget->limits_space);
	lower(config, GT_CONFIG_MAX_MEMORY,
	      (uint64_t)gt_config_number(config, GT_CONFIG_MAX_RSS) / 2);
	return true;
}

bool gt_budget_fit_files(const struct gt_budget *budget, uint64_t *max_size, uint32_t *keep)
{
	uint64_t most = budget->in_memory, files;

	if (!most || !*keep || *max_size <= most / *keep)
		return false;
	files = larger(most / LEAST_FILE, *keep < 2 ? 1 : 2);
	*keep = (uint32_t)smaller(*keep, files);
	*max_size = smaller(*max_size, larger(most / *keep, LEAST_FILE));
	return true;
}

/* ---- in words ---- */

static size_t put_size(char *out, size_t size, const char *what, uint64_t bytes)
{
	bool in_mib = bytes >= 10 * MIB || bytes % MIB == 0;

	return gt_text_format(out, size, "%s%lu %s", what,
			      (unsigned long)(in_mib ? bytes / MIB : bytes >> 10),
			      in_mib ? "MiB" : "KiB");
}

void gt_budget_describe(const struct gt_budget *budget, const struct gt_config *config,
			char *ret_text, size_t size)
{
	const struct {
		const char *what;
		uint64_t bytes;
	} parts[] = {
		{": memory ", (uint64_t)gt_config_number(config, GT_CONFIG_MAX_RSS)},
		{", each ring ", (uint64_t)gt_config_number(config, GT_CONFIG_RING_SIZE)},
		{", each activity buffer ",
		 (uint64_t)gt_config_number(config, GT_CONFIG_BUFFER_SIZE)},
		{", unsaved output ", budget->unsaved},
	};
	size_t n;

	*ret_text = 0;
	if (!budget->cgroup.bytes)
		return;
	n = put_size(ret_text, size, "", budget->cgroup.bytes);
	n += gt_text_format(ret_text + n, size - n, " in %s", budget->cgroup.file);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		n += put_size(ret_text + n, size - n, parts[i].what, parts[i].bytes);
}
