/* SPDX-License-Identifier: Apache-2.0
 *
 * How the library is entered: by the loader (constructor) and by the driver (InitializeInjection).
 */
#ifndef GT_PRELOAD_INIT_H
#define GT_PRELOAD_INIT_H

#include <stdbool.h>

/*
 * A hooked call came and no session runs: true when the driver is expected to start it during this
 * very call (CUDA_INJECTION64_PATH is ours, and this is the first hooked call). The second call
 * that finds no session gets false: this driver does not inject.
 */
bool gt_init_driver_will_call(void);

/* Called by the driver inside cuInit. Always returns 1: 0 would make it complain. */
int InitializeInjection(void) __attribute__((visibility("default")));

#endif
