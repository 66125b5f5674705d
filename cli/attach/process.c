/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Each check is a row of a table: what is looked at, in the order in which one
 * explains the other.
 */
#include "cli/attach/process.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATUS_BYTES 8192

/* Where the reason goes. */
struct reason {
	char *text;
	size_t size;
};

/* What is looked at. */
struct process {
	pid_t pid;
	char status[STATUS_BYTES]; /* /proc/PID/status */
	char own[STATUS_BYTES];    /* and this program's */
};

/* The text behind "name:" in a status file; "": there is no such line. */
static const char *field(const char *status, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = status; line && *line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (!strncmp(line, name, length) && line[length] == ':')
			return line + length + 1 + strspn(line + length + 1, " \t");
	return "";
}

static long number(const char *status, const char *name)
{
	return strtol(field(status, name), NULL, 10);
}

static bool read_status(const char *pid, char *ret_status)
{
	char name[64];
	ssize_t n = -1;
	int fd;

	snprintf(name, sizeof(name), "/proc/%s/status", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, ret_status, STATUS_BYTES - 1);
		close(fd);
	}
	ret_status[n > 0 ? n : 0] = 0;
	return n > 0;
}

/* ---- the checks: false with a reason ---- */

static bool is_process(const struct process *process, const struct reason *why)
{
	long group = number(process->status, "Tgid");

	if (group == process->pid)
		return true;
	snprintf(why->text, why->size, "%d is a thread of process %ld: say that number",
		 (int)process->pid, group);
	return false;
}

static bool is_alive(const struct process *process, const struct reason *why)
{
	char state = *field(process->status, "State");

	if (state == 'Z' && number(process->status, "Threads") > 1)
		snprintf(why->text, why->size,
			 "process %d: its first thread has ended, and others go on: no library can "
			 "be loaded into it",
			 (int)process->pid);
	else if (state == 'Z' || state == 'X')
		snprintf(why->text, why->size, "process %d has ended", (int)process->pid);
	else if (state == 'T')
		snprintf(why->text, why->size,
			 "process %d is stopped: continue it first (kill -CONT %d)",
			 (int)process->pid, (int)process->pid);
	else
		return true;
	return false;
}

static bool is_own(const struct process *process, const struct reason *why)
{
	const char *uids = field(process->status, "Uid");
	const struct passwd *user;
	unsigned real, effective, saved;

	if (sscanf(uids, "%u %u %u", &real, &effective, &saved) != 3 ||
	    (real == geteuid() && effective == real && saved == real))
		return true;
	user = getpwuid(real);
	if (real != effective || real != saved)
		snprintf(why->text, why->size,
			 "process %d runs with the rights of two users (setuid): it cannot be "
			 "traced",
			 (int)process->pid);
	else if (user)
		snprintf(why->text, why->size,
			 "process %d belongs to user %s: run gputrace as that user (sudo -u %s)",
			 (int)process->pid, user->pw_name, user->pw_name);
	else
		snprintf(why->text, why->size,
			 "process %d belongs to user %u: run gputrace as that user (sudo -u '#%u')",
			 (int)process->pid, real, real);
	return false;
}

static bool is_untraced(const struct process *process, const struct reason *why)
{
	long tracer = number(process->status, "TracerPid");
	char name[32], status[STATUS_BYTES];

	if (!tracer)
		return true;
	snprintf(name, sizeof(name), "%ld", tracer);
	read_status(name, status);
	snprintf(why->text, why->size,
		 "process %d is being traced by process %ld (%.*s): end that first",
		 (int)process->pid, tracer, (int)strcspn(field(status, "Name"), "\n"),
		 field(status, "Name"));
	return false;
}

static const char *wrong_program(const unsigned char *ident, unsigned machine)
{
	if (memcmp(ident, ELFMAG, SELFMAG))
		return "runs no ELF file";
	if (ident[EI_CLASS] != ELFCLASS64)
		return "runs a 32-bit program: only 64-bit ones can be traced";
	return machine == EM_X86_64 ? NULL : "runs a program for another processor";
}

/* That it is of this user was seen before, so another one, root too, is none the better. */
static const char *unseen(void)
{
	return geteuid() ? "cannot be inspected: it was started setuid or with file "
			   "capabilities, or has switched off core dumps (prctl PR_SET_DUMPABLE): "
			   "start it with gputrace run"
			 : "cannot be inspected, not even by root: it has rights that "
			   "this shell lacks (in a container CAP_SYS_PTRACE: docker run "
			   "--cap-add=SYS_PTRACE), or SELinux or AppArmor protects it; start it "
			   "with gputrace run";
}

