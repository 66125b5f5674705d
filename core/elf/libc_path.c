/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/elf/libc_path.h"

#include <stddef.h>
#include <string.h>

bool gt_path_is_libc(const char *path)
{
	static const char *const names[] = {"libc.so",  "libc-2.", "libpthread",
					    "ld-linux", "ld-2.",   "linux-vdso"};
	const char *slash = strrchr(path, '/');

	path = slash ? slash + 1 : path;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(path, names[i], strlen(names[i])))
			return true;
	return false;
}
