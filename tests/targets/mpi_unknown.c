/* SPDX-License-Identifier: Apache-2.0
 *
 * An MPI that nobody knows: neither Open MPI's objects nor MPICH's.
 */
int MPI_Init(int *argc, char ***argv);
int MPI_Barrier(void *comm);

int MPI_Init(int *argc, char ***argv)
{
	return argc && argv ? 0 : 1;
}

int MPI_Barrier(void *comm)
{
	return comm ? 3 : 4;
}
