/* SPDX-License-Identifier: Apache-2.0
 *
 * See confine.h. A refused system call fails with EPERM, as the library expects of any kernel.
 */
#include "recover/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST_FREE  3 /* behind the standard streams */
#define CPU_SECONDS 3600u

/* Rights by version of Landlock; each version has those of the one before it. */
#define RIGHTS_1    ((1ull << 13) - 1)
#define RIGHTS_2    ((1ull << 14) - 1) /* moving files between folders */
#define RIGHTS_3    ((1ull << 15) - 1) /* truncating */
#define NEVER_NEEDED                                                                               \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |                               \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |                             \
	 LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER)

/* ---- descriptors and limits ---- */

static int keep_only(int spool)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -errno;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (spool != FIRST_FREE && dup2(spool, FIRST_FREE) < 0)
		return -errno;
	syscall(SYS_close_range, FIRST_FREE + 1, ~0u, 0);
	return FIRST_FREE;
}

static void limit_resources(void)
{
	const struct rlimit no_core = {0, 0};
	struct rlimit cpu;

	setrlimit(RLIMIT_CORE, &no_core);
	if (getrlimit(RLIMIT_CPU, &cpu) || cpu.rlim_cur <= CPU_SECONDS)
		return;
	cpu.rlim_cur = CPU_SECONDS;
	setrlimit(RLIMIT_CPU, &cpu);
}

/* ---- files ---- */

static uint64_t rights_of(long version)
{
	return version >= 3 ? RIGHTS_3 : version == 2 ? RIGHTS_2 : RIGHTS_1;
}

static void allow_below(int rules, const char *folder, uint64_t rights)
{
	struct landlock_path_beneath_attr below = {.allowed_access = rights,
						   .parent_fd = open(folder, O_PATH | O_CLOEXEC)};

	if (below.parent_fd < 0)
		return;
	syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0);
	close(below.parent_fd);
}

/* Symbols come from the programs and libraries that the traced process had loaded, wherever they
 * are: files can be read. */
static void confine_files(const char *folder)
{
	long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_ruleset_attr all = {.handled_access_fs = rights_of(version)};
	int rules = version < 1 ? -1
				: (int)syscall(SYS_landlock_create_ruleset, &all,
					       sizeof(all.handled_access_fs), 0);

	if (rules < 0)
		return;
	allow_below(rules, "/", LANDLOCK_ACCESS_FS_READ_FILE);
	allow_below(rules, folder, all.handled_access_fs & ~(uint64_t)NEVER_NEEDED);
	syscall(SYS_landlock_restrict_self, rules, 0);
	close(rules);
}

/* ---- system calls ---- */

#ifdef __x86_64__

/* What the library calls to read a spool and to write a trace, and what the C library, a sanitizer
 * and valgrind add. */
static const uint16_t allowed[] = {
	SYS_read,
	SYS_pread64,
	SYS_write,
	SYS_pwrite64,
	SYS_writev,
	SYS_pwritev,
	SYS_lseek,
	SYS_openat,
	SYS_close,
	SYS_fstat,
	SYS_newfstatat,
	SYS_statx,
	SYS_fstatfs,
	SYS_fcntl,
	SYS_flock,
	SYS_ftruncate,
	SYS_fallocate,
	SYS_fsync,
	SYS_fdatasync,
	SYS_fchmod,
	SYS_mkdir,
	SYS_mkdirat,
	SYS_unlink,
	SYS_unlinkat,
	SYS_rename,
	SYS_renameat,
	SYS_renameat2,
	SYS_readlink,
	SYS_readlinkat,
	SYS_getdents64,
	SYS_munmap,
	SYS_mremap,
	SYS_madvise,
	SYS_brk,
	SYS_futex,
	SYS_getpid,
	SYS_gettid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_getrandom,
	SYS_getrlimit,
	SYS_uname,
	SYS_sysinfo,
	SYS_sched_getaffinity,
	SYS_sched_yield,
	SYS_clock_gettime,
	SYS_clock_nanosleep,
	SYS_nanosleep,
	SYS_gettimeofday,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_sigaltstack,
	SYS_restart_syscall,
	SYS_exit,
	SYS_exit_group,
};

/* Allowed while these bits of an argument are zero. */
static const struct {
	uint16_t call, argument;
	uint32_t bits;
} partly[] = {
	{SYS_mmap, 2, PROT_EXEC},
	{SYS_mprotect, 2, PROT_EXEC},
	{SYS_prlimit64, 2, UINT32_MAX}, /* reads */
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* A filter that grows by one instruction after the other. */
struct filter {
	struct sock_filter code[5 + 2 * COUNT(allowed) + 5 * COUNT(partly)];
	uint16_t length;
};

static void add(struct filter *filter, struct sock_filter instruction)
{
	filter->code[filter->length++] = instruction;
}

static void load(struct filter *filter, size_t offset)
{
	add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void end(struct filter *filter, uint32_t action)
{
	add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

/* Skips the next @count instructions unless the loaded word is @value. */
static void skip_unless(struct filter *filter, uint32_t value, uint8_t count)
{
	add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count));
}

static void confine_calls(void)
{
	static struct filter filter;
	struct sock_fprog program = {.filter = filter.code};

	load(&filter, offsetof(struct seccomp_data, arch));
	add(&filter,
	    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
	end(&filter, SECCOMP_RET_KILL_PROCESS);
	load(&filter, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < COUNT(allowed); i++) {
		skip_unless(&filter, allowed[i], 1);
		end(&filter, SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < COUNT(partly); i++) {
		skip_unless(&filter, partly[i].call, 4);
		load(&filter, offsetof(struct seccomp_data, args[partly[i].argument]));
		add(&filter,
		    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, partly[i].bits, 1, 0));
		end(&filter, SECCOMP_RET_ALLOW);
		end(&filter, SECCOMP_RET_ERRNO | EPERM);
	}
	end(&filter, SECCOMP_RET_ERRNO | EPERM);
	program.len = filter.length;
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#else

static void confine_calls(void)
{
}

#endif

int gt_confine(int spool, const char *folder)
{
	spool = keep_only(spool);
	if (spool < 0)
		return spool;
	limit_resources();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return spool;
	confine_files(folder);
	confine_calls();
	return spool;
}
