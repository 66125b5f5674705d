/* SPDX-License-Identifier: Apache-2.0
 *
 * One header per architecture, all declaring the same names. A port adds its header and a line
 * here.
 */
#ifndef GT_CORE_ARCH_ARCH_H
#define GT_CORE_ARCH_ARCH_H

#if defined(__x86_64__)
#include "core/arch/arch_x86_64.h"
#else
#error "gputrace has no port to this processor yet: add core/arch/arch_<name>.h"
#endif

#endif
