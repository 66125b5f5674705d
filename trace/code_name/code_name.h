/* SPDX-License-Identifier: Apache-2.0
 *
 * A demangled C++ name as a tree of parts, and how it is made short by what its parts mean: first
 * go the return type, the parameters and scopes that say nothing, then, as far as there is no room
 * for them, scopes, arguments of how data is reached, numbers, types, functors, and parts of long
 * identifiers. "..." stands for arguments and parts of identifiers that are left out. One thread
 * per name.
 */
#ifndef GT_TRACE_CODE_NAME_CODE_NAME_H
#define GT_TRACE_CODE_NAME_CODE_NAME_H

#include <stdbool.h>
#include <stddef.h>

struct gt_code_name;

/* The parts of @text (@length bytes), which must outlive them. NULL: no memory. */
struct gt_code_name *gt_code_name_new(const char *text, size_t length);
void gt_code_name_free(struct gt_code_name *name);

/* Writes the name with as many of its parts as @width bytes hold (0: no limit), and those that were
 * kept. Returns the length, which is more than @width where no part may go any more. @out holds
 * @size bytes, terminated. */
size_t gt_code_name_write(struct gt_code_name *name, size_t width, char *out, size_t size);

/* Writes what is done: the name without parameters, and of its template arguments only functors:
 * what kernels that differ in types, numbers and how data is reached have in common. Returns the
 * length. */
size_t gt_code_name_essence(struct gt_code_name *name, char *out, size_t size);

/* What stands before "..." in @width bytes of a form that has lost its middle besides, or some
 * bytes less, as other dots at its end or behind it go, too. */
#define GT_NAME_HEAD(width) (((width)-3) * 2 / 5)
#define GT_NAME_DOTS        3 /* bytes on either side, at most */

/* Whether @text (@length bytes) is a form that gt_code_name_write may give the name, with whatever
 * parts kept or gone, or what is left of one without its middle. */
bool gt_code_name_fits(const struct gt_code_name *name, const char *text, size_t length);

/* Keeps of both names the most telling part in which they differ and that is not kept yet. False:
 * there is none. */
bool gt_code_name_tell_apart(struct gt_code_name *a, struct gt_code_name *b);

#endif
