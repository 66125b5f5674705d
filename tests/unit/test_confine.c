/* SPDX-License-Identifier: Apache-2.0
 *
 * What the process that reads a spool can still do: write below its folder, and nothing else.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recover/confine.h"

static char folder[] = "/tmp/gt-confine-XXXXXX";

static bool has_landlock(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
}

static bool writes(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0600);

	return fd >= 0 && write(fd, "1", 1) == 1 && !close(fd);
}

static bool is_refused(long result)
{
	return result == -1 && (errno == EPERM || errno == EACCES);
}

/* Each is 0 when all is well: the number of the first that is not. */
static int try_all(int secret)
{
	char path[64];
	int spool = gt_confine(open("/proc/self/status", O_RDONLY), folder);
	char name[] = "true", *const words[] = {name, NULL};

	snprintf(path, sizeof(path), "%s/trace", folder);
	if (spool < 0 || read(spool, &(char){0}, 1) != 1)
		return 1;
	if (!writes(path))
		return 2;
	if (write(secret, "1", 1) != -1 || errno != EBADF)
		return 3;
	if (has_landlock() && (writes("/tmp/gt-confine-outside") ||
			       !is_refused(open("/etc/passwd", O_RDWR | O_CLOEXEC))))
		return 4;
#if defined(__x86_64__)
	if (!is_refused(socket(AF_INET, SOCK_STREAM, 0)) || !is_refused(socket(AF_UNIX, 1, 0)))
		return 5;
	if (!is_refused(execv("/bin/true", words)) || !is_refused(fork()))
		return 6;
	if (!is_refused(kill(getppid(), 0)))
		return 7;
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	    MAP_FAILED)
		return 8;
	if (!is_refused(symlink("/etc", path)) || !is_refused(chmod(path, 04755)))
		return 9;
#endif
	return 0;
}

Test(confine, can_write_its_folder_only)
{
	int status = 0, secret;
	pid_t child;
	char path[64];

	cr_assert_not_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/secret", folder);
	secret = open(path, O_WRONLY | O_CREAT, 0600);
	child = fork();
	if (child == 0)
		_exit(try_all(secret));
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), 0, "step %d", WEXITSTATUS(status));
	unlink(path);
	snprintf(path, sizeof(path), "%s/trace", folder);
	unlink(path);
	rmdir(folder);
}
