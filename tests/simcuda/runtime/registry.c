/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program compiled by nvcc registers about itself before main: its images, kernels and
 * variables. A kernel is loaded into the driver when it is first asked for, as with lazy loading.
 * Registration: constructors, under a lock. Look-up: any thread, no lock once the entry is known.
 */
#include "runtime/runtime.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct image {
	const void *data;
	CUlibrary library;
};

/* A kernel or a variable of the program. */
struct entry {
	const void *host;
	const char *name;
	struct image *image;
	size_t bytes; /* variables */
	CUfunction _Atomic kernel;
	CUdeviceptr address;
};

struct table {
	size_t room; /* a power of two */
	size_t count;
	struct entry *_Atomic slots[];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct table *_Atomic entries;

/* The prototypes are nvcc's, in crt/host_runtime.h, which only C++ can include. */
void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
		       size_t bytes, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext,
			      size_t bytes, int constant, int global);
void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes);
char __cudaInitModule(void **handle);
void __cudaRegisterUnifiedTable(void **handle, void *table);
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetProcAddress(const char *name, void **address, unsigned int version,
				 unsigned long long flags, void *status);

static size_t hash(const void *key)
{
	return (size_t)(((uintptr_t)key >> 2) * 0x9e3779b97f4a7c15u >> 20);
}

static struct entry *find(const void *host)
{
	struct table *table = atomic_load_explicit(&entries, memory_order_acquire);

	for (size_t i = hash(host); table; i++) {
		struct entry *entry = table->slots[i & (table->room - 1)];

		if (!entry || entry->host == host)
			return entry;
	}
	return NULL;
}

static void insert(struct table *table, struct entry *entry)
{
	size_t i = hash(entry->host);

	while (table->slots[i & (table->room - 1)] &&
	       table->slots[i & (table->room - 1)]->host != entry->host)
		i++;
	table->count += !table->slots[i & (table->room - 1)];
	table->slots[i & (table->room - 1)] = entry;
}

/* Grown tables replace the old one, which readers may still hold: it is not freed. */
static struct table *with_room(void)
{
	struct table *old = entries;
	size_t room = old ? old->room : 256;

	if (old && old->count * 2 < old->room)
		return old;
	room = old ? room * 2 : room;
	struct table *new = calloc(1, sizeof(*new) + room * sizeof(new->slots[0]));
	if (!new)
		return old;
	new->room = room;
	for (size_t i = 0; old && i < old->room; i++)
		if (old->slots[i])
			insert(new, old->slots[i]);
	return new;
}

static void add(void **handle, const void *host, const char *name, size_t bytes)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return;
	entry->host = host;
	entry->name = name;
	entry->image = (struct image *)handle;
	entry->bytes = bytes;
	pthread_mutex_lock(&mutex);
	struct table *table = with_room();
	insert(table, entry);
	atomic_store_explicit(&entries, table, memory_order_release);
	pthread_mutex_unlock(&mutex);
}

void **__cudaRegisterFatBinary(void *binary)
{
	const struct {
		int magic;
		int version;
		const void *data;
	} *wrapper = binary;
	struct image *image = calloc(1, sizeof(*image));

	if (image)
		image->data = wrapper->data;
	return (void **)image;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
}

/* Forgets the object's entries: it may be loaded again at the same addresses. */
void __cudaUnregisterFatBinary(void **handle)
{
	pthread_mutex_lock(&mutex);
	struct table *table = entries;
	for (size_t i = 0; table && i < table->room; i++)
		if (table->slots[i] && table->slots[i]->image == (struct image *)handle)
			table->slots[i]->kernel = NULL;
	pthread_mutex_unlock(&mutex);
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp)
{
	add(handle, host, strdup(name), 0);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
		       size_t bytes, int constant, int global)
{
	add(handle, host, strdup(name), bytes);
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext,
			      size_t bytes, int constant, int global)
{
	*host = calloc(1, bytes);
	add(handle, host, strdup(name), bytes);
}

void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes)
{
	add(handle, host, strdup(name), bytes);
}

char __cudaInitModule(void **handle)
{
	return 1;
}

void __cudaRegisterUnifiedTable(void **handle, void *table)
{
}

static CUlibrary library_of(struct image *image)
{
	if (!image->library)
		rt_cu.cuLibraryLoadData(&image->library, image->data, NULL, NULL, 0, NULL, NULL, 0);
	return image->library;
}

static void load_kernel(struct entry *entry)
{
	CUkernel kernel = NULL;

	pthread_mutex_lock(&mutex);
	CUlibrary library = library_of(entry->image);
	if (library && !entry->kernel)
		rt_cu.cuLibraryGetKernel(&kernel, library, entry->name);
	if (kernel)
		entry->kernel = (CUfunction)kernel;
	pthread_mutex_unlock(&mutex);
}

/* NULL when nobody registered the function. A kernel handle is its own answer. */
CUfunction rt_kernel_of(const void *host_function)
{
	struct entry *entry = find(host_function);

	if (sim_unlikely(!entry))
		return NULL;
	if (sim_unlikely(!entry->kernel))
		load_kernel(entry);
	return entry->kernel;
}

/* The argument of a launch, seen before the call: a host function, or a kernel handle. */
const char *rt_symbol_of(const void *function)
{
	struct entry *entry = find(function);

	if (entry)
		return entry->name;
	return function ? rt_table->symbol_of((CUfunction)function) : NULL;
}

cudaError_t rt_variable_of(const void *host_variable, CUdeviceptr *ret_address, size_t *ret_bytes)
{
	struct entry *entry = find(host_variable);
	cudaError_t error = cudaSuccess;

	if (!entry)
		return cudaErrorInvalidSymbol;
	pthread_mutex_lock(&mutex);
	size_t bytes = entry->bytes;
	CUlibrary library = library_of(entry->image);
	if (!entry->address)
		error = RT_PLAIN(cuLibraryGetGlobal, &entry->address, &bytes, library, entry->name);
	pthread_mutex_unlock(&mutex);
	*ret_address = entry->address;
	*ret_bytes = entry->bytes;
	return error;
}

cudaError_t rt_cudaGetSymbolAddress(void **address, const void *symbol)
{
	size_t bytes;

	return rt_variable_of(symbol, (CUdeviceptr *)address, &bytes);
}

cudaError_t rt_cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
	CUdeviceptr address;

	return rt_variable_of(symbol, &address, bytes);
}

unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream)
{
	if (rt_self.pushed == 4)
		return cudaErrorLaunchFailure;
	int at = rt_self.pushed++;
	rt_self.configuration[at].grid = grid;
	rt_self.configuration[at].block = block;
	rt_self.configuration[at].shared = shared;
	rt_self.configuration[at].stream = stream;
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	if (!rt_self.pushed)
		return cudaErrorMissingConfiguration;
	int at = --rt_self.pushed;
	*grid = rt_self.configuration[at].grid;
	*block = rt_self.configuration[at].block;
	*shared = rt_self.configuration[at].shared;
	*(cudaStream_t *)stream = rt_self.configuration[at].stream;
	return cudaSuccess;
}

cudaError_t __cudaGetProcAddress(const char *name, void **address, unsigned int version,
				 unsigned long long flags, void *status)
{
	return rt_missing("__cudaGetProcAddress");
}
