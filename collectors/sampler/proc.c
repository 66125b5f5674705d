/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Only pread: if the program closed a descriptor and opened another file under its
 * number, that file's offset does not move.
 */
#include "collectors/sampler/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/guest/seccomp.h"
#include "core/guest/text.h"

#define STATUS_BYTES 4096

static bool open_file(struct gt_descriptor *file, uint32_t tid, const char *name)
{
	char path[64];

	gt_text_format(path, sizeof(path), "/proc/self/task/%u/%s", tid, name);
	return gt_descriptor_open(file, AT_FDCWD, path, O_RDONLY, 0) >= 0;
}

bool gt_sample_proc_open(struct gt_sample_proc *proc, uint32_t tid)
{
	*proc = (struct gt_sample_proc){GT_DESCRIPTOR_NONE, GT_DESCRIPTOR_NONE};
	if (open_file(&proc->syscall, tid, "syscall") && open_file(&proc->status, tid, "status"))
		return true;
	gt_sample_proc_close(proc);
	return false;
}

void gt_sample_proc_close(struct gt_sample_proc *proc)
{
	gt_descriptor_close(&proc->syscall);
	gt_descriptor_close(&proc->status);
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

enum gt_sample_where gt_sample_proc_read(const struct gt_sample_proc *proc,
					 char text[GT_SAMPLE_TEXT], uint64_t *ret_pc,
					 uint64_t *ret_sp)
{
	ssize_t n = pread(proc->syscall.fd, text, GT_SAMPLE_TEXT - 1, 0);

	text[n > 0 ? n : 0] = 0;
	if (n < 0 && errno == ESRCH)
		return GT_SAMPLE_GONE;
	return n > 0 ? gt_sample_proc_parse(text, ret_pc, ret_sp) : GT_SAMPLE_UNKNOWN;
}

bool gt_sample_proc_parse_mask(const char *text, uint64_t *ret_mask)
{
	const char *line = strstr(text, "\nSigBlk:\t");

	if (!line)
		return false;
	line += strlen("\nSigBlk:\t");
	return parse_hex(&line, ret_mask);
}

bool gt_sample_proc_blocks(const struct gt_sample_proc *proc, int signal)
{
	char text[STATUS_BYTES];
	ssize_t n = pread(proc->status.fd, text, sizeof(text) - 1, 0);
	uint64_t mask;

	text[n > 0 ? n : 0] = 0;
	return !gt_sample_proc_parse_mask(text, &mask) || (mask >> (signal - 1) & 1) ||
	       gt_seccomp_shows_own(text);
}
