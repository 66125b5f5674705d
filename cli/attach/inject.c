/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. A thread is made to call mmap, on its own stack, then dlopen and gputrace_attach
 * on the stack that it got, then munmap.
 */
#include "cli/attach/inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "cli/attach/image.h"
#include "cli/attach/process.h"
#include "cli/attach/program.h"
#include "cli/attach/tracee.h"

#define STACK_BYTES  ((uint64_t)1 << 20)
#define PATIENCE_MS  10000u /* until a thread is found, and the loader is free */
#define CALL_MS      2000u
#define LOAD_MS      10000u
#define PAUSE_NS     2000000
#define LIBRARY_NAME "libgputrace.so"

/* glibc's own mode of dlopen, for the function that older versions have. */
#define OLD_MODE     0x80000000u

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* What is called there. */
struct functions {
	uint64_t libc; /* where it is mapped */
	uint64_t open, map, unmap;
	uint64_t mode; /* of open */
	struct gt_way_back way;
};

/* One attempt. */
struct attempt {
	pid_t pid;
	const char *library;
	const struct gt_attach_box *box;
	const struct functions *functions;
	struct gt_tracee *tracee;
	uint64_t stack;   /* its lowest address; 0: none yet */
	uint64_t kept_us; /* the last thread */
	char *why;
	size_t size;
};

/* ---- what is there ---- */

static void read_named(pid_t pid, const struct gt_maps *maps, const char *name, const char *old,
		       struct gt_image *ret_image)
{
	const struct gt_mapping *file = gt_maps_file(maps, name);

	if (!file)
		file = gt_maps_file(maps, old);
	*ret_image = (struct gt_image){.copy = NULL};
	if (file)
		gt_image_read(pid, file->start, ret_image);
}

