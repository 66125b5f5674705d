/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about one descriptor, and of memory.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "preload/osrt/interpose.h"

#define DATA(name, id)                                                                             \
	OS_CALL(ssize_t, name, id, (int fd, void *data, size_t size), (fd, data, size), fd,        \
		os_absent())
#define DATA_AT(name, id)                                                                          \
	OS_CALL(ssize_t, name, id, (int fd, void *data, size_t size, off_t at),                    \
		(fd, data, size, at), fd, os_absent())
#define PARTS(name, id)                                                                            \
	OS_CALL(ssize_t, name, id, (int fd, const struct iovec *parts, int count),                 \
		(fd, parts, count), fd, os_absent())
#define PARTS_AT(name, id)                                                                         \
	OS_CALL(ssize_t, name, id, (int fd, const struct iovec *parts, int count, off_t at),       \
		(fd, parts, count, at), fd, os_absent())
#define PARTS_HOW(name, id)                                                                        \
	OS_CALL(ssize_t, name, id,                                                                 \
		(int fd, const struct iovec *parts, int count, off_t at, int how),                 \
		(fd, parts, count, at, how), fd, os_absent())
#define MESSAGE(name, id)                                                                          \
	OS_CALL(ssize_t, name, id, (int fd, void *message, int flags), (fd, message, flags), fd,   \
		os_absent())
#define ONE(name, id) OS_CALL(int, name, id, (int fd), (fd), fd, os_absent())

DATA(read, READ)
DATA(write, WRITE)
DATA_AT(pread, PREAD)
DATA_AT(pread64, PREAD)
DATA_AT(pwrite, PWRITE)
DATA_AT(pwrite64, PWRITE)
PARTS(readv, READV)
PARTS(writev, WRITEV)
PARTS_AT(preadv, PREADV)
PARTS_AT(preadv64, PREADV)
PARTS_AT(pwritev, PWRITEV)
PARTS_AT(pwritev64, PWRITEV)
PARTS_HOW(preadv2, PREADV2)
PARTS_HOW(preadv64v2, PREADV2)
PARTS_HOW(pwritev2, PWRITEV2)
PARTS_HOW(pwritev64v2, PWRITEV2)
MESSAGE(recvmsg, RECVMSG)
MESSAGE(sendmsg, SENDMSG)
ONE(fsync, FSYNC)
ONE(fdatasync, FDATASYNC)

OS_CALL(int, flock, FLOCK, (int fd, int how), (fd, how), fd, os_absent())
OS_CALL(ssize_t, recv, RECV, (int fd, void *data, size_t size, int flags), (fd, data, size, flags),
	fd, os_absent())
OS_CALL(ssize_t, send, SEND, (int fd, const void *data, size_t size, int flags),
	(fd, data, size, flags), fd, os_absent())
OS_CALL(ssize_t, recvfrom, RECVFROM,
	(int fd, void *data, size_t size, int flags, void *from, socklen_t *length),
	(fd, data, size, flags, from, length), fd, os_absent())
OS_CALL(ssize_t, sendto, SENDTO,
	(int fd, const void *data, size_t size, int flags, const void *to, socklen_t length),
	(fd, data, size, flags, to, length), fd, os_absent())
OS_CALL(ssize_t, sendfile, SENDFILE, (int to, int from, off_t *at, size_t size),
	(to, from, at, size), from, os_absent())
OS_CALL(ssize_t, sendfile64, SENDFILE, (int to, int from, off_t *at, size_t size),
	(to, from, at, size), from, os_absent())
OS_CALL(int, recvmmsg, RECVMMSG,
	(int fd, void *messages, unsigned int count, int flags, void *timeout),
	(fd, messages, count, flags, timeout), fd, os_absent())
OS_CALL(int, sendmmsg, SENDMMSG, (int fd, void *messages, unsigned int count, int flags),
	(fd, messages, count, flags), fd, os_absent())
OS_CALL(ssize_t, copy_file_range, COPY_FILE_RANGE,
	(int from, off64_t *from_at, int to, off64_t *to_at, size_t size, unsigned int flags),
	(from, from_at, to, to_at, size, flags), from, os_absent())