static bool has_program(const struct process *process, const struct reason *why)
{
	char name[64];
	Elf64_Ehdr header = {.e_machine = EM_NONE};
	const char *wrong;
	ssize_t n = -1;
	int fd, error;

	snprintf(name, sizeof(name), "/proc/%d/exe", (int)process->pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	error = fd < 0 ? errno : 0;
	if (fd >= 0) {
		n = read(fd, &header, sizeof(header));
		close(fd);
	}
	if (error == ENOENT)
		wrong = "is a thread of the kernel, which has no program";
	else if (error)
		wrong = unseen();
	else
		wrong = wrong_program(header.e_ident, n == sizeof(header) ? header.e_machine : 0);
	if (wrong)
		snprintf(why->text, why->size, "process %d %s", (int)process->pid, wrong);
	return !wrong;
}

static bool is_same(const char *pid, const char *space)
{
	char name[64], own[64];
	struct stat there, here;

	snprintf(name, sizeof(name), "/proc/%s/ns/%s", pid, space);
	snprintf(own, sizeof(own), "/proc/self/ns/%s", space);
	return stat(name, &there) || stat(own, &here) || there.st_ino == here.st_ino;
}

static bool is_here(const struct process *process, const struct reason *why)
{
	static const char *const spaces[] = {"pid", "mnt", "user"};
	char pid[32];

	snprintf(pid, sizeof(pid), "%d", (int)process->pid);
	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		if (is_same(pid, spaces[i]))
			continue;
		snprintf(
			why->text, why->size,
			"process %s runs in a container (another %s namespace): run gputrace in it "
			"(docker exec, kubectl exec, nsenter -t %s -a)",
			pid, spaces[i], pid);
		return false;
	}
	return true;
}

/* The loader of the process would not find the library. */
static bool has_same_root(const struct process *process, const struct reason *why)
{
	struct stat there, here;
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/root", (int)process->pid);
	if (stat(name, &there) || stat("/", &here) ||
	    (there.st_dev == here.st_dev && there.st_ino == here.st_ino))
		return true;
	snprintf(why->text, why->size,
		 "process %d has another root folder (chroot): run gputrace in it (nsenter -t %d "
		 "--root), or start it with gputrace run",
		 (int)process->pid, (int)process->pid);
	return false;
}

static bool is_permitted_calls(const struct process *process, const struct reason *why)
{
	if (number(process->status, "Seccomp") != 1 &&
	    number(process->status, "Seccomp_filters") <= number(process->own, "Seccomp_filters"))
		return true;
	snprintf(why->text, why->size,
		 "process %d has a seccomp filter of its own, which may kill it for a system call "
		 "of the loader: start it with gputrace run",
		 (int)process->pid);
	return false;
}

static bool has_plain_stack(const struct process *process, const struct reason *why)
{
	const char *features = field(process->status, "x86_Thread_features");
	const char *found = strstr(features, "shstk");

	if (!found || found > features + strcspn(features, "\n"))
		return true;
	snprintf(why->text, why->size,
		 "process %d has a shadow stack, which permits no call from outside: start it with "
		 "gputrace run",
		 (int)process->pid);
	return false;
}

static bool (*const checks[])(const struct process *, const struct reason *) = {
	is_process,    is_alive,           is_own,          is_untraced, has_program, is_here,
	has_same_root, is_permitted_calls, has_plain_stack,
};

bool gt_process_inspect(pid_t pid, struct gt_maps *ret_maps, char *ret_why, size_t size)
{
	static struct process process;
	const struct reason why = {.text = ret_why, .size = size};
	char name[32];
	int error;

	*ret_maps = (struct gt_maps){.at = NULL};
	process.pid = pid;
	snprintf(name, sizeof(name), "%d", (int)pid);
	if (!read_status(name, process.status)) {
		snprintf(ret_why, size, "there is no process %d", (int)pid);
		return false;
	}
	read_status("self", process.own);
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (!checks[i](&process, &why))
			return false;
	error = gt_maps_read(pid, ret_maps);
	if (!error)
		return true;
	snprintf(ret_why, size, "process %d: what it has mapped cannot be read: %s", (int)pid,
		 strerror(-error));
	gt_maps_free(ret_maps);
	return false;
}

unsigned gt_process_descriptors(pid_t pid)
{
	static char status[STATUS_BYTES];
	char name[32];

	snprintf(name, sizeof(name), "%d", (int)pid);
	return read_status(name, status) ? (unsigned)number(status, "FDSize") : 0;
}

static char ptrace_scope(void)
{
	char scope = '0';
	int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (read(fd, &scope, 1) != 1)
			scope = '0';
		close(fd);
	}
	return scope;
}

void gt_process_explain(pid_t pid, int error, char *ret_why, size_t size)
{
	const char *what = "ptrace is not permitted here: in a container it needs CAP_SYS_PTRACE "
			   "(docker run --cap-add=SYS_PTRACE)";
	char scope = ptrace_scope();

	if (error == -ESRCH) {
		snprintf(ret_why, size, "process %d has ended", (int)pid);
		return;
	}
	if (error == -EFAULT) { /* what was there is not */
		snprintf(ret_why, size, "process %d has started another program", (int)pid);
		return;
	}
	if (error != -EPERM && error != -EACCES) {
		snprintf(ret_why, size, "process %d: %s", (int)pid, strerror(-error));
		return;
	}
	if (scope == '1' || scope == '2')
		what = "the kernel lets only root attach to it (kernel.yama.ptrace_scope): sysctl "
		       "kernel.yama.ptrace_scope=0, or start it with gputrace run";
	else if (scope == '3')
		what = "this kernel lets nobody attach until it is booted again "
		       "(kernel.yama.ptrace_scope=3): start it with gputrace run";
	snprintf(ret_why, size, "process %d: %s", (int)pid, what);
}
