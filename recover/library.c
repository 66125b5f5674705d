/* SPDX-License-Identifier: Apache-2.0
 *
 * See library.h. The command is in a folder of the build tree or of the prefix, next to that of the
 * library.
 */
#include "recover/library.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BUILD_FOLDER "/cli" /* of the command in a build tree */

int gt_own_library(char *ret_path, size_t size)
{
	char folder[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	const char *from = GT_LIBRARY_FOLDER;
	char *slash;

	folder[n > 0 ? n : 0] = 0;
	slash = strrchr(folder, '/');
	if (slash)
		*slash = 0;
	slash = strrchr(folder, '/');
	if (slash && !strcmp(slash, BUILD_FOLDER))
		from = "preload";
	if (slash)
		*slash = 0;
	if (snprintf(ret_path, size, "%s/%s/libgputrace.so", folder, from) >= (int)size)
		return -ENAMETOOLONG;
	return access(ret_path, R_OK) ? -ENOENT : 0;
}
