/* SPDX-License-Identifier: Apache-2.0
 *
 * An empty program that the tracer is loaded into: by LD_PRELOAD (no argument) or by dlopen with
 * every symbol bound at once (argument: the file). A process that does not use CUDA gets no thread,
 * no descriptor and no file from it.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int entries(const char *folder)
{
	DIR *dir = opendir(folder);
	int count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

static int is_mapped(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	int found = 0;

	while (maps && fgets(line, sizeof(line), maps))
		found |= strstr(line, name) != NULL;
	if (maps)
		fclose(maps);
	return found;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	if (!is_mapped("libgputrace.so")) {
		fprintf(stderr, "libgputrace.so is not in the process\n");
		return 1;
	}
	/* ".", "..", the one thread; stdin to stderr and the folder that is being read */
	if (entries("/proc/self/task") != 3 || entries("/proc/self/fd") > 2 + 3 + 1) {
		fprintf(stderr, "%d threads, %d descriptors\n", entries("/proc/self/task") - 2,
			entries("/proc/self/fd") - 3);
		return 1;
	}
	return 0;
}
