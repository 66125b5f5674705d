/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of a CUPTI that is newer than any this project has seen: the first of each kind is looked
 * at before its fields are believed. Drain thread only.
 */
#ifndef GT_COLLECTORS_CUPTI_SANITY_H
#define GT_COLLECTORS_CUPTI_SANITY_H

#include <stdbool.h>
#include <stdint.h>

/* The newest cuptiGetVersion whose record layouts were compared with ours (layout.h). */
#define GT_CUPTI_NEWEST_KNOWN 130202u

/* Whether the fields that we read of @record, of its kind, can be what they should be: devices and
 * dimensions in bounds, a name that can be read. Not its times, which are known to be wrong now and
 * then and are judged one by one. Kinds without a rule are sane. */
bool gt_cupti_is_sane(const void *record);

#endif
