/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. readdir would need malloc.
 */
#include "collectors/sampler/tasks.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/guest/descriptor.h"
#include "core/guest/seccomp.h"
#include "core/guest/text.h"

/* As the kernel fills it in: struct linux_dirent64. */
struct tasks_entry {
	uint64_t inode;
	int64_t offset;
	uint16_t size;
	uint8_t type;
	char name[];
};

struct tasks {
	uint32_t *tids;
	uint32_t room, count;
};

static void take(struct tasks *tasks, const char *bytes, size_t size)
{
	for (size_t at = 0; at < size;) {
		const struct tasks_entry *entry = (const void *)(bytes + at);
		const char *end;
		uint64_t tid;

		at += entry->size;
		if (gt_text_parse_u64(entry->name, &end, &tid) || *end)
			continue; /* "." and ".." */
		if (tasks->count < tasks->room)
			tasks->tids[tasks->count] = (uint32_t)tid;
		tasks->count++;
	}
}

uint32_t gt_sample_tasks(uint32_t *ret_tids, uint32_t room)
{
	_Alignas(struct tasks_entry) char bytes[4096];
	struct tasks tasks = {.tids = ret_tids, .room = room};
	struct gt_descriptor folder = GT_DESCRIPTOR_NONE;
	long n;

	if (!gt_seccomp_permits(GT_SYS_getdents64))
		return 0;
	if (!gt_descriptor_open(&folder, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY, 0))
		while ((n = syscall(SYS_getdents64, folder.fd, bytes, sizeof(bytes))) > 0)
			take(&tasks, bytes, (size_t)n);
	gt_descriptor_close(&folder);
	return tasks.count;
}
