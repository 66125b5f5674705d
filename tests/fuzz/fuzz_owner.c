/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary bytes as the claim of another process on a folder. It is taken over only when it names
 * a file of that folder that is gone; an empty one holds, and so does one that leads elsewhere.
 */
#include "tests/fuzz/fuzz.h"
#include "writers/owner.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLAIM ".rank0.owner"

static const char *const there[] = {".",          "..", CLAIM, "trace.json", "packed.json.gz",
				    "packed.json"};

static void need(bool truth)
{
	if (!truth)
		abort();
}

static char path[64];
static int folder = -1;

static void put(const char *name, const void *data, size_t size)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	need(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

static void remove_folder(void)
{
	unlinkat(folder, CLAIM, 0);
	unlinkat(folder, "trace.json", 0);
	unlinkat(folder, "packed.json.gz", 0);
	rmdir(path);
}

static void make_folder(void)
{
	snprintf(path, sizeof(path), "%s/gputrace-fuzz-XXXXXX", fuzz_folder());
	need(mkdtemp(path) != NULL);
	folder = open(path, O_RDONLY | O_DIRECTORY);
	put("trace.json", "", 0);
	put("packed.json.gz", "", 0);
	atexit(remove_folder);
}

static bool should_hold(const uint8_t *data, size_t size)
{
	char name[NAME_MAX + 1] = "";

	memcpy(name, data, size < NAME_MAX ? size : NAME_MAX);
	if (!size || strchr(name, '/'))
		return true;
	for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++)
		if (!strcmp(name, there[i]))
			return true;
	return false;
}

static void check_size(size_t size)
{
	struct stat st;

	need(!fstatat(folder, CLAIM, &st, 0) && (size_t)st.st_size == size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool taken;

	if (folder < 0)
		make_folder();
	put(CLAIM, data, size);
	taken = gt_owner_claim(folder, "rank0");
	need(taken != should_hold(data, size));
	check_size(taken ? 0 : size);
	need(!taken || !gt_owner_claim(folder, "rank0")); /* and now it is held */
	return 0;
}
