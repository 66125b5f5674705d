/* SPDX-License-Identifier: Apache-2.0
 *
 * What kind of program a command is, as far as that decides whether a preloaded library gets into
 * it: static, for another C library or processor, setuid, built with a sanitizer. Scripts are
 * followed to their interpreter. Reads files only. Single thread.
 */
#ifndef GT_CLI_RUN_TARGET_H
#define GT_CLI_RUN_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* What a command line starts, as far as it could be followed. */
struct gt_target {
	char path[PATH_MAX];   /* the ELF file in the end */
	char loader[PATH_MAX]; /* PT_INTERP, empty: static */
	bool is_script;
	bool is_static;
	bool is_musl;
	bool is_foreign;    /* other processor or word size than this program's */
	bool is_privileged; /* setuid, setgid or file capabilities: the loader drops LD_PRELOAD */
	bool has_sanitizer; /* ASan or TSan runtime in DT_NEEDED: it must come first */
};

/* Finds @command as a shell does and reads its headers, in a child process: libelf may crash on a
 * damaged file. -ENOENT: no such command; -EACCES: not executable; -ENOEXEC:
 * neither ELF nor a script with "#!" (a shell will run it); other errors of reading. *ret_target is
 * all zero after an error. */
int gt_target_inspect(const char *command, struct gt_target *ret_target);

/* Why execvp of @command failed with @error: what is missing if the file itself is there. */
void gt_target_explain(const char *command, int error, char *ret_text, size_t size);

#endif
