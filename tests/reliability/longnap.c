/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded into a command: it sleeps until the process NAP_UNTIL_ENDED has ended, and makes the
 * file NAP_BEGINS before.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	const char *process = getenv("NAP_UNTIL_ENDED"), *begins = getenv("NAP_BEGINS");

	if (begins)
		close(open(begins, O_CREAT | O_WRONLY, 0600));
	do {
		if (syscall(SYS_nanosleep, wanted, left))
			return -1;
	} while (process && !kill(atoi(process), 0));
	errno = 0;
	return 0;
}
