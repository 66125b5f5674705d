/* SPDX-License-Identifier: Apache-2.0
 *
 * A tool of the user's, on MPI's profiling interface: counts what it sees. Compiled for each MPI.
 */
#include <mpi.h>

#include <stdio.h>

static int sends, reductions;

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
	sends++;
	return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
		  MPI_Comm comm)
{
	reductions++;
	return PMPI_Allreduce(from, to, count, type, op, comm);
}

int MPI_Finalize(void)
{
	int all[2] = {sends, reductions}, sum[2], rank;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Reduce(all, sum, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("tool: %d %d\n", sum[0], sum[1]);
	return PMPI_Finalize();
}
