/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. The state is one number that only grows.
 */
#include "core/guest/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/guest/descriptor.h"
#include "core/guest/memory.h"
#include "core/guest/text.h"
#include "core/guest/uncancelled.h"

#define MODE         "\nSeccomp:\t"
#define PARENT       "\nPPid:\t"
#define LATER        "\nCpus_allowed:\t"
#define FILTERS      "\nSeccomp_filters:\t"
#define STATUS_BYTES 8192

enum when { COMMON, ORDINARY, RARE };

/* The state up to which a call is made. */
static const enum gt_seccomp permitted[] = {
	[COMMON] = GT_SECCOMP_OWN,
	[ORDINARY] = GT_SECCOMP_INHERITED,
	[RARE] = GT_SECCOMP_NONE,
};

static const uint8_t calls[GT_SYS_COUNT_] = {
#define GT_SYSCALL(name, when, purpose) [GT_SYS_##name] = when,
#include "core/guest/syscalls.def"
#undef GT_SYSCALL
};

static int at_start;     /* filters; written before there are threads of ours */
static _Atomic int seen; /* enum gt_seccomp */

/* What a watching thread keeps. The file stays open: to open one takes, for a moment, a descriptor
 * that the program may expect. */
struct watch {
	struct gt_descriptor file;
	char text[STATUS_BYTES];
};

static __thread struct watch *watch; /* NULL: a thread of the program */
static struct watch unreadable;      /* of threads for which there is no memory */

/* Room that is there when memory is not: a filter that is taken for granted because nothing could
 * be read would forbid to remove an empty trace. */
#define SET_ASIDE 8u
static struct watch set_aside[SET_ASIDE];
static _Atomic bool is_taken[SET_ASIDE];

static struct watch *take_watch(void)
{
	for (unsigned int i = 0; i < SET_ASIDE; i++)
		if (!atomic_exchange(&is_taken[i], true))
			return &set_aside[i];
	return gt_memory_reserve(sizeof(struct watch));
}

static void give_watch(struct watch *given)
{
	if (given >= set_aside && given < set_aside + SET_ASIDE)
		atomic_store(&is_taken[given - set_aside], false);
	else
		gt_memory_unreserve(given, sizeof(*given));
}

static bool find_number(const char *status, const char *key, uint64_t *ret_number)
{
	const char *line = strstr(status, key), *end;

	return line && !gt_text_parse_u64(line + strlen(key), &end, ret_number);
}

int gt_seccomp_parse(const char *status)
{
	uint64_t mode, count;

	if (!find_number(status, MODE, &mode)) /* a kernel without it, or a text that was cut */
		return strstr(status, LATER) ? 0 : -1;
	if (!mode)
		return 0;
	return find_number(status, FILTERS, &count) && count && count < INT32_MAX ? (int)count : 1;
}

/* The filters of the process that started this one. It may be out of sight, outside a container. */
static int count_of_parent(const char *status)
{
	char text[STATUS_BYTES], path[64];
	uint64_t parent;

	if (!find_number(status, PARENT, &parent))
		return -1;
	if (!parent)
		return 1;
	gt_text_format(path, sizeof(path), "/proc/%lu/status", (unsigned long)parent);
	text[gt_descriptor_read_file(path, text, sizeof(text) - 1)] = 0;
	return gt_seccomp_parse(text);
}

static void raise_to(int state)
{
	int now = atomic_load(&seen);

	while (now < state && !atomic_compare_exchange_weak(&seen, &now, state))
		continue;
}

/* A status that cannot be read (no /proc, that of another pid namespace) says nothing: a filter
 * that kills would have done so, one that refuses does no harm. */
void gt_seccomp_note_start(const char *status, bool late)
{
	int now = gt_seccomp_parse(status),
	    parent = late && now > 0 ? count_of_parent(status) : now;

	at_start = now < parent ? now : parent;
	if (at_start < 0)
		at_start = 0;
	if (now)
		raise_to(now > at_start && now > 0 ? GT_SECCOMP_OWN : GT_SECCOMP_INHERITED);
}

bool gt_seccomp_shows_own(const char *status)
{
	return gt_seccomp_parse(status) > at_start;
}

static void path_of_status(char *ret_path, size_t size)
{
	gt_text_format(ret_path, size, "/proc/self/task/%d/status", (int)syscall(SYS_gettid));
}

/* Whether the calling thread has: each has its own filters. */
static bool has_own(void)
{
	struct watch *room = take_watch();
	char path[64];
	bool own;

	if (!room)
		return true;
	path_of_status(path, sizeof(path));
	room->text[gt_descriptor_read_file(path, room->text, STATUS_BYTES - 1)] = 0;
	own = gt_seccomp_shows_own(room->text);
	give_watch(room);
	return own;
}

/* The same on a thread that watches. */
static bool has_own_by_now(void)
{
	char path[64];
	ssize_t n = 0;

	if (!gt_descriptor_is_ours(&watch->file)) {
		path_of_status(path, sizeof(path));
		gt_descriptor_open(&watch->file, AT_FDCWD, path, O_RDONLY, 0);
	}
	if (watch->file.fd >= 0)
		n = pread(watch->file.fd, watch->text, STATUS_BYTES - 1, 0);
	watch->text[n > 0 ? n : 0] = 0;
	return gt_seccomp_shows_own(watch->text);
}

enum gt_seccomp gt_seccomp_check(void)
{
	int saved = errno, cancelled;

	if (gt_seccomp_seen() == GT_SECCOMP_OWN)
		return GT_SECCOMP_OWN;
	cancelled = gt_uncancelled_begin();
	if (watch ? has_own_by_now() : has_own())
		raise_to(GT_SECCOMP_OWN);
	gt_uncancelled_end(cancelled);
	errno = saved;
	return gt_seccomp_seen();
}

enum gt_seccomp gt_seccomp_seen(void)
{
	return (enum gt_seccomp)atomic_load_explicit(&seen, memory_order_relaxed);
}

bool gt_seccomp_permits(enum gt_syscall call)
{
	enum gt_seccomp limit = permitted[calls[call]];

	if (watch && limit < GT_SECCOMP_OWN)
		gt_seccomp_check();
	return gt_seccomp_seen() <= limit;
}

bool gt_seccomp_permits_now(enum gt_syscall call)
{
	if (!watch)
		gt_seccomp_check();
	return gt_seccomp_permits(call);
}

void gt_seccomp_watch(void)
{
	watch = take_watch();
	if (!watch) { /* nothing will be checked any more */
		watch = &unreadable;
		raise_to(GT_SECCOMP_OWN);
	}
	watch->file = GT_DESCRIPTOR_NONE;
}

void gt_seccomp_unwatch(void)
{
	if (watch && watch != &unreadable) {
		gt_descriptor_close(&watch->file);
		give_watch(watch);
	}
	watch = NULL;
}

bool gt_seccomp_is_watching(void)
{
	return watch != NULL;
}
