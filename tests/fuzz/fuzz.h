/* SPDX-License-Identifier: Apache-2.0
 *
 * A fuzz target is one LLVMFuzzerTestOneInput. Built with -fsanitize=fuzzer it is fuzzed; linked
 * with main.c it replays a corpus folder, which every build does as a test.
 */
#ifndef GT_TESTS_FUZZ_FUZZ_H
#define GT_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where files are fastest; a container may not have it. */
static inline const char *fuzz_folder(void)
{
	return access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
}

#endif
