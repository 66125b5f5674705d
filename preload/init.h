/* SPDX-License-Identifier: Apache-2.0
 *
 * How the library is entered: by the loader (constructor) and by the driver (InitializeInjection).
 */
#ifndef GT_PRELOAD_INIT_H
#define GT_PRELOAD_INIT_H

/* Called by the driver inside cuInit. Always returns 1: 0 would make it complain. */
int InitializeInjection(void) __attribute__((visibility("default")));

#endif
