/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. The memory goes first, then the files, then only the number is left.
 */
#include "recover/liveness.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEP_MS       20
#define PATIENCE_MS   10000

#define KERNEL_THREAD 0x00200000u /* PF_KTHREAD of the kernel's sched.h */

/* What the lines of a thread's status told so far. */
struct signs {
	bool has_ended, has_memory, is_killed, is_stopped;
};

static void see_state(struct signs *signs, const char *value)
{
	signs->has_ended = strchr("ZX", *value);
	signs->is_stopped = strchr("Tt", *value);
}

static void see_memory(struct signs *signs, const char *value)
{
	(void)value;
	signs->has_memory = true;
}

static void see_pending(struct signs *signs, const char *value)
{
	signs->is_killed |= strtoull(value, NULL, 16) >> (SIGKILL - 1) & 1;
}

static const struct {
	const char *key;
	void (*see)(struct signs *signs, const char *value);
} lines[] = {
	{"State:\t", see_state},
	{"VmSize:\t", see_memory},
	{"SigPnd:\t", see_pending},
	{"ShdPnd:\t", see_pending},
};

static void see_line(struct signs *signs, const char *line)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		size_t length = strlen(lines[i].key);

		if (!strncmp(line, lines[i].key, length))
			lines[i].see(signs, line + length);
	}
}

static struct signs signs_of_thread(const char *status)
{
	FILE *file = fopen(status, "re");
	struct signs signs = {.has_ended = !file};
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		see_line(&signs, line);
	if (file)
		fclose(file);
	return signs;
}

static enum gt_liveness life_of_thread(const struct signs *signs)
{
	if (signs->has_ended)
		return GT_LIVENESS_ENDED;
	return signs->has_memory && !signs->is_killed ? GT_LIVENESS_ALIVE : GT_LIVENESS_DYING;
}

/* Kernel threads have no memory either: the number has gone to one, or was another process's in a
 * container. */
static bool is_of_the_kernel(const char *proc, int64_t pid)
{
	char path[4096], line[512] = "";
	unsigned int flags = 0;
	const char *behind;
	FILE *file;

	snprintf(path, sizeof(path), "%.3000s/%" PRId64 "/stat", proc, pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	behind = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	return behind && sscanf(behind, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       flags & KERNEL_THREAD;
}

/* What lives most of all threads; *ret_stopped: one of them stands still. */
static enum gt_liveness look(const char *proc, int64_t pid, bool *ret_stopped)
{
	enum gt_liveness life = GT_LIVENESS_ENDED;
	struct dirent *entry;
	char path[4096];
	DIR *threads;

	snprintf(path, sizeof(path), "%.3000s/%" PRId64 "/task", proc, pid);
	threads = opendir(path);
	*ret_stopped = false;
	while (threads && (entry = readdir(threads))) {
		struct signs signs;

		if (*entry->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "%.3000s/%" PRId64 "/task/%s/status", proc, pid,
			 entry->d_name);
		signs = signs_of_thread(path);
		*ret_stopped |= signs.is_stopped;
		if (life_of_thread(&signs) > life)
			life = life_of_thread(&signs);
	}
	if (threads)
		closedir(threads);
	return life == GT_LIVENESS_DYING && is_of_the_kernel(proc, pid) ? GT_LIVENESS_ENDED : life;
}

enum gt_liveness gt_liveness_of(const char *proc, int64_t pid)
{
	bool is_stopped;

	return look(proc, pid, &is_stopped);
}

bool gt_liveness_is_stopped(const char *proc, int64_t pid)
{
	bool is_stopped;

	look(proc, pid, &is_stopped);
	return is_stopped;
}

bool gt_liveness_wait(const char *proc, int64_t pid, int *patience_ms)
{
	const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
	enum gt_liveness life;

	while ((life = gt_liveness_of(proc, pid)) == GT_LIVENESS_DYING && *patience_ms > 0) {
		nanosleep(&step, NULL);
		*patience_ms -= STEP_MS;
	}
	return life != GT_LIVENESS_ENDED;
}

bool gt_process_is_alive(int64_t pid)
{
	static int patience_ms = PATIENCE_MS;

	return gt_liveness_wait("/proc", pid, &patience_ms);
}
