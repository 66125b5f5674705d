/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. An abstract socket's name belongs to who binds it first, and the kernel takes it
 * back when that process ends: unix(7). Nothing is left in a file system.
 */
#include "cli/attach/turn.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#define LOOK_EVERY_MS 10

bool gt_attach_turn(pid_t pid, unsigned limit_ms)
{
	const struct timespec pause = {.tv_nsec = LOOK_EVERY_MS * 1000000};
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int length = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "gputrace-attach-%d",
			      (int)pid);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	for (unsigned waited = 0; fd >= 0; waited += LOOK_EVERY_MS) {
		if (!bind(fd, (struct sockaddr *)&name, size) || errno != EADDRINUSE)
			break;
		if (waited >= limit_ms)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}
