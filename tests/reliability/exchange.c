/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded into a command: whoever may rename its folder does so at the worst moment. Before call
 * number EXCHANGE_AT that opens, creates, renames or removes something, the folder
 * EXCHANGE_FOLDER becomes EXCHANGE_FOLDER.away, and a link to EXCHANGE_WITH, of user EXCHANGE_OWNER
 * if that is set, takes its name. Without EXCHANGE_READS calls that only read do not count.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void exchange(const char *folder)
{
	const char *owner = getenv("EXCHANGE_OWNER");
	unsigned int id = owner ? (unsigned int)strtoul(owner, NULL, 10) : 0;
	char away[4096];

	snprintf(away, sizeof(away), "%s.away", folder);
	if (syscall(SYS_rename, folder, away) || symlink(getenv("EXCHANGE_WITH"), folder) ||
	    (owner && lchown(folder, id, id)))
		fprintf(stderr, "not exchanged: %s\n", strerror(errno));
}

static void count(bool changes)
{
	static int calls;
	const char *folder = getenv("EXCHANGE_FOLDER"), *at = getenv("EXCHANGE_AT");
	int saved_errno = errno;

	if (folder && at && (changes || getenv("EXCHANGE_READS")) && ++calls == atoi(at))
		exchange(folder);
	errno = saved_errno;
}

static bool changes(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || flags & O_CREAT;
}

/* Under both names, either of which the headers may use. */
#define OPEN(name, symbol)                                                                         \
	int name(const char *, int, mode_t) __asm__(symbol);                                       \
	int name(const char *path, int flags, mode_t mode)                                         \
	{                                                                                          \
		count(changes(flags));                                                             \
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);                      \
	}
OPEN(open_32, "open")
OPEN(open_64, "open64")

#define OPENAT(name, symbol)                                                                       \
	int name(int, const char *, int, mode_t) __asm__(symbol);                                  \
	int name(int folder, const char *path, int flags, mode_t mode)                             \
	{                                                                                          \
		count(changes(flags));                                                             \
		return (int)syscall(SYS_openat, folder, path, flags, mode);                        \
	}
OPENAT(openat_32, "openat")
OPENAT(openat_64, "openat64")

#define FOPEN(name, symbol)                                                                        \
	FILE *name(const char *, const char *) __asm__(symbol);                                    \
	FILE *name(const char *path, const char *mode)                                             \
	{                                                                                          \
		FILE *(*real)(const char *, const char *) = dlsym(RTLD_NEXT, symbol);              \
                                                                                                   \
		count(*mode != 'r');                                                               \
		return real(path, mode);                                                           \
	}
FOPEN(fopen_32, "fopen")
FOPEN(fopen_64, "fopen64")

#define MKOSTEMP(name, symbol)                                                                     \
	int name(char *, int) __asm__(symbol);                                                     \
	int name(char *path, int flags)                                                            \
	{                                                                                          \
		int (*real)(char *, int) = dlsym(RTLD_NEXT, symbol);                               \
                                                                                                   \
		count(true);                                                                       \
		return real(path, flags);                                                          \
	}
MKOSTEMP(mkostemp_32, "mkostemp")
MKOSTEMP(mkostemp_64, "mkostemp64")

int rename(const char *from, const char *to)
{
	count(true);
	return (int)syscall(SYS_rename, from, to);
}

int unlink(const char *path)
{
	count(true);
	return (int)syscall(SYS_unlink, path);
}

int link(const char *from, const char *to)
{
	count(true);
	return (int)syscall(SYS_link, from, to);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
	count(true);
	return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}
