/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Constants as in Open MPI 1.0 to 5.0 and in MPICH 3.1 and later, whose ABI Intel
 * MPI, MVAPICH and Cray MPICH have, too.
 */
#include "preload/mpi/abi.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "core/elf/behind.h"

#define NONE               ((void *)1) /* was looked for and not found */

#define MPICH_WORLD        0x44000000u
#define MPICH_COMM_NULL    0x04000000u
#define MPICH_TYPE_NULL    0x0c000000u
#define MPICH_STATUS_FIRST 2 /* words in front of MPI_SOURCE in a status */

static const char *const sonames[] = {"libmpi.so.40", "libmpich.so.12",      "libmpi.so.12",
				      "libmpi.so.80", "libmpi_cray.so.12",   "libmpi_gnu.so.12",
				      "libmpi.so.20", "libmpi_nvidia.so.12", NULL};

/* Each of them as PMPI_, and without the first letter as MPI_. */
static const char *const names[] = {
	NULL,
#define GT_MPI(name, class, when, parameters, arguments, ...) "PMPI_" #name,
#include "core/mpi/mpi.def"
};

static const char *const helper_names[MPI_HELPER_COUNT_] = {
	[MPI_HELP_TYPE_SIZE] = "PMPI_Type_size",
	[MPI_HELP_COMM_RANK] = "PMPI_Comm_rank",
	[MPI_HELP_COMM_SIZE] = "PMPI_Comm_size",
	[MPI_HELP_COMM_GROUP] = "PMPI_Comm_group",
	[MPI_HELP_COMM_TEST_INTER] = "PMPI_Comm_test_inter",
	[MPI_HELP_GROUP_SIZE] = "PMPI_Group_size",
	[MPI_HELP_GROUP_FREE] = "PMPI_Group_free",
	[MPI_HELP_TRANSLATE_RANKS] = "PMPI_Group_translate_ranks",
};

static struct gt_behind functions[2][GT_MPI_FUNCTION_COUNT_], helpers[MPI_HELPER_COUNT_];

/* Addresses of Open MPI's objects, set before the ABI is. */
static struct {
	uintptr_t world, comm_null, type_null;
} open_mpi;
static _Atomic int abi; /* enum mpi_abi + 1; 0: not looked for */

static void *look_for(const char *name)
{
	struct gt_behind function = {{NULL}};
	void *found = gt_behind_ask(&function, name, sonames);

	return found ? found : NONE;
}

/* The program may have a copy of its own, which is the one that counts. */
static void *look_for_object(const char *name)
{
	int saved = errno;
	void *found = dlsym(RTLD_DEFAULT, name);

	if (!found)
		dlerror(); /* the program did not ask */
	errno = saved;
	return found ? found : look_for(name);
}

void *mpi_real_of(enum gt_mpi_function function, bool is_profiling, const void *caller)
{
	struct gt_behind *behind = &functions[is_profiling][function];
	void *real = gt_behind_known(behind);

	return __builtin_expect(real != NULL, 1)
		       ? real
		       : gt_behind_look(behind, names[function] + !is_profiling, sonames, caller);
}

void *mpi_helper(enum mpi_helper helper)
{
	return gt_behind_ask(&helpers[helper], helper_names[helper], sonames);
}

/* The same by every thread that comes here at first. */
static enum mpi_abi find_abi(void)
{
	void *world = look_for_object("ompi_mpi_comm_world"), *comm_null, *type_null;

	/* of MPI's ABI of its own (MPI 5) the constants are others */
	if (look_for("MPI_Abi_get_version") != NONE && world == NONE)
		return MPI_ABI_UNKNOWN;
	if (world == NONE)
		return look_for("MPIR_Dup_fn") == NONE ? MPI_ABI_UNKNOWN : MPI_ABI_MPICH;
	comm_null = look_for_object("ompi_mpi_comm_null");
	type_null = look_for_object("ompi_mpi_datatype_null");
	if (comm_null == NONE || type_null == NONE)
		return MPI_ABI_UNKNOWN;
	open_mpi.world = (uintptr_t)world;
	open_mpi.comm_null = (uintptr_t)comm_null;
	open_mpi.type_null = (uintptr_t)type_null;
	return MPI_ABI_OPEN_MPI;
}

enum mpi_abi mpi_abi(void)
{
	int known = atomic_load_explicit(&abi, memory_order_acquire);

	if (__builtin_expect(!known, 0)) {
		known = find_abi() + 1;
		atomic_store_explicit(&abi, known, memory_order_release);
	}
	return (enum mpi_abi)(known - 1);
}

uintptr_t mpi_key(mpi_handle handle)
{
	return mpi_abi() == MPI_ABI_OPEN_MPI ? handle : (uint32_t)handle;
}

uintptr_t mpi_stored(const void *variable)
{
	uintptr_t pointer;
	uint32_t number;

	if (!variable)
		return 0;
	if (mpi_abi() == MPI_ABI_OPEN_MPI) {
		memcpy(&pointer, variable, sizeof(pointer));
		return pointer;
	}
	memcpy(&number, variable, sizeof(number));
	return number;
}

bool mpi_is_null_comm(uintptr_t key)
{
	return !key ||
	       key == (mpi_abi() == MPI_ABI_OPEN_MPI ? open_mpi.comm_null : MPICH_COMM_NULL);
}

bool mpi_is_null_type(uintptr_t key)
{
	return !key ||
	       key == (mpi_abi() == MPI_ABI_OPEN_MPI ? open_mpi.type_null : MPICH_TYPE_NULL);
}

mpi_handle mpi_world(void)
{
	return mpi_abi() == MPI_ABI_OPEN_MPI ? open_mpi.world : MPICH_WORLD;
}

bool mpi_is_world(uintptr_t key)
{
	return key == mpi_world();
}

bool mpi_is_in_place(const void *buffer)
{
	return buffer == (const void *)(mpi_abi() == MPI_ABI_OPEN_MPI ? (intptr_t)1 : (intptr_t)-1);
}

/* MPI_STATUS_IGNORE is NULL, or 1. */
bool mpi_is_no_source(int source)
{
	return source == (mpi_abi() == MPI_ABI_OPEN_MPI ? -2 : -1);
}

uint32_t mpi_source_of(const void *status)
{
	size_t first = mpi_abi() == MPI_ABI_OPEN_MPI ? 0 : MPICH_STATUS_FIRST;
	int source;

	if ((uintptr_t)status <= 1)
		return 0;
	memcpy(&source, (const int *)status + first, sizeof(source));
	return source >= 0 ? (uint32_t)source + 1 : 0;
}

uint64_t mpi_size_of(mpi_handle type)
{
	int (*type_size)(mpi_handle, int *) =
		(int (*)(mpi_handle, int *))mpi_helper(MPI_HELP_TYPE_SIZE);
	int size = 0;

	if (!type_size || mpi_is_null_type(mpi_key(type)) || type_size(type, &size) || size < 0)
		return 0;
	return (uint64_t)size;
}
