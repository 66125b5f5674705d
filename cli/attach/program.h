/* SPDX-License-Identifier: Apache-2.0
 *
 * The program that a process runs, which exec may replace at any time. Reads /proc only. Single
 * thread.
 */
#ifndef GT_CLI_ATTACH_PROGRAM_H
#define GT_CLI_ATTACH_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/attach/maps.h"

/* How long a process is given to begin a program, with the programs that follow on it. */
#define GT_PROGRAM_PATIENCE_MS 5000u

/* Inspects a process (process.h) and waits while its program is only beginning. False: no library
 * can be loaded into it, and @ret_why says why; else @ret_maps has its C library, glibc; free it.
 * @until_ms: gt_program_now_ms() at which the wait ends. */
bool gt_program_await(pid_t pid, uint64_t until_ms, struct gt_maps *ret_maps, char *ret_why,
		      size_t size);

/* The C library of a program; NULL: it has none, or not yet. */
const struct gt_mapping *gt_program_libc(const struct gt_maps *maps);

/* CLOCK_MONOTONIC, ms. */
uint64_t gt_program_now_ms(void);

#endif
