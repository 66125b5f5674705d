/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPython interpreter of this process: where it is, its version, the symbols that we use.
 */
#ifndef GT_COLLECTORS_PYTHON_RUNTIME_H
#define GT_COLLECTORS_PYTHON_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/python/layout.h"
#include "collectors/python/read.h"

/* The interpreter of this process. */
struct gt_python_runtime {
	struct gt_python_layout layout;
	uint32_t version;                            /* PY_VERSION_HEX */
	uint64_t code_type, string_type, bytes_type; /* addresses of PyCode_Type and others */
	void *(*get_state)(void); /* PyThreadState of the calling thread or NULL; takes no GIL */
	int (*is_finalizing)(void);
};

/*
 * Finds an interpreter among the loaded objects and keeps it loaded. Takes the loader's locks: not
 * on a hot path. NULL on success; else a short reason why its stacks cannot be read, empty when
 * there is no interpreter.
 */
const char *gt_python_runtime_find(struct gt_python_runtime *ret_runtime);

/*
 * Why the interpreter ignores a sitecustomize in PYTHONPATH: "off: " and a reason, empty if it does
 * not ignore it, NULL without an interpreter. Takes the lock of the loader's list. Not on a hot
 * path.
 */
const char *gt_python_runtime_isolation(void);

#endif
