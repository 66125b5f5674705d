/* SPDX-License-Identifier: Apache-2.0
 *
 * How long the records of a CUPTI are, which is needed where CUPTI cannot step over them: buffers
 * of a process that was killed before it had read any. Any thread.
 */
#ifndef GT_COLLECTORS_CUPTI_LIBRARY_LENGTHS_H
#define GT_COLLECTORS_CUPTI_LIBRARY_LENGTHS_H

#include <stdint.h>

/* Bytes of a record; @kind as CUpti_ActivityKind. 0: not known, or the version is newer than those
 * that were checked. */
uint16_t gt_cupti_record_bytes(uint32_t version, uint32_t kind);

#endif
