/* SPDX-License-Identifier: Apache-2.0
 *
 * Symbolizing of finished traces in their place: another file takes the name of the trace when it
 * is whole, and has positions that the trace had not. Modules are read in a child process
 * (confined.h). One thread per file.
 */
#ifndef GT_TRANSFORM_SYMBOLIZE_FILE_H
#define GT_TRANSFORM_SYMBOLIZE_FILE_H

#include "transform/symbolize.h"

/* Replaces the trace at @path, plain JSON, in at most @seconds. 0, also when it has nothing to be
 * replaced (found is 0); a negative errno with ret_result->error, and the trace is as it was:
 * -ETIME: the time was over. */
int gt_symbolize_in_place(const char *path, unsigned int seconds, struct gt_symbolize *ret_result);

#endif
