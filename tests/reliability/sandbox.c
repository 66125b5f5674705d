/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests/reliability/sandboxed.py: a filter that kills for the calls of the table that are not
 * common, but for those that the interpreter makes.
 */
#include "tests/reliability/sandbox.h"

int sandbox_install(void);

int sandbox_install(void)
{
	static const int pythons[] = {SYS_readlink, SYS_getcwd, SYS_mremap};

	return sandbox_refuse(SECCOMP_RET_KILL_PROCESS, ORDINARY, pythons,
			      sizeof(pythons) / sizeof(pythons[0]), SECCOMP_FILTER_FLAG_TSYNC);
}
