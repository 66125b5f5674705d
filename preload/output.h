/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the trace of this process goes: folder, file name, sink. Drain thread, once.
 */
#ifndef GT_PRELOAD_OUTPUT_H
#define GT_PRELOAD_OUTPUT_H

#include "core/config.h"
#include "core/facts.h"
#include "writers/sink.h"
#include "writers/writer.h"

struct gt_output {
	struct gt_writer *writer;
	struct gt_sink *sink;
	bool failed; /* tried, could not: events are counted as lost */
};

/* Makes folder and file and opens the writer. A negative errno, said once on stderr: the program
 * runs on, nothing is written. */
int gt_output_open(struct gt_output *output, const struct gt_config *config,
		   const struct gt_facts *facts);

/* Closes writer and sink. */
void gt_output_close(struct gt_output *output, const struct gt_facts *facts,
		     struct gt_ledger *ledger);

#endif
