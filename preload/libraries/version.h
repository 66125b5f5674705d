/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether what is known here of a library's arguments holds for the one of this process. Any
 * thread; the library is asked once.
 */
#ifndef GT_PRELOAD_LIBRARIES_VERSION_H
#define GT_PRELOAD_LIBRARIES_VERSION_H

#include <stdbool.h>

#include "preload/libraries/real.h"

/* A library, its function that answers for a libraryPropertyType, and the major versions from
 * @first to @last that are known. */
struct library_version {
	const struct real_library *library;
	const char *getter;
	int first, last;
	/* by the module that calls: 0: not asked yet, 1: yes, 2: no */
	_Atomic int known[1 + GT_BEHIND_CALLERS];
	void *_Atomic asked; /* the getter of the library that counts */
	_Atomic bool is_said;
};

/* For the module that this thread went on from last. False: of another version, which is said once,
 * or a second library of the kind in one process. */
bool library_is_known(struct library_version *version);

#endif
