/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "cli/attach/target.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int gt_attach_target(const struct gt_cmdline *args, pid_t *ret_pid)
{
	const char *word = args->inputs[0];
	long pid = strtol(word, NULL, 10);

	if (!*word || word[strspn(word, "0123456789")] || pid <= 0 || pid > INT_MAX)
		return gt_cmdline_wrong(args, "'%s' is no process id", word);
	if (pid == getpid())
		return gt_cmdline_wrong(args, "%ld is this command itself", pid);
	*ret_pid = (pid_t)pid;
	return 0;
}
