/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. The kernel maps a program and its loader, and the loader the C library: in
 * between a dynamic program looks like a static one.
 */
#include "cli/attach/program.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/attach/process.h"

#define LOOK_EVERY_NS 500000
#define MAX_SEGMENTS  64u

uint64_t gt_program_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

const struct gt_mapping *gt_program_libc(const struct gt_maps *maps)
{
	const struct gt_mapping *libc = gt_maps_file(maps, "libc.so.6");

	return libc ? libc : gt_maps_file(maps, "libc-2."); /* before glibc 2.34 */
}

static bool is_musl(const struct gt_maps *maps)
{
	return gt_maps_file(maps, "ld-musl") || gt_maps_file(maps, "libc.musl");
}

static bool names_loader(int file)
{
	Elf64_Phdr segments[MAX_SEGMENTS];
	Elf64_Ehdr header;
	size_t count, bytes;

	if (pread(file, &header, sizeof(header), 0) != sizeof(header) ||
	    header.e_phentsize != sizeof(segments[0]))
		return false;
	count = header.e_phnum < MAX_SEGMENTS ? header.e_phnum : MAX_SEGMENTS;
	bytes = count * sizeof(segments[0]);
	if (pread(file, segments, bytes, (off_t)header.e_phoff) != (ssize_t)bytes)
		return false;
	for (size_t i = 0; i < count; i++)
		if (segments[i].p_type == PT_INTERP)
			return true;
	return false;
}

/* Dynamic: its C library will come. */
static bool has_loader(pid_t pid)
{
	char name[64];
	bool found;
	int file;

	snprintf(name, sizeof(name), "/proc/%d/exe", (int)pid);
	file = open(name, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return true; /* the next look says why */
	found = names_loader(file);
	close(file);
	return found;
}

/* NULL: a library can be loaded into it. */
static const char *wrong_libc(pid_t pid, const struct gt_maps *maps, bool *ret_is_starting)
{
	*ret_is_starting = false;
	if (is_musl(maps))
		return "runs with musl, not with glibc, which the library needs: run it on a "
		       "system with glibc (not Alpine)";
	if (gt_program_libc(maps))
		return NULL;
	*ret_is_starting = !maps->count || has_loader(pid);
	return *ret_is_starting ? "is only starting its program: try again"
				: "is a static program, into which no library can be loaded: link "
				  "it without -static";
}

bool gt_program_await(pid_t pid, uint64_t until_ms, struct gt_maps *ret_maps, char *ret_why,
		      size_t size)
{
	const struct timespec pause = {.tv_nsec = LOOK_EVERY_NS};
	const char *wrong;
	bool is_starting;

	for (;;) {
		if (!gt_process_inspect(pid, ret_maps, ret_why, size))
			return false;
		wrong = wrong_libc(pid, ret_maps, &is_starting);
		if (!wrong)
			return true;
		gt_maps_free(ret_maps);
		if (!is_starting || gt_program_now_ms() >= until_ms)
			break;
		nanosleep(&pause, NULL);
	}
	snprintf(ret_why, size, "process %d %s", (int)pid, wrong);
	return false;
}
