/* SPDX-License-Identifier: Apache-2.0
 *
 * What every unsimulated CUPTI function does. Any thread.
 */
#include "cupti/stub.h"

#include <stdio.h>
#include <unistd.h>

#include <cupti_result.h>

int cupti_missing(const char *name, _Atomic int *said)
{
	if (!*said)
		dprintf(STDERR_FILENO, "simcuda: %s is not simulated\n", name);
	*said = 1;
	return CUPTI_ERROR_NOT_SUPPORTED;
}
