/* SPDX-License-Identifier: Apache-2.0
 *
 * See move.h.
 */
#include "recover/move.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int copy_file(const char *from, const char *to)
{
	char buffer[65536];
	FILE *in = fopen(from, "rb"), *out = in ? fopen(to, "wbx") : NULL;
	int rc = out ? fchmod(fileno(out), 0600) : -errno;
	size_t n;

	while (out && !rc && (n = fread(buffer, 1, sizeof(buffer), in)))
		rc = fwrite(buffer, 1, n, out) == n ? 0 : -errno;
	if (out && fclose(out) && !rc)
		rc = -errno;
	if (in)
		fclose(in);
	return rc;
}

int gt_move_file(const char *from, const char *to)
{
	char beside[PATH_MAX + 1200];
	const char *slash = strrchr(to, '/');
	int rc;

	if (!rename(from, to))
		return 0;
	snprintf(beside, sizeof(beside), "%.*s.%s.new", (int)(slash + 1 - to), to, slash + 1);
	unlink(beside);
	rc = copy_file(from, beside);
	if (!rc && rename(beside, to))
		rc = -errno;
	if (rc)
		unlink(beside);
	return rc;
}
