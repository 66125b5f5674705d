/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fuzz target over every file of the folders given, and over cuts and bit flips of each
 * small one, at every byte of the smallest.
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define SMALL  2048
#define PLACES 512 /* of each, at most */

static void vary(uint8_t *data, size_t size)
{
	for (size_t n = 0; n < size; n += 1 + size / PLACES) {
		uint8_t kept = data[n];

		LLVMFuzzerTestOneInput(data, n);
		data[n] = (uint8_t)(kept ^ 1u << n % 8);
		LLVMFuzzerTestOneInput(data, size);
		data[n] = kept;
	}
}

static int replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(1 << 20);
	size_t size;

	if (!file || !data)
		return -1;
	size = fread(data, 1, 1 << 20, file);
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	if (size <= SMALL)
		vary(data, size);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	int files = 0;

	for (int i = 1; i < argc; i++) {
		DIR *dir = opendir(argv[i]);
		struct dirent *entry;
		char path[4096];

		while (dir && (entry = readdir(dir))) {
			if (entry->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
			if (replay(path))
				return 1;
			files++;
		}
		if (dir)
			closedir(dir);
	}
	printf("%d corpus files\n", files);
	return files == 0;
}
