/* SPDX-License-Identifier: Apache-2.0
 *
 * The runtime's version: differs between the libcudart of each CUDA major.
 */
#include "runtime/runtime.h"

const int rt_version = SIM_RUNTIME_VERSION;
