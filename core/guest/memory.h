/* SPDX-License-Identifier: Apache-2.0
 *
 * The tracer's memory comes from mmap, never from the program's malloc: the program may have
 * replaced it, may hold its lock, or may call CUDA from inside it.
 *
 * Any thread; costs a system call.
 */
#ifndef GT_CORE_GUEST_MEMORY_H
#define GT_CORE_GUEST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* @size zeroed bytes, page aligned. NULL: no memory. */
void *gt_memory_map(size_t size);

/* Unmaps memory of gt_memory_map. NULL is fine. */
void gt_memory_unmap(void *memory, size_t size);

/* Grows a mapping, which may move; the new part is zeroed. NULL: no memory, the old mapping
 * stays. */
void *gt_memory_grow(void *memory, size_t old_size, size_t new_size);

/* A source of memory that outlives the process (core/spool.h): unmapping leaves its bytes where
 * they are. Set once, before any surviving arena is used; @source must live for ever. Any
 * thread. */
struct gt_memory_survivor {
	void *(*map)(size_t size); /* as gt_memory_map */
	bool (*holds)(const void *memory);
};

/* Sets that source. */
void gt_memory_set_survivor(const struct gt_memory_survivor *source);

#define GT_MEMORY_CGROUP "memory limit of the cgroup"
#define GT_MEMORY_SPACE  "limit of the address space (ulimit -v)"

/* Limits the sum of all mappings; 0: no limit. A mapping beyond it is refused. Mapped bytes count,
 * touched or not, so less is resident. @cause: static text, what sets the limit: "--max-rss" or
 * one of those. */
void gt_memory_limit(size_t bytes, const char *cause);

/* That text. Any thread. */
const char *gt_memory_limit_cause(void);

/* Reserves @bytes of the limit for a trace's file and its writer: other mappings are refused as if
 * the limit was that much lower. 0: ends the reservation. */
void gt_memory_keep(size_t bytes);

/* From the next gt_memory_keep on the address space is mapped, too: it is limited (ulimit -v). */
void gt_memory_keep_space(void);

/* Whether mappings of the calling thread, of ours, may use the reservation. */
void gt_memory_use_kept(bool uses);

/* Why the calling thread's last mapping failed, as "--max-rss=64M". Any thread. */
void gt_memory_why(char *ret_text, size_t size);

/* Memory of the tracer. */
struct gt_memory_counts {
	size_t now, peak; /* bytes */
	uint64_t refused; /* mappings, by the limit */
	uint64_t failed;  /* mappings, by the kernel */
};
/* The current counts. Any thread. */
struct gt_memory_counts gt_memory_count(void);

/* Reserves address space of which little will be used: only what is charged counts. */
void *gt_memory_reserve(size_t size);
void gt_memory_unreserve(void *memory, size_t size);

/* The same, read-only: mlockall does not fill it, strict overcommit does not count it.
 * _make_writable opens the pages that hold the @size bytes at @blank; false: no memory. */
void *gt_memory_reserve_blank(size_t size);
bool gt_memory_make_writable(void *blank, size_t size);

/* Counts bytes against the limit; _uncharge undoes it. */
bool gt_memory_charge(size_t bytes); /* false: over the limit */
void gt_memory_uncharge(size_t bytes);

/* Whether @bytes more leave what is needed to begin another file. For tables that grow with the
 * load and can do without. */
bool gt_memory_is_ample(size_t bytes);

/* An arena: allocations live until the arena ends. For interned strings and stacks. */
struct gt_arena {
	struct gt_arena_block *blocks;
	size_t used;      /* in the newest block */
	size_t total;     /* bytes mapped */
	size_t max_bytes; /* 0: no limit */
	bool survives;    /* blocks are in the spool, if there is one (core/spool.h) */
};

/* Starts an empty arena of at most @max_bytes (0: no limit). */
void gt_arena_init(struct gt_arena *arena, size_t max_bytes);

/* @size bytes aligned to 8, zeroed. NULL: no memory or over the limit. */
void *gt_arena_get(struct gt_arena *arena, size_t size);

/* Frees all allocations of the arena. */
void gt_arena_fini(struct gt_arena *arena);

#endif
