/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints what `gputrace run` finds out about a command before it starts it, a word a line.
 */
#include <stdio.h>

#include "cli/run/target.h"

int main(int argc, char **argv)
{
	struct gt_target target;

	if (argc != 2 || gt_target_inspect(argv[1], &target))
		return 1;
	if (target.is_foreign)
		puts("foreign");
	if (target.is_static)
		puts("static");
	if (target.is_musl)
		puts("musl");
	if (target.is_privileged)
		puts("privileged");
	if (target.has_sanitizer)
		puts("sanitizer");
	return 0;
}
