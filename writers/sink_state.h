/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a sink, for sink.c, which opens files, and sink_write.c, which writes them.
 */
#ifndef GT_WRITERS_SINK_STATE_H
#define GT_WRITERS_SINK_STATE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/guest/descriptor.h"
#include "writers/packed.h"
#include "writers/sink.h"
#include "writers/write_behind.h"

/* A file or stream. */
struct gt_sink {
	struct gt_descriptor file;
	int lost;    /* negative errno once the file cannot be reopened */
	int refused; /* as gt_sink_refused */
	bool stream;
	int known; /* why it cannot be written: said */
	uint64_t max_size;
	uint64_t unsaved; /* as in the options */
	struct gt_write_behind behind;
	struct gt_packed *packed;    /* NULL: the file is plain */
	size_t name_at, name_length; /* of path: the name without collision number and suffix */
	char suffix[32];             /* with .gz */
	char owner[32];              /* the claim that names this file; empty: none */
	char path[PATH_MAX];
};

/* Memory to compress with, in sink->packed; false: none, or this build cannot. */
bool gt_sink_pack(struct gt_sink *sink);

#endif
