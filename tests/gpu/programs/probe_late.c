/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI in a program that uses CUDA already (gputrace attach, detach). See probes.def.
 */
#include "probes.h"

bool probe_late_subscription(void)
{
	uint64_t before;
	uint64_t took;

	rig_load();
	rig_use_device();
	rig_spin(SPIN_NS);
	before = rig_realtime();
	rig_open();
	took = rig_realtime() - before;
	rig_launch();
	rig_flush(0);
	return probe_seen(rig_count(KERNEL) == 1, "%u records of 2 kernels, enabling took %lu us",
			  rig_count(KERNEL), (unsigned long)(took / 1000));
}

bool probe_subscribe_again(void)
{
	unsigned callbacks, records;

	rig_start();
	rig_launch();
	rig_flush(0);
	rig.cupti.cuptiActivityDisable(KERNEL);
	rig.cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	rig.cupti.cuptiUnsubscribe(rig.subscriber);
	callbacks = rig.callback_count;
	records = rig_count(KERNEL);
	rig_launch();
	cuCtxSynchronize();
	if (rig.callback_count != callbacks || records != 1)
		return probe_seen(false, "%u callbacks of nobody, %u records",
				  rig.callback_count - callbacks, records);
	rig_open();
	rig_launch();
	rig_flush(0);
	return probe_seen(rig_count(KERNEL) == 2 && rig.callback_count > callbacks,
			  "%u records of 3 kernels, %u callbacks again", rig_count(KERNEL),
			  rig.callback_count - callbacks);
}
