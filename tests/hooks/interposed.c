/* SPDX-License-Identifier: Apache-2.0
 *
 * A program linked with runtime 13 that calls through the hooks and another interposer, which adds
 * 100 to every result. Argument: the result to expect.
 */
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>

int main(int argc, char **argv)
{
	void *memory;
	int want = argc > 1 ? atoi(argv[1]) : 0;

	for (int i = 0; i < 3; i++) {
		int got = cudaMalloc(&memory, 64);

		if (got != want) {
			fprintf(stderr, "cudaMalloc returned %d, not %d\n", got, want);
			return 1;
		}
		/* the interposer does not know this one */
		got = cudaFree(memory);
		if (got != 13) {
			fprintf(stderr, "cudaFree returned %d, not 13\n", got);
			return 1;
		}
	}
	return 0;
}
