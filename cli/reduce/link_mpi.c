/* SPDX-License-Identifier: Apache-2.0
 *
 * See link.h. A message is its size, then its bytes in pieces that MPI's int can count.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/reduce/link.h"

#define PIECE ((size_t)1 << 30)
#define TAG   1

static bool is_started;

bool gt_link_start(void)
{
	if (!is_started)
		MPI_Init(NULL, NULL);
	is_started = true;
	return true;
}

void gt_link_end(void)
{
	if (is_started)
		MPI_Finalize();
	is_started = false;
}

size_t gt_link_rank(void)
{
	int rank = 0;

	if (is_started)
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	return (size_t)rank;
}

size_t gt_link_size(void)
{
	int size = 1;

	if (is_started)
		MPI_Comm_size(MPI_COMM_WORLD, &size);
	return (size_t)size;
}

void gt_link_send(size_t to, const void *bytes, size_t size)
{
	uint64_t count = size;

	MPI_Send(&count, 1, MPI_UINT64_T, (int)to, TAG, MPI_COMM_WORLD);
	for (size_t at = 0; at < size; at += PIECE)
		MPI_Send((const char *)bytes + at, (int)(size - at < PIECE ? size - at : PIECE),
			 MPI_BYTE, (int)to, TAG, MPI_COMM_WORLD);
}

void gt_link_abort(void)
{
	fprintf(stderr,
		"gputrace: --mpi: process %zu of %zu has no memory for the answers of the others: "
		"give it more, or traces of a window (gputrace run --delay, --duration)\n",
		gt_link_rank(), gt_link_size());
	MPI_Abort(MPI_COMM_WORLD, 1);
	abort();
}

void *gt_link_receive(size_t from, size_t *ret_size)
{
	uint64_t size = 0;
	char *bytes;

	MPI_Recv(&size, 1, MPI_UINT64_T, (int)from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	bytes = malloc(size + 1);
	if (!bytes)
		gt_link_abort();
	for (size_t at = 0; at < size; at += PIECE)
		MPI_Recv(bytes + at, (int)(size - at < PIECE ? size - at : PIECE), MPI_BYTE,
			 (int)from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	*ret_size = size;
	return bytes;
}
