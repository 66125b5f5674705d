/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules and libraries: any image is accepted, and any name asked for becomes a kernel of that
 * name. A CUlibrary is a CUmodule, a CUkernel is a CUfunction. Any thread.
 */
#include "driver/driver.h"

#include <stdlib.h>
#include <string.h>

#include <cupti_callbacks.h>

static _Atomic uint32_t last_id;

static void tell(uint32_t cbid, struct CUmod_st *module)
{
	struct CUctx_st *context = module->context ? module->context : sim_context_current();
	struct sim_resource what = {.cbid = cbid,
				    .correlation = sim_current_correlation(),
				    .context = context,
				    .context_id = context ? context->id : 0,
				    .module_id = module->id,
				    .image = module->image,
				    .image_size = module->image_size};

	sim_client_resource(&what);
}

/* The length of an ELF or fat binary image, 0 when it is neither. */
static size_t image_size(const void *image)
{
	const uint32_t *word = image;

	if (word[0] == 0xba55ed50u) /* fat binary: header, then so many bytes */
		return 16 + *(const uint64_t *)(word + 2);
	if (word[0] == 0x464c457fu) { /* ELF: the section table is its end */
		const uint64_t *shoff = (const uint64_t *)((const char *)image + 40);
		const uint16_t *sizes = (const uint16_t *)((const char *)image + 58);
		return *shoff + (size_t)sizes[0] * sizes[1];
	}
	return 0;
}

struct CUmod_st *sim_module_new(const void *image, struct CUctx_st *context)
{
	struct CUmod_st *module = calloc(1, sizeof(*module));

	if (!module)
		return NULL;
	module->id = atomic_fetch_add(&last_id, 1) + 1;
	module->image = image;
	module->image_size = image ? image_size(image) : 0;
	module->context = context;
	pthread_mutex_init(&module->mutex, NULL);
	tell(CUPTI_CBID_RESOURCE_MODULE_LOADED, module);
	return module;
}

static struct CUfunc_st *function_new(struct CUmod_st *module, const char *name)
{
	struct CUfunc_st *function = calloc(1, sizeof(*function));

	if (!function)
		return NULL;
	function->name = strdup(name);
	function->module = module;
	sim_kernel_facts_of(function);
	function->next = module->functions;
	/* nvcc keeps it in a static variable that other threads read */
	atomic_store_explicit(&function->magic, SIM_FUNCTION_MAGIC, memory_order_release);
	module->functions = function;
	return function;
}

struct CUfunc_st *sim_module_function(struct CUmod_st *module, const char *name)
{
	struct CUfunc_st *found;

	pthread_mutex_lock(&module->mutex);
	for (found = module->functions; found; found = found->next)
		if (!strcmp(found->name, name))
			break;
	if (!found)
		found = function_new(module, name);
	pthread_mutex_unlock(&module->mutex);
	return found;
}

CUresult sim_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count,
				CUjit_option *options, void **values)
{
	struct CUctx_st *context;
	CUresult result = sim_check_context(&context);

	if (result || !module || !image)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*module = sim_module_new(image, context);
	return *module ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_cuModuleLoadData(CUmodule *module, const void *image)
{
	return sim_cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult sim_cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
	return sim_cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult sim_cuModuleLoad(CUmodule *module, const char *path)
{
	static const char no_image[64];

	return path ? sim_cuModuleLoadDataEx(module, no_image, 0, NULL, NULL)
		    : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuModuleUnload(CUmodule module)
{
	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	tell(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, module);
	return CUDA_SUCCESS; /* kept: launches in flight still name its kernels */
}

CUresult sim_cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	if (!module || !function || !name)
		return CUDA_ERROR_INVALID_VALUE;
	*function = sim_module_function(module, name);
	return *function ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* A global that nobody declared has a page: its true size is not known here. */
static struct sim_global *global_of(struct CUmod_st *module, const char *name, size_t size)
{
	struct sim_allocation memory;
	struct sim_global *global;

	pthread_mutex_lock(&module->mutex);
	for (global = module->globals; global; global = global->next)
		if (!strcmp(global->name, name))
			break;
	if (!global && !sim_memory_new(SIM_MEMORY_DEVICE, size, &memory) &&
	    (global = calloc(1, sizeof(*global)))) {
		*global = (struct sim_global){strdup(name), (void *)memory.address, size,
					      module->globals};
		module->globals = global;
	}
	pthread_mutex_unlock(&module->mutex);
	return global;
}

CUresult sim_cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module,
				  const char *name)
{
	if (!module || !name)
		return CUDA_ERROR_INVALID_VALUE;
	struct sim_global *global = global_of(module, name, bytes && *bytes ? *bytes : 4096);
	if (!global)
		return CUDA_ERROR_NOT_FOUND;
	if (address)
		*address = (CUdeviceptr)global->address;
	if (bytes)
		*bytes = global->size;
	return CUDA_SUCCESS;
}

CUresult sim_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	*mode = CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

CUresult sim_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit_options,
			       void **jit_values, unsigned int jit_count, CUlibraryOption *options,
			       void **values, unsigned int count)
{
	CUresult result = sim_check_ready();

	if (result || !library || !code)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*library = (CUlibrary)sim_module_new(code, NULL);
	return *library ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_cuLibraryUnload(CUlibrary library)
{
	return sim_cuModuleUnload((CUmodule)library);
}

CUresult sim_cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	return sim_cuModuleGetFunction((CUfunction *)kernel, (CUmodule)library, name);
}

CUresult sim_cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
	*module = (CUmodule)library;
	return library ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary library,
				const char *name)
{
	return sim_cuModuleGetGlobal_v2(address, bytes, (CUmodule)library, name);
}

CUresult sim_cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
	*function = (CUfunction)kernel;
	return kernel ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuKernelGetName(const char **name, CUkernel kernel)
{
	*name = sim_symbol_of(kernel);
	return kernel ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
	*library = kernel ? (CUlibrary)((CUfunction)kernel)->module : NULL;
	return kernel ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuFuncGetName(const char **name, CUfunction function)
{
	*name = sim_symbol_of(function);
	return function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuFuncGetModule(CUmodule *module, CUfunction function)
{
	*module = function ? function->module : NULL;
	return function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
	*state = CU_FUNCTION_LOADING_STATE_LOADED;
	return function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuFuncLoad(CUfunction function)
{
	return function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* Linking: the image of what was added last is the image of the whole. */
struct CUlinkState_st {
	const void *image;
	size_t size;
};

CUresult sim_cuLinkCreate_v2(unsigned int count, CUjit_option *options, void **values,
			     CUlinkState *ret_state)
{
	*ret_state = calloc(1, sizeof(**ret_state));
	return *ret_state ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
			      const char *name, unsigned int count, CUjit_option *options,
			      void **values)
{
	if (!state || !data)
		return CUDA_ERROR_INVALID_VALUE;
	state->image = data;
	state->size = size;
	return CUDA_SUCCESS;
}

CUresult sim_cuLinkComplete(CUlinkState state, void **image, size_t *size)
{
	if (!state || !state->image)
		return CUDA_ERROR_INVALID_VALUE;
	*image = (void *)state->image;
	if (size)
		*size = state->size;
	return CUDA_SUCCESS;
}

CUresult sim_cuLinkDestroy(CUlinkState state)
{
	free(state);
	return CUDA_SUCCESS;
}
