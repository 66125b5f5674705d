/* SPDX-License-Identifier: Apache-2.0
 *
 * What simulated libraries launch their kernels by. Any thread.
 */
#ifndef SIMCUDA_LIBRARIES_LAUNCH_H
#define SIMCUDA_LIBRARIES_LAUNCH_H

#include <cuda.h>

#define SIM_LIBRARY_EXPORT __attribute__((visibility("default")))

/* Makes the device's context the thread's, if it has none. False: there is no device. */
int sim_library_start(void);

/* Launches a kernel of that name, of the library's module. False: it failed. */
int sim_library_launch(CUstream stream, const char *name);

#endif
