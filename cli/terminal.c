/* SPDX-License-Identifier: Apache-2.0
 *
 * See terminal.h.
 */
#include "cli/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

size_t gt_terminal_columns(void)
{
	const char *variable = getenv("COLUMNS");
	long number = variable ? strtol(variable, NULL, 10) : 0;
	struct winsize size;

	if (number > 0)
		return (size_t)number;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}
