/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory and events of another process. What is given away moves into a memfd, which the other
 * process opens through /proc: nothing stays behind when either dies. Any thread.
 */
#include "driver/driver.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMORY_MAGIC    0x49504d31u
#define EVENT_IPC_MAGIC 0x49504531u
#define PAGE            4096u
#define DESCRIPTORS     200 /* lowest number: out of the way of the program's */

/* What the 64 bytes of both kinds of handle hold. */
struct ticket {
	uint32_t magic;
	int32_t pid;
	int32_t fd;
	uint32_t flags;
	uint64_t inode;
	uint64_t bytes;
	uint64_t offset;
};
_Static_assert(sizeof(struct ticket) <= CU_IPC_HANDLE_SIZE, "a ticket fits a handle");

/* An allocation that was given away. */
struct given {
	uintptr_t address;
	struct ticket ticket;
	struct given *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct given *given;

/* A memfd of so many bytes under a high number, and the ticket for it. */
static CUresult shared_new(size_t bytes, uint32_t magic, struct ticket *ret)
{
	int low = memfd_create("simcuda-ipc", MFD_CLOEXEC);
	int fd = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, DESCRIPTORS);
	struct stat st;

	if (low >= 0)
		close(low);
	if (fd < 0 || ftruncate(fd, (off_t)bytes) || fstat(fd, &st))
		return CUDA_ERROR_OPERATING_SYSTEM;
	*ret = (struct ticket){.magic = magic,
			       .pid = (int32_t)getpid(),
			       .fd = fd,
			       .inode = st.st_ino,
			       .bytes = bytes};
	return CUDA_SUCCESS;
}

static bool is_zero(const char *page)
{
	return !page[0] && !memcmp(page, page + 1, PAGE - 1);
}

/* Puts the memfd under the addresses; pages never written to stay holes. */
static CUresult move_to(int fd, uintptr_t address, size_t bytes)
{
	size_t whole = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);

	for (size_t at = 0; at < whole; at += PAGE)
		if (!is_zero((char *)address + at) &&
		    pwrite(fd, (char *)address + at, PAGE, (off_t)at) != (ssize_t)PAGE)
			return CUDA_ERROR_OUT_OF_MEMORY;
	if (mmap((void *)address, whole, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
	    MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

/* Caller holds the mutex. */
static CUresult give(const struct sim_allocation *memory, struct ticket *ret)
{
	struct given *entry = given;

	while (entry && entry->address != memory->address)
		entry = entry->next;
	if (entry) {
		*ret = entry->ticket;
		return CUDA_SUCCESS;
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return CUDA_ERROR_OUT_OF_MEMORY;
	entry->address = memory->address;
	CUresult result = shared_new(memory->bytes, MEMORY_MAGIC, &entry->ticket);
	if (!result)
		result = move_to(entry->ticket.fd, memory->address, memory->bytes);
	if (result) {
		free(entry);
		return result;
	}
	entry->next = given;
	given = entry;
	*ret = entry->ticket;
	return CUDA_SUCCESS;
}

/* The allocation is freed: the address may be another one's later. */
void sim_ipc_forget(uintptr_t address)
{
	pthread_mutex_lock(&mutex);
	struct given **at = &given;
	while (*at && (*at)->address != address)
		at = &(*at)->next;
	if (*at) {
		struct given *entry = *at;

		*at = entry->next;
		close(entry->ticket.fd);
		free(entry);
	}
	pthread_mutex_unlock(&mutex);
}

CUresult sim_cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
	struct sim_allocation memory;
	struct ticket ticket;

	if (!handle || !sim_memory_find((void *)address, &memory) ||
	    memory.kind != SIM_MEMORY_DEVICE || memory.pool || memory.is_mapped)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&mutex);
	CUresult result = give(&memory, &ticket);
	pthread_mutex_unlock(&mutex);
	if (result)
		return result;
	ticket.offset = address - memory.address;
	memset(handle, 0, sizeof(*handle));
	memcpy(handle, &ticket, sizeof(ticket));
	return CUDA_SUCCESS;
}

/* The other process's descriptor, or -1: it may have closed it, or gone. */
static int open_ticket(const struct ticket *ticket)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", ticket->pid, ticket->fd);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) || st.st_ino != ticket->inode)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void *map_ticket(const struct ticket *ticket)
{
	int fd = open_ticket(ticket);
	void *pages = MAP_FAILED;

	if (fd < 0)
		return NULL;
	pages = mmap(NULL, ticket->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return pages == MAP_FAILED ? NULL : pages;
}

CUresult sim_cuIpcOpenMemHandle_v2(CUdeviceptr *ret_address, CUipcMemHandle handle,
				   unsigned int flags)
{
	struct sim_allocation memory = {.kind = SIM_MEMORY_DEVICE, .is_mapped = true};
	CUresult result = sim_check_context(&memory.context);
	struct ticket ticket;

	memcpy(&ticket, &handle, sizeof(ticket));
	if (result || !ret_address || ticket.magic != MEMORY_MAGIC)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	if (ticket.pid == (int32_t)getpid())
		return CUDA_ERROR_INVALID_CONTEXT;
	memory.address = (uintptr_t)map_ticket(&ticket);
	memory.bytes = ticket.bytes;
	if (!memory.address)
		return CUDA_ERROR_MAP_FAILED;
	*ret_address = memory.address + ticket.offset;
	return sim_memory_add(&memory);
}

CUresult sim_cuIpcOpenMemHandle(CUdeviceptr *address, CUipcMemHandle handle, unsigned int flags)
{
	return sim_cuIpcOpenMemHandle_v2(address, handle, flags);
}

CUresult sim_cuIpcCloseMemHandle(CUdeviceptr address)
{
	struct sim_allocation memory;

	if (!sim_memory_find((void *)address, &memory) || !memory.is_mapped)
		return CUDA_ERROR_INVALID_VALUE;
	sim_memory_remove(memory.address, &memory);
	munmap((void *)memory.address, memory.bytes);
	return CUDA_SUCCESS;
}

CUresult sim_cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event)
{
	struct ticket ticket;

	if (!handle || !sim_event_valid(event))
		return handle ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
	if (!(event->flags & CU_EVENT_INTERPROCESS) || event->state != &event->own)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = shared_new(sizeof(*event->state), EVENT_IPC_MAGIC, &ticket);
	if (result)
		return result;
	struct sim_event_state *state =
		mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED, ticket.fd, 0);
	if (state == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	state->time = event->own.time;
	state->recorded = event->own.recorded;
	event->state = state;
	ticket.flags = event->flags;
	memset(handle, 0, sizeof(*handle));
	memcpy(handle, &ticket, sizeof(ticket));
	return CUDA_SUCCESS;
}

CUresult sim_cuIpcOpenEventHandle(CUevent *ret_event, CUipcEventHandle handle)
{
	struct ticket ticket;

	memcpy(&ticket, &handle, sizeof(ticket));
	if (!ret_event || ticket.magic != EVENT_IPC_MAGIC)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = sim_cuEventCreate(ret_event, ticket.flags);
	if (result)
		return result;
	struct sim_event_state *state = map_ticket(&ticket);
	if (state)
		(*ret_event)->state = state;
	return state ? CUDA_SUCCESS : CUDA_ERROR_MAP_FAILED;
}
