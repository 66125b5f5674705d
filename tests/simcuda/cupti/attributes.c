/* SPDX-License-Identifier: Apache-2.0
 *
 * cuptiActivitySetAttribute and cuptiActivityGetAttribute: two switches of a byte, which buffers.c
 * looks at, and sizes, which are kept and nothing more.
 */
#include "cupti/cupti_sim.h"

#include <string.h>

#define DEVICE_RECORD       32 /* bytes of a kernel in a buffer on the device */
#define PER_THREAD_AT_FIRST (SIM_CUPTI_VERSION >= 130000)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint8_t zeroed;
static uint8_t per_thread = PER_THREAD_AT_FIRST;
static size_t attribute_values[16] = {
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE] = 3200000,
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_CDP] = 8388608,
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT] = 250,
	[CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_SIZE] = 25000,
	[CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_LIMIT] = 250,
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE] = 3,
};

static bool is_on(const uint8_t *byte)
{
	bool is;

	pthread_mutex_lock(&mutex);
	is = *byte != 0;
	pthread_mutex_unlock(&mutex);
	return is;
}

bool cupti_attribute_zeroed(void)
{
	return is_on(&zeroed);
}

bool cupti_attribute_per_thread(void)
{
	return is_on(&per_thread);
}

size_t cupti_attribute_device_kernels(void)
{
	size_t bytes;

	pthread_mutex_lock(&mutex);
	bytes = attribute_values[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE] *
		attribute_values[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT];
	pthread_mutex_unlock(&mutex);
	return bytes / DEVICE_RECORD;
}

void cupti_attributes_reset(void)
{
	pthread_mutex_lock(&mutex);
	zeroed = 0;
	per_thread = PER_THREAD_AT_FIRST;
	pthread_mutex_unlock(&mutex);
}

static uint8_t *byte_attribute(CUpti_ActivityAttribute which)
{
	if (which == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)
		return &zeroed;
	if (which == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER && SIM_CUPTI_VERSION >= 21)
		return &per_thread;
	return NULL;
}

static bool is_attribute(CUpti_ActivityAttribute which)
{
	return which <= CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED ||
	       (SIM_CUPTI_VERSION >= 21 &&
		which <= CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS);
}

CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute which, size_t *size,
					       void *value)
{
	CUptiResult result = cupti_check();
	uint8_t *byte = byte_attribute(which);

	if (result)
		return result;
	if (!size || !value || !is_attribute(which))
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	if (*size < (byte ? 1 : sizeof(size_t)))
		return cupti_fail(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
	pthread_mutex_lock(&mutex);
	if (byte)
		*byte = *(uint8_t *)value;
	else
		attribute_values[which] = *(size_t *)value;
	pthread_mutex_unlock(&mutex);
	cupti.table->truth("{\"truth\":\"attribute\",\"attribute\":%d,\"value\":%zu}\n", (int)which,
			   byte ? (size_t) * (uint8_t *)value : *(size_t *)value);
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityGetAttribute(CUpti_ActivityAttribute which, size_t *size,
					       void *value)
{
	CUptiResult result = cupti_check();
	uint8_t *byte = byte_attribute(which);
	size_t needed = byte ? 1 : sizeof(size_t);

	if (result)
		return result;
	if (!size || !value || !is_attribute(which))
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	if (*size < needed)
		return cupti_fail(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
	pthread_mutex_lock(&mutex);
	memcpy(value, byte ? (void *)byte : &attribute_values[which], needed);
	pthread_mutex_unlock(&mutex);
	*size = needed;
	return CUPTI_SUCCESS;
}
