/* SPDX-License-Identifier: Apache-2.0
 *
 * A program for the MPI of mpi_unknown.c.
 */
#include <stdio.h>

int MPI_Init(int *argc, char ***argv);
int MPI_Barrier(void *comm);
void start_device(void);

int main(int argc, char **argv)
{
	start_device();
	printf("%d %d %d\n", MPI_Init(&argc, &argv), MPI_Barrier(&argc), MPI_Barrier(NULL));
	return 0;
}
