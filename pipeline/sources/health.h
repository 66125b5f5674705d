/* SPDX-License-Identifier: Apache-2.0
 *
 * --nvml: power, clocks and health of the GPUs (collectors/nvml/nvml.h) as counters of each, and
 * XIDs as notes. Drain thread.
 */
#ifndef GT_PIPELINE_SOURCES_HEALTH_H
#define GT_PIPELINE_SOURCES_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

struct gt_clock;
struct gt_config;
struct gt_intern;
struct gt_metadata;
struct gt_outlet;

/* Given: the first five; the rest is zero at first. */
struct gt_health {
	const struct gt_config *config;
	const struct gt_clock *clock;
	struct gt_intern *strings;
	struct gt_outlet *outlet;
	struct gt_metadata *metadata;
	bool has_thread;
	bool told;           /* metadata.nvml is final */
	bool told_stuck;     /* a note says that NVML does not answer */
	uint32_t generation; /* of the metadata whose devices are watched */
};

#endif
