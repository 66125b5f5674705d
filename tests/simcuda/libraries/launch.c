/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. One module for each library, loaded by its first launch.
 */
#include "libraries/launch.h"

#include <pthread.h>

#include "nccl/sim_nccl.h"

int sim_library_start(void)
{
	const struct sim_nccl_driver *driver = sim_nccl_driver();
	CUcontext context;

	return driver && !driver->get_current(&context) &&
	       (context || (!driver->retain(&context, 0) && !driver->push(context)));
}

int sim_library_launch(CUstream stream, const char *name)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static CUmodule module;
	static const char image[] = "simulated library";
	const struct sim_nccl_driver *driver = sim_nccl_driver();
	CUfunction function;
	int failed;

	if (!driver)
		return 0;
	pthread_mutex_lock(&lock);
	failed = !module && driver->load(&module, image);
	pthread_mutex_unlock(&lock);
	return !failed && !driver->find(&function, module, name) &&
	       !driver->launch(function, 4, 1, 1, 128, 1, 1, 0, stream, NULL, NULL);
}
