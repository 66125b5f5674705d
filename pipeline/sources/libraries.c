/* SPDX-License-Identifier: Apache-2.0
 *
 * --libraries as a collector. The records of the calls lie in the rings of threads and are the
 * ranges' (pipeline/ranges/). Its context is the configuration.
 */
#include <string.h>

#include "collectors/nvtx/library.h"
#include "core/config.h"
#include "core/guest/log.h"
#include "pipeline/sources/collector.h"

static int start(void *part)
{
	if (strcmp(gt_config_text(part, GT_CONFIG_LIBRARIES), "off") != 0 && !gt_libraries_listen())
		gt_log_say("--libraries needs gputrace run, which preloads its library: calls of "
			   "NCCL are not recorded");
	return 0;
}

/* --libraries. */
const struct gt_collector gt_libraries_collector = {
	.name = "libraries",
	.start = start,
};
