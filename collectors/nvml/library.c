/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. It stays loaded: the program may use it, too.
 */
#include "collectors/nvml/library.h"

#include <dlfcn.h>
#include <errno.h>

#include "core/guest/forkgate.h"
#include "core/guest/text.h"

#define NVML "libnvidia-ml.so.1"

static void *open_library(char *why, size_t size)
{
	const char *error;
	void *handle;

	gt_forkgate_lock();
	handle = dlopen(NVML, RTLD_NOW | RTLD_LOCAL);
	gt_forkgate_unlock();
	if (handle)
		return handle;
	error = dlerror();
	gt_text_format(why, size, "%s", error ? error : NVML " cannot be loaded");
	return NULL;
}

int gt_nvml_open(struct gt_nvml_library *ret_library, char *why, size_t size)
{
	void *handle = open_library(why, size);
	const char *missing = NULL;

	if (!handle)
		return -ENOENT;
	gt_forkgate_lock();
#define GT_NVML(name, required, parameters)                                                        \
	*(void **)&ret_library->name = dlsym(handle, #name);                                       \
	if (required && !ret_library->name)                                                        \
		missing = #name;
#include "collectors/nvml/api.def"
#undef GT_NVML
	gt_forkgate_unlock();
	if (!missing)
		return 0;
	gt_text_format(why, size, NVML " has no %s", missing);
	return -ENOENT;
}
