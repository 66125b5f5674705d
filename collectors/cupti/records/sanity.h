/* SPDX-License-Identifier: Apache-2.0
 *
 * For a CUPTI newer than any known one: the first record of each kind is checked before its fields
 * are used. Drain thread only.
 */
#ifndef GT_COLLECTORS_CUPTI_RECORDS_SANITY_H
#define GT_COLLECTORS_CUPTI_RECORDS_SANITY_H

#include <stdbool.h>
#include <stdint.h>

/* The newest cuptiGetVersion whose record layouts were compared with ours (layout.h;
 * tests/compat/real_cupti.py). */
#define GT_CUPTI_NEWEST_KNOWN 130500u

/* Whether the fields of @record that we read are plausible: devices and dimensions in bounds, a
 * readable name. Times are not checked: even good ones are sometimes wrong and are judged one by
 * one. Kinds without a rule are sane. */
bool gt_cupti_is_sane(const void *record);

#endif
