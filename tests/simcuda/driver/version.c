/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver's version: the only thing in libcuda that a personality changes.
 */
#include "driver/driver.h"

const int sim_driver_version = SIM_DRIVER_VERSION;
