/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/mpi/mpi_call.h"

#include <string.h>

enum { NOW, LATER };

static const struct {
	const char *name;
	unsigned char class, when;
} functions[GT_MPI_FUNCTION_COUNT_] = {
	{NULL, GT_MPI_CLASS_OTHER, NOW},
#define GT_MPI(name, class, when, parameters, arguments, ...)                                      \
	{"MPI_" #name, GT_MPI_CLASS_##class, when},
#include "core/mpi/mpi.def"
};

/* Its number is a byte of struct gt_library_call. */
_Static_assert(GT_MPI_FUNCTION_COUNT_ <= 256, "functions of MPI");

const char *gt_mpi_name(unsigned int function)
{
	return function < GT_MPI_FUNCTION_COUNT_ ? functions[function].name : NULL;
}

enum gt_mpi_function gt_mpi_find(const char *name, size_t length)
{
	if (length < 4 || memcmp(name, "MPI_", 4) != 0)
		return GT_MPI_NONE;
	for (unsigned int i = 1; i < GT_MPI_FUNCTION_COUNT_; i++)
		if (strlen(functions[i].name) == length && !memcmp(functions[i].name, name, length))
			return (enum gt_mpi_function)i;
	return GT_MPI_NONE;
}

enum gt_mpi_class gt_mpi_class_of(unsigned int function)
{
	return function < GT_MPI_FUNCTION_COUNT_ ? (enum gt_mpi_class)functions[function].class
						 : GT_MPI_CLASS_OTHER;
}

bool gt_mpi_is_now(unsigned int function)
{
	return function < GT_MPI_FUNCTION_COUNT_ && functions[function].when == NOW;
}