OS_CALL(ssize_t, splice, SPLICE,
	(int from, off64_t *from_at, int to, off64_t *to_at, size_t size, unsigned int flags),
	(from, from_at, to, to_at, size, flags), from, os_absent())
OS_CALL(int, accept, ACCEPT, (int fd, void *from, socklen_t *length), (fd, from, length), fd,
	os_absent())
OS_CALL(int, accept4, ACCEPT4, (int fd, void *from, socklen_t *length, int flags),
	(fd, from, length, flags), fd, os_absent())
OS_CALL(int, connect, CONNECT, (int fd, const void *to, socklen_t length), (fd, to, length), fd,
	os_absent())
OS_CALL(int, epoll_wait, EPOLL_WAIT, (int fd, struct epoll_event *events, int most, int timeout),
	(fd, events, most, timeout), fd, os_absent())
OS_CALL(int, epoll_pwait, EPOLL_PWAIT,
	(int fd, struct epoll_event *events, int most, int timeout, const void *mask),
	(fd, events, most, timeout, mask), fd, os_absent())

OS_CALL(int, epoll_pwait2, EPOLL_PWAIT2,
	(int fd, struct epoll_event *events, int most, const void *timeout, const void *mask),
	(fd, events, most, timeout, mask), fd, os_absent())

/* What _FORTIFY_SOURCE calls instead: with the size of the buffer. */
OS_CALL(ssize_t, __read_chk, READ, (int fd, void *data, size_t size, size_t room),
	(fd, data, size, room), fd, os_absent())
OS_CALL(ssize_t, __pread_chk, PREAD, (int fd, void *data, size_t size, off_t at, size_t room),
	(fd, data, size, at, room), fd, os_absent())
OS_CALL(ssize_t, __pread64_chk, PREAD, (int fd, void *data, size_t size, off_t at, size_t room),
	(fd, data, size, at, room), fd, os_absent())
OS_CALL(ssize_t, __recv_chk, RECV, (int fd, void *data, size_t size, size_t room, int flags),
	(fd, data, size, room, flags), fd, os_absent())
OS_CALL(ssize_t, __recvfrom_chk, RECVFROM,
	(int fd, void *data, size_t size, size_t room, int flags, void *from, socklen_t *length),
	(fd, data, size, room, flags, from, length), fd, os_absent())

/* ---- open and close ---- */

/* The number of the descriptor is free for other threads before the call is over. */
EXPORTED int os_close(int fd) __asm__("close");
int os_close(int fd)
{
	int (*real)(int) = (int (*)(int))os_real(OS_REAL_close);
	const struct gt_os_sink *sink = os_sink();
	struct gt_os_call call = {.function = GT_OS_CLOSE};

	if (__builtin_expect(!real, 0))
		return os_absent();
	os_about(&call, fd);
	os_turn_closes(fd);
	if (!sink)
		return real(fd);
	call.start = gt_clock_now_by(sink->clock);
	call.result = real(fd);
	call.frame = __builtin_frame_address(0);
	os_tell(sink, &call);
	return (int)call.result;
}

/* What is not timed: others close the descriptor, or make it another file. */
#define GIVES_AWAY(type, name, params, args, fd, absent)                                           \
	EXPORTED type os_##name params __asm__(#name);                                             \
	type os_##name params                                                                      \
	{                                                                                          \
		type(*real) params = (type(*) params)os_real(OS_REAL_##name);                      \
                                                                                                   \
		if (__builtin_expect(!real, 0))                                                    \
			return absent;                                                             \
		os_turn_closes(fd);                                                                \
		return real args;                                                                  \
	}

GIVES_AWAY(void *, fdopen, (int fd, const char *mode), (fd, mode), fd, NULL)
GIVES_AWAY(void *, fdopendir, (int fd), (fd), fd, NULL)
GIVES_AWAY(int, dup2, (int from, int to), (from, to), to, os_absent())
GIVES_AWAY(int, dup3, (int from, int to, int flags), (from, to, flags), to, os_absent())

/* The descriptor is the result. */
static int tell_open(const struct gt_os_sink *sink, struct gt_os_call *call)
{
	os_turn_opened((int)call->result);
	if (!sink)
		return (int)call->result;
	os_about(call, (int)call->result);
	os_tell(sink, call);
	return (int)call->result;
}

/* The third argument is read only where there is one. */
static int mode_of(int flags, va_list *rest)
{
	if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE)
		return va_arg(*rest, int);
	return 0;
}

