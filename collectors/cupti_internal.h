/* SPDX-License-Identifier: Apache-2.0
 *
 * What the cupti_*.c files share.
 */
#ifndef GT_COLLECTORS_CUPTI_INTERNAL_H
#define GT_COLLECTORS_CUPTI_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "collectors/cupti_load.h"

struct gt_cupti {
	struct gt_cupti_api api;
	CUpti_SubscriberHandle subscriber;
	_Atomic bool active; /* callbacks do something */
	void (*on_init_finished)(void);
	_Atomic bool init_finished;
	_Atomic(const char *) fatal; /* message of a fatal state callback */
	_Atomic bool dead;           /* after a fatal error: never call it again */
};

extern struct gt_cupti gt_cupti;

/* The subscriber's callback. Application threads. */
void CUPTIAPI gt_cupti_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
				const void *data);

#endif
