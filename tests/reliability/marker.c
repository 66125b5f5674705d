/* SPDX-License-Identifier: Apache-2.0
 *
 * What a stranger would like to have loaded: says in a file that it was. Everything that recovery
 * asks a library for is here, too.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void mark(void)
{
	const char *path = getenv("MARKER");
	int fd = path ? open(path, O_WRONLY | O_CREAT, 0600) : -1;

	if (fd >= 0)
		close(fd);
}

int gputrace_recover(void);

int gputrace_recover(void)
{
	return 0;
}
