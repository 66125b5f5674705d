/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors of the simulated cuDNN's backend, as opaque as the real ones. Heuristics find one
 * configuration.
 */
#include <cudnn.h>
#include <stdlib.h>

#include "libraries/launch.h"

struct backend {
	cudnnBackendDescriptorType_t type;
	int attributes;
};

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
							      cudnnBackendDescriptor_t *descriptor)
{
	struct backend *made = calloc(1, sizeof(*made));

	if (!made)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	made->type = type;
	*descriptor = made;
	return CUDNN_STATUS_SUCCESS;
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
	free(descriptor);
	return CUDNN_STATUS_SUCCESS;
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
	return descriptor ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
							  cudnnBackendAttributeName_t name,
							  cudnnBackendAttributeType_t type,
							  int64_t count, const void *data)
{
	struct backend *of = descriptor;

	if (!of || !data || count < 0)
		return CUDNN_STATUS_BAD_PARAM;
	of->attributes++;
	return CUDNN_STATUS_SUCCESS;
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t descriptor,
							  cudnnBackendAttributeName_t name,
							  cudnnBackendAttributeType_t type,
							  int64_t wanted, int64_t *count,
							  void *data)
{
	const struct backend *of = descriptor;

	if (of->type != CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR ||
	    name != CUDNN_ATTR_ENGINEHEUR_RESULTS || !wanted || !data)
		return CUDNN_STATUS_NOT_SUPPORTED;
	*count = 1;
	return CUDNN_STATUS_SUCCESS;
}
