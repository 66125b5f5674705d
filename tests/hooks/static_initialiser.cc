/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA before main: from a static initialiser, before most constructors have run.
 */
#include <cuda_runtime_api.h>

namespace
{
struct early {
	void *memory = nullptr;
	int result = cudaMalloc(&memory, 64);
};
} // namespace

static early at_start;

#ifdef LIBRARY
int early_result();

int early_result()
{
	return at_start.result;
}
#else
int early_result();

int main()
{
	return at_start.result == 13 && early_result() == 13 ? 0 : 1;
}
#endif
