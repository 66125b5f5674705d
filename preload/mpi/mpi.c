/* SPDX-License-Identifier: Apache-2.0
 *
 * MPI's functions by both of their names: these definitions come before those of libmpi and go on
 * to them. MPI_ goes to the next MPI_, which may be that of a tool between us and MPI; PMPI_ is
 * here for tools in front of us, and for the Fortran interface of Open MPI, which calls it. The
 * outer one of the two is recorded. A library of its own, preloaded by run --libraries=mpi alone.
 *
 * A function that this MPI does not have is refused: without us the loader would have ended the
 * program at this call.
 */
#include "preload/mpi/enter.h"

#define EXPORTED __attribute__((visibility("default")))

#define WRAP(symbol, name, is_profiling, parameters, arguments, ...)                               \
	EXPORTED int symbol parameters;                                                            \
	int symbol parameters                                                                      \
	{                                                                                          \
		int(*real) parameters = (int(*) parameters)mpi_real(GT_MPI_##name, is_profiling);  \
		struct mpi_operation operation = {.function = GT_MPI_##name, __VA_ARGS__};         \
		struct mpi_entry entry;                                                            \
		int result;                                                                        \
                                                                                                   \
		if (!real)                                                                         \
			return mpi_refuse(GT_MPI_##name);                                          \
		mpi_begin(&entry, &operation);                                                     \
		result = real arguments;                                                           \
		mpi_end(&entry, &operation, result);                                               \
		return result;                                                                     \
	}

#define GT_MPI(name, class, when, parameters, arguments, ...)                                      \
	WRAP(MPI_##name, name, false, parameters, arguments, __VA_ARGS__)                          \
	WRAP(PMPI_##name, name, true, parameters, arguments, __VA_ARGS__)
#include "core/mpi/mpi.def"
