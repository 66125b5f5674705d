/* SPDX-License-Identifier: Apache-2.0
 *
 * Asking the CUDA driver, see the header. It is never unloaded: the program or CUPTI needs it next.
 */
#include "collectors/cupti/library/driver.h"

#include <dlfcn.h>
#include <errno.h>

#include <cuda.h>

#include "core/guest/forkgate.h"
#include "core/guest/text.h"

#define DRIVER "libcuda.so.1"

static void *open_driver(int extra)
{
	void *driver;

	gt_forkgate_lock();
	driver = dlopen(DRIVER, RTLD_LAZY | RTLD_LOCAL | extra);
	gt_forkgate_unlock();
	return driver;
}

/* In the mapped libcuda; NULL: there is none, or it lacks it. */
static void *find_function(const char *name)
{
	void *driver = open_driver(RTLD_NOLOAD), *function = NULL;

	if (!driver)
		return NULL;
	function = gt_forkgate_symbol(driver, name);
	gt_forkgate_lock();
	dlclose(driver); /* drops our reference only: the driver stays mapped */
	gt_forkgate_unlock();
	return function;
}

/* The result of cuDriverGetVersion. */
static CUresult ask_version(int *ret_version)
{
	CUresult (*get_version)(int *);

	*ret_version = 0;
	*(void **)&get_version = find_function("cuDriverGetVersion");
	return get_version ? get_version(ret_version) : CUDA_ERROR_NOT_FOUND;
}

uint32_t gt_cupti_driver_version(void)
{
	int version;

	return ask_version(&version) == CUDA_SUCCESS ? (uint32_t)version : 0;
}

/* Before cuInit is over it answers CUDA_ERROR_NOT_INITIALIZED. */
bool gt_cupti_driver_is_up(void)
{
	CUresult (*get_count)(int *);
	int count;

	*(void **)&get_count = find_function("cuDeviceGetCount");
	return get_count && get_count(&count) == CUDA_SUCCESS;
}

int gt_cupti_driver_find(char *ret_why, size_t size)
{
	CUresult result;
	int version;

	if (!open_driver(0)) {
		const char *error = dlerror();

		gt_text_format(ret_why, size,
			       "there is no CUDA driver here: %s: install it, or let the container "
			       "have it",
			       error ? error : DRIVER " cannot be loaded");
		return -ENODEV;
	}
	result = ask_version(&version);
	if (result != CUDA_SUCCESS) {
		gt_text_format(ret_why, size,
			       "the CUDA driver does not work: cuDriverGetVersion failed with %d%s",
			       (int)result,
			       result == CUDA_ERROR_STUB_LIBRARY
				       ? ": " DRIVER " is the toolkit's stub, remove its folder "
					 "from LD_LIBRARY_PATH"
				       : "");
		return -ENODEV;
	}
	return 0;
}

/* What CUPTI 13.2 was seen to ask for first; it does not survive that the driver lacks it. */
static bool has_tools_table(void)
{
	static const CUuuid id = {"\x7c\xb6\x3f\x9b\x9c\xa4\x8e\x42\xa4\x84\xbe\xb6\x6e\x6a\xed"
				  "\x7f"};
	CUresult (*get_table)(const void **, const CUuuid *);
	const void *table;

	*(void **)&get_table = find_function("cuGetExportTable");
	return get_table && get_table(&table, &id) == CUDA_SUCCESS;
}

static CUresult initialise(void)
{
	CUresult (*init)(unsigned int);

	*(void **)&init = find_function("cuInit");
	return init ? init(0) : CUDA_ERROR_NOT_FOUND;
}

int gt_cupti_driver_serves(bool in_init, char *ret_why, size_t size)
{
	CUresult result = in_init ? CUDA_SUCCESS : initialise();

	if (result != CUDA_SUCCESS)
		gt_text_format(ret_why, size,
			       "the CUDA driver does not start: cuInit failed with %d",
			       (int)result);
	else if (!has_tools_table())
		gt_text_format(ret_why, size, "CUPTI 13.2 does not support this driver");
	else
		return 0;
	return -ENODEV;
}
