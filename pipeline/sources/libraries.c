/* SPDX-License-Identifier: Apache-2.0
 *
 * --libraries as a collector. The records of the calls lie in the rings of threads and are the
 * ranges' (pipeline/ranges/). Its context is the configuration.
 */
#include <string.h>

#include "collectors/nvtx/library.h"
#include "core/config.h"
#include "core/guest/log.h"
#include "core/schema/library_sink.h"
#include "pipeline/sources/collector.h"

static const struct {
	const char *word, *interposer, *name;
} libraries[] = {
	{"nccl", GT_LIBRARY_LIBRARY, "NCCL"},
	{"cublas", GT_LIBRARY_CUBLAS, "cuBLAS"},
	{"cufft", GT_LIBRARY_CUFFT, "cuFFT"},
	{"cudnn", GT_LIBRARY_CUDNN, "cuDNN"},
	{"cusparse", GT_LIBRARY_CUSPARSE, "cuSPARSE"},
	{"cusolver", GT_LIBRARY_CUSOLVER, "cuSOLVER"},
	{"mpi", GT_LIBRARY_MPI, "MPI"},
};

static int start(void *part)
{
	const char *wanted = gt_config_text(part, GT_CONFIG_LIBRARIES);

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		if (strstr(wanted, libraries[i].word) &&
		    !gt_libraries_listen(libraries[i].interposer))
			gt_log_say("--libraries=%s needs gputrace run, which preloads its library: "
				   "calls of %s are not recorded",
				   libraries[i].word, libraries[i].name);
	return 0;
}

static uint64_t untaken(const void *part)
{
	(void)part;
	return gt_libraries_untaken();
}

static const struct gt_collector_count counts[] = {
	{.now = untaken, .key = GT_LEDGER_NCCL_UNTAKEN},
};

/* --libraries. */
const struct gt_collector gt_libraries_collector = {
	.name = "libraries",
	.start = start,
	.counts = counts,
	.count_count = sizeof(counts) / sizeof(counts[0]),
};
