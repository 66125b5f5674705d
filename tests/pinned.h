/* SPDX-License-Identifier: Apache-2.0
 *
 * What rewrites a trace takes a pinned file; a test has a path.
 */
#ifndef GT_TESTS_PINNED_H
#define GT_TESTS_PINNED_H

#include "recover/pin.h"

/* @call with the file at @path as "&pin"; its value, or that of gt_pin. */
#define PINNED(path, call)                                                                         \
	({                                                                                         \
		struct gt_pin pin;                                                                 \
		int pinned_ = gt_pin(&pin, path);                                                  \
                                                                                                   \
		if (!pinned_) {                                                                    \
			pinned_ = call;                                                            \
			gt_unpin(&pin);                                                            \
		}                                                                                  \
		pinned_;                                                                           \
	})

#endif