/* As OS_CALL. @where: what stands before the path, with a comma. */
#define OPEN(name, id, where_params, where_types, where)                                           \
	EXPORTED int os_##name(where_params const char *path, int flags, ...) __asm__(#name);      \
	int os_##name(where_params const char *path, int flags, ...)                               \
	{                                                                                          \
		int (*real)(where_types const char *, int, ...) =                                  \
			(int (*)(where_types const char *, int, ...))os_real(OS_REAL_##name);      \
		const struct gt_os_sink *sink = os_sink();                                         \
		struct gt_os_call call = {.function = GT_OS_##id};                                 \
		va_list rest;                                                                      \
		int mode;                                                                          \
                                                                                                   \
		if (__builtin_expect(!real, 0))                                                    \
			return os_absent();                                                        \
		va_start(rest, flags);                                                             \
		mode = mode_of(flags, &rest);                                                      \
		va_end(rest);                                                                      \
		if (sink)                                                                          \
			call.start = gt_clock_now_by(sink->clock);                                 \
		call.result = real(where path, flags, mode);                                       \
		call.frame = __builtin_frame_address(0);                                           \
		return tell_open(sink, &call);                                                     \
	}

#define NOTHING
#define FOLDER_PARAM int folder,
#define FOLDER_TYPE  int,
#define FOLDER       folder,

OPEN(open, OPEN, NOTHING, NOTHING, NOTHING)
OPEN(open64, OPEN, NOTHING, NOTHING, NOTHING)
OPEN(openat, OPENAT, FOLDER_PARAM, FOLDER_TYPE, FOLDER)
OPEN(openat64, OPENAT, FOLDER_PARAM, FOLDER_TYPE, FOLDER)

/* The same without a third argument that may be missing. */
#define OPEN_AS(name, id, params, args)                                                            \
	EXPORTED int os_##name params __asm__(#name);                                              \
	int os_##name params                                                                       \
	{                                                                                          \
		int(*real) params = (int(*) params)os_real(OS_REAL_##name);                        \
		const struct gt_os_sink *sink = os_sink();                                         \
		struct gt_os_call call = {.function = GT_OS_##id};                                 \
                                                                                                   \
		if (__builtin_expect(!real, 0))                                                    \
			return os_absent();                                                        \
		if (sink)                                                                          \
			call.start = gt_clock_now_by(sink->clock);                                 \
		call.result = real args;                                                           \
		call.frame = __builtin_frame_address(0);                                           \
		return tell_open(sink, &call);                                                     \
	}

OPEN_AS(creat, OPEN, (const char *path, mode_t mode), (path, mode))
OPEN_AS(creat64, OPEN, (const char *path, mode_t mode), (path, mode))
OPEN_AS(__open_2, OPEN, (const char *path, int flags), (path, flags))
OPEN_AS(__open64_2, OPEN, (const char *path, int flags), (path, flags))
OPEN_AS(__openat_2, OPENAT, (int folder, const char *path, int flags), (folder, path, flags))
OPEN_AS(__openat64_2, OPENAT, (int folder, const char *path, int flags), (folder, path, flags))

/* ---- memory ---- */

#define MAP(name, id)                                                                              \
	OS_CALL(intptr_t, name, id,                                                                \
		(void *address, size_t size, int access, int flags, int fd, off_t at),             \
		(address, size, access, flags, fd, at), fd, os_absent())

MAP(mmap, MMAP)
MAP(mmap64, MMAP)
OS_CALL(int, munmap, MUNMAP, (void *address, size_t size), (address, size), NONE, os_absent())
OS_CALL(int, msync, MSYNC, (void *address, size_t size, int how), (address, size, how), NONE,
	os_absent())
