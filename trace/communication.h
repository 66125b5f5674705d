/* SPDX-License-Identifier: Apache-2.0
 *
 * Which kernels are communication: by their names (communication.def), and by what the user says;
 * and which collective each is (collectives.def).
 */
#ifndef GT_TRACE_COMMUNICATION_H
#define GT_TRACE_COMMUNICATION_H

#include <stdbool.h>

#include "trace/model.h"

/* A collective, as a communication kernel's name tells it. */
struct gt_comm_kind {
	const char *name; /* "AllReduce", "(other)" */
	bool together;    /* no member is ready before the last one has begun */
};

/* The collective that a kernel of that name is, demangled or mangled. Any thread. */
struct gt_comm_kind gt_communication_collective(const char *kernel);

/* Marks the kernels of a model whose names are in the table (@glob NULL), or fit @glob: the whole
 * name, the function's or the part of it behind the last "::". What is marked stays so. One thread
 * per model. 0 or -ENOMEM. */
int gt_communication_mark(struct gt_model *model, const char *glob);

#endif
