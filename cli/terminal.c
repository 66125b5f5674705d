/* SPDX-License-Identifier: Apache-2.0
 *
 * See terminal.h.
 */
#include "cli/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

size_t gt_terminal_columns_told(void)
{
	const char *variable = getenv("COLUMNS");
	long number = variable ? strtol(variable, NULL, 10) : 0;

	return number > 0 ? (size_t)number : 0;
}

size_t gt_terminal_columns(void)
{
	size_t told = gt_terminal_columns_told();
	struct winsize size;

	if (told)
		return told;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}
