/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of CUPTI that are process-wide: activity attributes and time stamps. Starting
 * thread, or the drain thread when CUPTI becomes ours again.
 */
#ifndef GT_COLLECTORS_CUPTI_SETTINGS_H
#define GT_COLLECTORS_CUPTI_SETTINGS_H

#include "collectors/cupti/cupti.h"

/* Adds to status->refused what CUPTI refused without failing altogether; nothing on success. */
void gt_cupti_note_refused(struct gt_cupti_status *status, const char *what, int result);

/* Sets all. After subscribing, before the buffer callbacks are registered and any kind is
 * enabled. */
void gt_cupti_settings_apply(const struct gt_config *config, struct gt_cupti_status *status);

/* Whether each thread has an activity buffer of its own. */
bool gt_cupti_settings_per_thread(uint32_t version);

#endif
