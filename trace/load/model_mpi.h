/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of MPI that --libraries=mpi records, and what NCCL's proxies did, into a model: of a JSON
 * trace and of a `.pftrace`. One thread.
 */
#ifndef GT_TRACE_LOAD_MODEL_MPI_H
#define GT_TRACE_LOAD_MODEL_MPI_H

#include "trace/load/model_build.h"

/* Takes in a call of which start, duration, name and thread are known; of another library, it is
 * left out.
 * @unfinished: it has no end. 0 or -ENOMEM. */
int gt_build_mpi_call(struct gt_model *model, const struct gt_model_mpi_call *call,
		      const struct gt_library_call *library, bool unfinished);

/* Takes in what the proxies of an operation did; what else a @library did is left out. */
void gt_build_network(struct gt_model *model, const struct gt_library_call *library);

/* Sorts the calls of MPI. */
void gt_build_mpi_calls(struct gt_model *model);

#endif
