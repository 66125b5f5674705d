/* SPDX-License-Identifier: Apache-2.0
 *
 * A library between a plug-in and the runtime: brings it along.
 */
#include <cuda_runtime_api.h>

int middle(void);

int middle(void)
{
	return cudaFree(NULL);
}
