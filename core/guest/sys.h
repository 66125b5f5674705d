/* SPDX-License-Identifier: Apache-2.0
 *
 * System calls whose libc wrapper is newer than GLIBC_2.17 (fstat is GLIBC_2.33, fcntl64 2.28):
 * called by number, so that no such symbol is needed. Any thread; errno is kept.
 */
#ifndef GT_CORE_GUEST_SYS_H
#define GT_CORE_GUEST_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* As fstat, lstat and fstatat; 0 or negative errno, *ret_stat untouched on failure. */
int gt_sys_fstat(int fd, struct stat *ret_stat);
int gt_sys_lstat(const char *path, struct stat *ret_stat);
int gt_sys_fstatat(int folder, const char *path, struct stat *ret_stat, int flags);

/* When a file was made. */
struct gt_sys_birth {
	int64_t seconds; /* CLOCK_REALTIME */
	uint32_t ns;
};

/* When the file of @fd was made; negative errno, also where the file system does not say. */
int gt_sys_birth(int fd, struct gt_sys_birth *ret_birth);

/* A close-on-exec copy of @fd, numbered @minimum or higher. Negative errno on failure. */
int gt_sys_dup_high(int fd, int minimum);

/* As pwrite on a file of which only the caller knows; its position may change. */
ssize_t gt_sys_pwrite(int fd, const void *data, size_t size, uint64_t offset);

/* Makes @path absolute, relative to the current working folder. Unchanged if that folder has no
 * name or @size is too small. */
void gt_sys_absolute(const char *path, char *ret_path, size_t size);

/* Whether a file system keeps its files in memory (tmpfs, ramfs). */
struct statfs;
bool gt_sys_is_memory(const struct statfs *fs);

/* Start time of the process in clock ticks since boot; with the pid it identifies a process. 0: not
 * known. */
uint64_t gt_sys_start_ticks(int pid);

/* Identifies this boot of the machine; "" when it is not known. */
void gt_sys_boot_id(char *ret_id, size_t size);

/* Identifies the clock that CLOCK_MONOTONIC reads: the boot, and the time namespace unless it is
 * the first one. "" when it is not known. */
void gt_sys_clock_id(char *ret_id, size_t size);

/* Identifies the pid namespace of this process; 0: not known. */
uint64_t gt_sys_pid_namespace(void);

/* The exit status of the first thread, where it alone has ended; 0: not known. */
int gt_sys_first_thread_status(void);

/* Threads of this process, an exited main thread included; 0: not known. */
uint64_t gt_sys_threads(void);

/* Bytes of address space that a limit (ulimit -v) leaves this process. UINT64_MAX: there is none.
 */
uint64_t gt_sys_space(void);

/* Parent and session of a process; 0: not known. */
int gt_sys_parent(int pid);
int gt_sys_session(int pid);

/* As getpgrp, geteuid and gethostname; the name is "" when it is not known. */
int gt_sys_group(void);
uint32_t gt_sys_user(void);
void gt_sys_host(char *ret_name, size_t size);

#endif
