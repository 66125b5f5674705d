/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates, hands out and removes the spool, see the header. The whole file is mapped once. A piece
 * becomes usable when its pages are reserved.
 */
#include "core/spool.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/guest/descriptor.h"
#include "core/guest/memory.h"
#include "core/guest/seccomp.h"
#include "core/guest/sys.h"
#include "core/guest/text.h"
#include "core/shared_file.h"

#define PATH_BYTES  1024
#define PAGE_BYTES  4096u
/* A spool takes at most this share of what is free, and none below the minimum: a small /dev/shm is
 * left to the program. */
#define FREE_SHARE  8u
#define LEAST_BYTES ((uint64_t)16 << 20)

static struct {
	struct gt_spool_header *header; /* NULL: no spool */
	size_t size;
	char path[PATH_BYTES];
	_Atomic bool open; /* pieces can be mapped */
} spool;

/* In a forked child: the parent's records must not be touched, and pointers to them must stay
 * valid, so empty memory replaces them. Raw mmap calls are safe here. */
static void replace_in_child(void)
{
	if (!spool.header)
		return;
	atomic_store(&spool.open, false);
	*spool.path = 0;
	(void)mmap(spool.header, spool.size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static void watch_forks(void)
{
	static bool watched;

	if (!watched)
		pthread_atfork(NULL, NULL, replace_in_child);
	watched = true;
}

/* How many bytes a spool in @folder may have. 0: none, *ret_why says why. */
static size_t room_in(const char *folder, size_t max_bytes, const char **ret_why)
{
	uint64_t room = gt_shared_file_room(folder, LEAST_BYTES * FREE_SHARE, ret_why) / FREE_SHARE;

	return (room < max_bytes ? (size_t)room : max_bytes) & ~(size_t)(PAGE_BYTES - 1);
}

const char *gt_spool_refusal(const char *folder)
{
	const char *why = NULL;

	if (room_in(folder, LEAST_BYTES, &why) && access(folder, W_OK | X_OK))
		why = "cannot be written";
	return why;
}

static int make_in(const char *folder, const void *data, const char **ret_why)
{
	const struct gt_spool_options *options = data;
	size_t size = room_in(folder, options->max_bytes, ret_why);
	char given[PATH_BYTES];
	void *memory;
	int error;

	if (!size)
		return -ENOSPC;
	gt_text_format(given, sizeof(given), "%s/" GT_SPOOL_PREFIX "%d.%lu" GT_SPOOL_SUFFIX, folder,
		       (int)getpid(), (unsigned long)options->started);
	gt_sys_absolute(given, spool.path,
			sizeof(spool.path)); /* the program may change its folder */
	error = gt_shared_file_make(spool.path, size, sizeof(struct gt_spool_header), &memory);
	if (error) {
		*ret_why = error == -EACCES || error == -EROFS ? "cannot be written" : "refused it";
		*spool.path = 0;
		return error;
	}
	spool.header = memory;
	spool.size = size;
	return 0;
}

static void fill_header(const struct gt_spool_options *options)
{
	struct gt_spool_header *header = spool.header;

	header->version = GT_SPOOL_VERSION;
	header->pid = (uint32_t)getpid();
	header->start_ticks = gt_sys_start_ticks((int)getpid());
	gt_sys_boot_id(header->boot_id, sizeof(header->boot_id));
	gt_text_format(header->build_id, sizeof(header->build_id), "%s", options->build_id);
	gt_text_format(header->folder, sizeof(header->folder), "%s", options->folder);
	header->base = (uint64_t)(uintptr_t)header;
	header->size = spool.size;
	atomic_store(&header->used,
		     (sizeof(*header) + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1));
	memcpy(header->magic, GT_SPOOL_MAGIC,
	       sizeof(header->magic)); /* last: it makes the file valid */
}

/* Mapping the spool would use up a limit on address space that is meant for the program. */
static bool address_space_is_limited(void)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY;
}

static const struct gt_memory_survivor survivor = {.map = gt_spool_map, .holds = gt_spool_holds};

int gt_spool_start(const struct gt_spool_options *options, char *ret_why, size_t size)
{
	int error = gt_shared_file_wanted(options->where, ret_why, size);

	memset(&spool, 0, sizeof(spool));
	if (error)
		return error;
	if (address_space_is_limited()) {
		gt_text_format(ret_why, size, "the address space is limited");
		return -ENOMEM;
	}
	error = gt_shared_file_place(options->where, options->runtime, make_in, options, ret_why,
				     size);
	if (error)
		return error;
	fill_header(options);
	watch_forks();
	gt_memory_set_survivor(&survivor);
	atomic_store(&spool.open, true);
	return 0;
}

void gt_spool_remove(void)
{
	if (atomic_exchange(&spool.open, false) && *spool.path && gt_seccomp_permits(GT_SYS_unlink))
		unlink(spool.path);
}

const char *gt_spool_path(void)
{
	return spool.path;
}

bool gt_spool_is_open(void)
{
	return atomic_load_explicit(&spool.open, memory_order_acquire);
}

/* Claims the next @size free bytes; 0: fewer are left. */
static uint64_t claim(struct gt_spool_header *header, size_t size)
{
	uint64_t offset = atomic_load(&header->used);

	do {
		if (size > spool.size - offset)
			return 0;
	} while (!atomic_compare_exchange_weak(&header->used, &offset, offset + size));
	return offset;
}

/* Bytes that were claimed and could not be reserved stay unused for ever. */
static void *allocate(size_t size)
{
	uint64_t offset;

	if (!gt_spool_is_open())
		return NULL;
	offset = claim(spool.header, size);
	if (offset && !gt_shared_file_reserve(spool.path, offset, size))
		return (char *)spool.header + offset;
	atomic_fetch_add(&spool.header->refused, size);
	return NULL;
}

void *gt_spool_map(size_t size)
{
	size_t pages = (size + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
	int saved = errno;
	void *memory;

	if (!gt_memory_charge(pages))
		return NULL;
	memory = allocate(pages);
	errno = saved;
	if (memory)
		return memory;
	gt_memory_uncharge(pages);
	return gt_memory_map(size);
}

bool gt_spool_holds(const void *memory)
{
	const char *start = (const char *)spool.header;

	return start && (const char *)memory >= start && (const char *)memory < start + spool.size;
}

uint64_t gt_spool_refused(void)
{
	return spool.header ? atomic_load(&spool.header->refused) : 0;
}

uint64_t gt_spool_refused_threads(void)
{
	return spool.header ? atomic_load(&spool.header->threads_refused) : 0;
}

uint64_t gt_spool_room(void)
{
	return gt_spool_is_open() ? spool.size - atomic_load(&spool.header->used) : 0;
}

void gt_spool_refuse_thread(void)
{
	if (spool.header)
		atomic_fetch_add(&spool.header->threads_refused, 1);
}

void gt_spool_set_root(enum gt_spool_root root, const void *table)
{
	if (gt_spool_holds(table) && atomic_load(&spool.open))
		atomic_store(&spool.header->roots[root], (uint64_t)(uintptr_t)table);
}

void gt_spool_set_trace(const char *path)
{
	if (!atomic_load(&spool.open))
		return;
	gt_text_format(spool.header->trace, sizeof(spool.header->trace), "%s", path);
	atomic_store(&spool.header->is_closing, 0); /* last: the closed trace is not named now */
}

void gt_spool_set_closing(void)
{
	if (atomic_load(&spool.open))
		atomic_store(&spool.header->is_closing, 1);
}
