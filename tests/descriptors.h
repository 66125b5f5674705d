/* SPDX-License-Identifier: Apache-2.0
 *
 * Which descriptors are open, of what and how: a program of the tests says so and is compared with
 * a run without the tracer.
 */
#ifndef GT_TESTS_DESCRIPTORS_H
#define GT_TESTS_DESCRIPTORS_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DESCRIPTORS_PATIENCE_MS 10000

/* Those that a program meets; the tracer's own one has a high number. */
#define DESCRIPTORS_LISTED      64

static char descriptors_at_first[8192];

/* " 1=pipe:,1,0": what it is, without the number of a pipe, its status flags and its own flags. */
static inline void list_descriptors(char *ret_list, size_t size)
{
	size_t used = 0;

	ret_list[0] = 0;
	for (int fd = 0; fd < DESCRIPTORS_LISTED && used + 400 < size; fd++) {
		char path[64], link[256] = "";
		int flags = fcntl(fd, F_GETFL);

		if (flags < 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, link, sizeof(link) - 1) < 0)
			continue;
		link[strcspn(link, "[")] = 0;
		used += (size_t)snprintf(ret_list + used, size - used, " %d=%s,%x,%x", fd, link,
					 (unsigned int)flags, (unsigned int)fcntl(fd, F_GETFD));
	}
}

/* To be called before CUDA is used. One thread. */
static inline void note_descriptors(void)
{
	list_descriptors(descriptors_at_first, sizeof(descriptors_at_first));
}

/* Prints what stays open. Another thread may hold one for the moment that it reads a file: it has
 * the time to close it. One thread. */
static inline void print_descriptors(void)
{
	char now[sizeof(descriptors_at_first)];

	list_descriptors(now, sizeof(now));
	for (int ms = 0; strcmp(now, descriptors_at_first) && ms < DESCRIPTORS_PATIENCE_MS;
	     ms += 10) {
		usleep(10000);
		list_descriptors(now, sizeof(now));
	}
	printf("descriptors%s\n", now);
	fflush(stdout);
}

#endif
