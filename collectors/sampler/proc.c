/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. A file is open for as long as it is read.
 */
#include "collectors/sampler/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/guest/descriptor.h"
#include "core/guest/seccomp.h"
#include "core/guest/sys.h"
#include "core/guest/text.h"

#define STATUS_BYTES 4096

/* Numbers below the limit that stay free. */
#define ROOM         16u

/* Headers older than the kernel lack them. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2u
#endif

/* A sanitizer writes its reports to descriptor 2, whatever thread it runs on. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NEEDS_STDERR true
#else
#define NEEDS_STDERR false
#endif

static __thread bool has_own_table;

/* One call: a table that is copied first would keep the program's files open until they are closed.
 */
void gt_sample_proc_start(void)
{
	has_own_table = !NEEDS_STDERR && gt_seccomp_permits(GT_SYS_close_range) &&
			syscall(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) == 0;
}

static int read_own(const char *path, char *ret_text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, ret_text, size, 0);
	int result = n < 0 ? -errno : (int)n;

	if (fd >= 0)
		close(fd);
	return result;
}

/* Programs use the lowest number that is free: what lies above is free, too. */
static bool has_room(void)
{
	struct rlimit limit;
	rlim_t room;
	struct stat st;

	if (!gt_seccomp_permits(GT_SYS_prlimit64) || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return false;
	room = limit.rlim_cur / 8 < ROOM ? limit.rlim_cur / 8 : ROOM;
	return room > 0 && (limit.rlim_cur > INT32_MAX ||
			    gt_sys_fstat((int)(limit.rlim_cur - room), &st) == -EBADF);
}

static int read_shared(const char *path, char *ret_text, size_t size)
{
	struct gt_descriptor file;
	int result;

	if (!has_room())
		return -EMFILE;
	result = gt_descriptor_open(&file, AT_FDCWD, path, O_RDONLY, 0);
	if (!result) {
		ssize_t n = pread(file.fd, ret_text, size, 0);

		result = n < 0 ? -errno : (int)n;
	}
	gt_descriptor_close(&file);
	return result;
}

/* Bytes, or negative errno. The text ends with 0. */
static int read_file(uint32_t tid, const char *name, char *ret_text, size_t size)
{
	char path[64];
	int n;

	gt_text_format(path, sizeof(path), "/proc/self/task/%u/%s", tid, name);
	n = has_own_table ? read_own(path, ret_text, size - 1)
			  : read_shared(path, ret_text, size - 1);
	ret_text[n > 0 ? n : 0] = 0;
	return n;
}

/* Parses "0x1a2b" and advances *text past it. */
static bool parse_hex(const char **text, uint64_t *ret_value)
{
	const char *p = *text;
	uint64_t value = 0;
	int digits = 0;

	if (p[0] == '0' && p[1] == 'x')
		p += 2;
	for (;; p++, digits++) {
		uint64_t digit;

		if (*p >= '0' && *p <= '9')
			digit = (uint64_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			digit = (uint64_t)(*p - 'a' + 10);
		else
			break;
		value = value << 4 | digit;
	}
	*text = p;
	*ret_value = value;
	return digits > 0 && digits <= 16;
}

/* "running", or: number of the system call (-1: none), its six arguments if there is one, sp,
 * pc. */
enum gt_sample_where gt_sample_proc_parse(const char *text, uint64_t *ret_pc, uint64_t *ret_sp)
{
	const char *p = strchr(text, ' ');
	uint64_t value[2] = {0, 0};
	int count = 0;

	if (!strncmp(text, "running", 7))
		return GT_SAMPLE_RUNNING;
	while (p && *p == ' ') {
		p++;
		value[0] = value[1];
		if (!parse_hex(&p, &value[1]))
			return GT_SAMPLE_UNKNOWN;
		count++;
	}
	if (!p || *p != '\n' || count != (text[0] == '-' ? 2 : 8) || !value[0] || !value[1])
		return GT_SAMPLE_UNKNOWN;
	*ret_sp = value[0];
	*ret_pc = value[1];
	return GT_SAMPLE_WAITING;
}

bool gt_sample_proc_call(const char *text, uint32_t *ret_number, uint64_t *ret_argument)
{
	const char *p = text;
	uint64_t number;

	if (gt_text_parse_u64(text, &p, &number) || number > UINT32_MAX || *p++ != ' ')
		return false;
	*ret_number = (uint32_t)number;
	return parse_hex(&p, ret_argument);
}

enum gt_sample_where gt_sample_proc_read(uint32_t tid, char text[GT_SAMPLE_TEXT], uint64_t *ret_pc,
					 uint64_t *ret_sp)
{
	int n = read_file(tid, "syscall", text, GT_SAMPLE_TEXT);

	if (n > 0)
		return gt_sample_proc_parse(text, ret_pc, ret_sp);
	if (n == -ENOENT || n == -ESRCH)
		return GT_SAMPLE_GONE;
	return n == -EMFILE || n == -ENFILE ? GT_SAMPLE_NO_DESCRIPTOR : GT_SAMPLE_UNKNOWN;
}

bool gt_sample_proc_parse_mask(const char *text, uint64_t *ret_mask)
{
	const char *line = strstr(text, "\nSigBlk:\t");

	if (!line)
		return false;
	line += strlen("\nSigBlk:\t");
	return parse_hex(&line, ret_mask);
}

bool gt_sample_proc_blocks(uint32_t tid, int signal)
{
	char text[STATUS_BYTES];
	uint64_t mask;

	read_file(tid, "status", text, sizeof(text));
	return !gt_sample_proc_parse_mask(text, &mask) || (mask >> (signal - 1) & 1) ||
	       gt_seccomp_shows_own(text);
}