static bool find_functions(pid_t pid, const struct gt_maps *maps, struct functions *ret_functions)
{
	static const unsigned char restore[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	const struct gt_mapping *file = gt_program_libc(maps);
	struct functions found = {.libc = file ? file->start : 0, .mode = RTLD_NOW | RTLD_LOCAL};
	struct gt_image libc, libdl;

	read_named(pid, maps, "libc.so.6", "libc-2.", &libc);
	read_named(pid, maps, "libdl.so.2", "libdl-2.", &libdl);
	found.map = gt_image_symbol(&libc, "mmap");
	found.unmap = gt_image_symbol(&libc, "munmap");
	found.way.mark = gt_image_symbol(&libc, "sched_yield");
	found.way.restore = gt_image_code(&libc, restore, sizeof(restore));
	found.open = gt_image_symbol(&libc, "dlopen");
	if (!found.open)
		found.open = gt_image_symbol(&libdl, "dlopen");
	if (!found.open) { /* before glibc 2.34, without libdl */
		found.open = gt_image_symbol(&libc, "__libc_dlopen_mode");
		found.mode |= OLD_MODE;
	}
	gt_image_free(&libc);
	gt_image_free(&libdl);
	*ret_functions = found;
	return found.map && found.unmap && found.open && found.way.mark && found.way.restore;
}

uint64_t gt_inject_find_box(pid_t pid, const struct gt_mapping *library)
{
	struct gt_image image;
	uint64_t address;

	if (gt_image_read(pid, library->start, &image))
		return 0;
	address = gt_image_symbol(&image, "gputrace_attach_box");
	gt_image_free(&image);
	return address;
}

/* While one of its threads is stopped, only another one can begin another program. */
static bool is_same_program(const struct attempt *a)
{
	const struct gt_mapping *libc;
	struct gt_maps maps;
	bool is_same;

	if (gt_maps_read(a->pid, &maps))
		return false;
	libc = gt_program_libc(&maps);
	is_same = libc && libc->start == a->functions->libc;
	gt_maps_free(&maps);
	return is_same;
}

/* ---- the calls ---- */

static int call(const struct attempt *a, uint64_t function, uint64_t first, uint64_t second,
		unsigned limit_ms)
{
	const uint64_t arguments[GT_CALL_ARGUMENTS] = {first, second};

	return gt_tracee_call(a->tracee, function, arguments, a->stack + STACK_BYTES, limit_ms);
}

static int map_stack(struct attempt *a)
{
	uint64_t arguments[GT_CALL_ARGUMENTS] = {0,
						 STACK_BYTES,
						 PROT_READ | PROT_WRITE,
						 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
						 (uint64_t)-1,
						 0};
	const struct gt_mapping *found;
	struct gt_maps maps;
	int error = gt_maps_read(a->pid, &maps);

	if (error)
		return error;
	arguments[0] = gt_maps_gap(&maps, STACK_BYTES);
	gt_maps_free(&maps);
	if (!arguments[0])
		return -ENOMEM;
	error = gt_tracee_call(a->tracee, a->functions->map, arguments, 0, CALL_MS);
	if (!error)
		error = gt_maps_read(a->pid, &maps);
	if (error)
		return error;
	found = gt_maps_at(&maps, arguments[0]);
	if (found && found->start <= arguments[0] && found->writes &&
	    found->end >= arguments[0] + STACK_BYTES)
		a->stack = arguments[0];
	gt_maps_free(&maps);
	return a->stack ? 0 : -ENOMEM;
}

static void unmap_stack(struct attempt *a)
{
	uint64_t arguments[GT_CALL_ARGUMENTS] = {a->stack, STACK_BYTES};

	if (a->stack && !a->tracee->is_gone)
		gt_tracee_call(a->tracee, a->functions->unmap, arguments, 0, CALL_MS);
	a->stack = 0;
}

/* The path with a mark for its constructor. */
static int load(const struct attempt *a)
{
	const char *name = strrchr(a->library, '/');
	char path[PATH_MAX + sizeof(GT_ATTACH_FOLDER)];
	int error;

	snprintf(path, sizeof(path), "%.*s" GT_ATTACH_FOLDER "%s",
		 (int)(name ? name - a->library : 0), a->library, name ? name + 1 : a->library);
	error = gt_memory_write(a->pid, a->stack, path, strlen(path) + 1);
	return error ? error : call(a, a->functions->open, a->stack, a->functions->mode, LOAD_MS);
}

static int start(const struct attempt *a)
{
	const struct gt_mapping *file;
	struct gt_image image;
	struct gt_maps maps;
	uint64_t box, function;
	int error = gt_maps_read(a->pid, &maps);

	if (error)
		return error;
	file = gt_maps_file(&maps, LIBRARY_NAME);
	error = file ? gt_image_read(a->pid, file->start, &image) : -ELIBACC;
	gt_maps_free(&maps);
	if (error)
		return error;
	box = gt_image_symbol(&image, "gputrace_attach_box");
	function = gt_image_symbol(&image, "gputrace_attach");
	gt_image_free(&image);
	if (!box || !function)
		return -ELIBBAD;
	error = gt_memory_write(a->pid, box, a->box, sizeof(*a->box));
	return error ? error : call(a, function, 0, 0, CALL_MS);
}

static void explain(const struct attempt *a, int error)
{
	switch (error) {
	case -ESTALE:
		snprintf(a->why, a->size,
			 "process %d starts one program after the other: try again", (int)a->pid);
		break;
	case -ELIBACC:
		snprintf(a->why, a->size,
			 "the loader of process %d refuses %s: is it readable there, and for its "
			 "glibc?",
			 (int)a->pid, a->library);
		break;
	case -ELIBBAD:
		snprintf(a->why, a->size, "%s is of another build than this command", a->library);
		break;
	case -ETIMEDOUT:
		snprintf(a->why, a->size,
			 "process %d has not loaded the library in time: it may do so later; then "
			 "try again",
			 (int)a->pid);
		break;
	case -ESRCH:
		snprintf(a->why, a->size, "process %d has ended", (int)a->pid);
		break;
	default:
		snprintf(a->why, a->size, "process %d: loading the library failed: %s", (int)a->pid,
			 strerror(-error));
	}
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static int use_thread(struct attempt *a)
{
	uint64_t before = now_us();
	int error = is_same_program(a) ? map_stack(a) : -ESTALE;

	if (!error)
		error = load(a);
	if (!error)
		error = start(a);
	if (error && error != -EBUSY && !is_same_program(a))
		error = -ESTALE;
	unmap_stack(a);
	gt_tracee_release(a->tracee);
	a->kept_us = now_us() - before;
	if (error && error != -EBUSY)
		explain(a, error);
	return error;
}

/* ---- until it works ---- */

static void explain_waiting(const struct attempt *a, int error)
{
	snprintf(a->why, a->size,
		 error == -EBUSY
			 ? "the loader of process %d is in use for too long: try again"
			 : "no thread of process %d waits in a system call where it can be "
			   "interrupted without harm: try again while it waits for something",
		 (int)a->pid);
}

static int try_threads(struct attempt *a)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t until = now_us() + PATIENCE_MS * 1000;
	struct gt_spared spared = {.count = 0};
	struct gt_waiting_thread waiting;
	pid_t tried = 0;
	int error = -EAGAIN;

	do {
		if (!gt_waiting_find(a->pid, tried, &spared, &waiting)) {
			tried = 0;
			nanosleep(&pause, NULL);
			continue;
		}
		error = gt_tracee_stop(a->pid, &waiting, &a->functions->way, a->tracee);
		if (!error)
			error = use_thread(a);
		tried = waiting.tid;
		if (error == -EINTR) {
			gt_waiting_spare(&spared, tried);
			error = -EAGAIN;
		}
		if (error == -EAGAIN && !is_same_program(a))
			error = -ESTALE;
	} while ((error == -EAGAIN || error == -EBUSY) && now_us() < until);
	if (error == -EAGAIN || error == -EBUSY)
		explain_waiting(a, error);
	else if (error == -ESTALE)
		explain(a, error);
	else if (error && !*a->why)
		gt_process_explain(a->pid, error, a->why, a->size);
	return error;
}

int gt_inject(pid_t pid, const struct gt_maps *maps, const char *library,
	      const struct gt_attach_box *box, uint64_t *ret_us, char *ret_why, size_t size)
{
	static struct gt_tracee tracee;
	struct functions functions;
	struct attempt attempt = {.pid = pid,
				  .library = library,
				  .box = box,
				  .functions = &functions,
				  .tracee = &tracee,
				  .why = ret_why,
				  .size = size};
	char byte;
	int error;

	*ret_why = 0;
	if (gt_memory_read(pid, maps->at[0].start, &byte, 1) == -EPERM) {
		gt_process_explain(pid, -EPERM, ret_why, size);
		return -EPERM;
	}
	if (!find_functions(pid, maps, &functions)) {
		snprintf(ret_why, size, "process %d: its C library lacks what is needed", (int)pid);
		return -ESTALE; /* it may be only half mapped */
	}
	error = try_threads(&attempt);
	*ret_us = attempt.kept_us;
	return error;
}
