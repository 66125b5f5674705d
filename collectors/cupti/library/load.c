/* SPDX-License-Identifier: Apache-2.0
 *
 * The search for libcupti, see the header. Two libcupti in one process would both hook the driver
 * and one of them would get nothing. So a mapped one wins, and a name that the loader shares with
 * later users comes before any path.
 */
#include "collectors/cupti/library/load.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/cupti/library/driver.h"
#include "collectors/cupti/library/refusal.h"
#include "core/elf/elf_lookup.h"
#include "core/guest/forkgate.h"
#include "core/guest/sys.h"
#include "core/guest/text.h"

#define PATH_BYTES   256
#define SONAME       "libcupti.so."
#define NEWEST_MAJOR 13u
#define OLDEST_MAJOR 11u

/* The first mapped object whose soname begins with @prefix. */
struct mapped {
	const char *prefix;
	char soname[64];
	char path[PATH_BYTES];
};

static int match_mapped(struct dl_phdr_info *info, size_t size, void *context)
{
	struct mapped *mapped = context;
	struct gt_elf elf;

	if (gt_elf_open(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, &elf) < 0 ||
	    strncmp(elf.soname, mapped->prefix, strlen(mapped->prefix)))
		return 0;
	gt_text_format(mapped->soname, sizeof(mapped->soname), "%s", elf.soname);
	gt_text_format(mapped->path, sizeof(mapped->path), "%s", info->dlpi_name);
	return 1;
}

static bool find_mapped(const char *prefix, struct mapped *ret_mapped)
{
	int found;

	*ret_mapped = (struct mapped){.prefix = prefix};
	gt_forkgate_lock();
	found = dl_iterate_phdr(match_mapped, ret_mapped);
	gt_forkgate_unlock();
	return found == 1;
}

uint32_t gt_cupti_cuda_major(void)
{
	struct mapped cudart;
	const char *end;
	uint64_t major = 0;

	if (find_mapped("libcudart.so.", &cudart) &&
	    !gt_text_parse_u64(cudart.soname + strlen("libcudart.so."), &end, &major))
		return (uint32_t)major;
	return gt_cupti_driver_version() / 1000;
}

struct cupti_search {
	char path[PATH_BYTES];        /* of the loaded libcupti, as the loader has it */
	char refused[PATH_BYTES * 2]; /* the loader's error for the last existing file */
};

/* One attempt. @there: the file exists, so the loader's error is worth reporting. */
static void *try_open(const char *name, int extra, bool there, struct cupti_search *search)
{
	struct link_map *map = NULL;
	const char *error;
	void *handle;

	gt_forkgate_lock();
	handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | extra);
	gt_forkgate_unlock();
	if (!handle) {
		error = dlerror();
		if (there && error)
			gt_text_format(search->refused, sizeof(search->refused), "%s", error);
		return NULL;
	}
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name)
		gt_text_format(search->path, sizeof(search->path), "%s", map->l_name);
	else
		gt_text_format(search->path, sizeof(search->path), "%s", name);
	return handle;
}

static void *try_in(const char *folder, const char *soname, struct cupti_search *search)
{
	char path[PATH_BYTES * 2];
	struct stat st;

	gt_text_format(path, sizeof(path), "%s/%s", folder, soname);
	return gt_sys_lstat(path, &st) == 0 ? try_open(path, 0, true, search) : NULL;
}

/* Folders relative to libcudart's: pip's layouts before and since CUDA 13, conda, toolkit. */
static void *try_near_cudart(const char *soname, struct cupti_search *search)
{
	static const char *const relative[] = {".", "../../cuda_cupti/lib", "../cuda_cupti/lib",
					       "../../cu13/lib", "../extras/CUPTI/lib64"};
	struct mapped cudart;
	char folder[PATH_BYTES * 2];
	void *handle = NULL;
	char *slash;

	if (!find_mapped("libcudart.so.", &cudart) || !(slash = strrchr(cudart.path, '/')))
		return NULL;
	*slash = 0;
	for (size_t i = 0; !handle && i < sizeof(relative) / sizeof(relative[0]); i++) {
		gt_text_format(folder, sizeof(folder), "%s/%s", cudart.path, relative[i]);
		handle = try_in(folder, soname, search);
	}
	return handle;
}

/* $VARIABLE/rest, or an absolute folder. */
static const struct {
	const char *variable;
	const char *rest;
} folders[] = {
	{"CONDA_PREFIX", "lib"},
	{"CUDA_HOME", "extras/CUPTI/lib64"},
	{"CUDA_HOME", "lib64"},
	{"CUDA_PATH", "extras/CUPTI/lib64"},
	{"NVHPC_CUDA_HOME", "extras/CUPTI/lib64"},
	{NULL, "/usr/local/cuda/extras/CUPTI/lib64"},
	{NULL, "/usr/local/cuda/lib64"},
	{NULL, "/usr/lib/x86_64-linux-gnu"},
	{NULL, "/usr/lib/aarch64-linux-gnu"},
};

static void *try_folders(const char *soname, struct cupti_search *search)
{
	char folder[PATH_BYTES * 2];
	void *handle = NULL;

	for (size_t i = 0; !handle && i < sizeof(folders) / sizeof(folders[0]); i++) {
		const char *value = folders[i].variable ? secure_getenv(folders[i].variable) : "";

		if (!value || (folders[i].variable && !*value))
			continue;
		gt_text_format(folder, sizeof(folder), "%s%s%s", value, *value ? "/" : "",
			       folders[i].rest);
		handle = try_in(folder, soname, search);
	}
	return handle;
}

static void *find_for_major(uint32_t major, struct cupti_search *search)
{
	char soname[64];
	void *handle;

	gt_text_format(soname, sizeof(soname), major == 11 ? SONAME "11.8" : SONAME "%u", major);
	/* by name: shared with later users */
	handle = try_open(soname, 0, false, search);
	if (!handle)
		handle = try_near_cudart(soname, search);
	if (!handle)
		handle = try_folders(soname, search);
	return handle;
}

static void *find(const char *forced, struct cupti_search *search)
{
	struct mapped mapped;
	uint32_t major;
	void *handle = NULL;

	if (*forced)
		return try_open(forced, 0, true, search);
	if (find_mapped("libcupti.so", &mapped))
		return try_open(*mapped.path ? mapped.path : mapped.soname, RTLD_NOLOAD, true,
				search);
	/* an older CUPTI works with a newer driver, not the other way round */
	major = gt_cupti_cuda_major();
	for (uint32_t m = major ? major : NEWEST_MAJOR; !handle && m >= OLDEST_MAJOR; m--)
		handle = find_for_major(m, search);
	return handle;
}

/* Returns the name of the first missing required function, or NULL. */
static const char *resolve(void *handle, struct gt_cupti_api *api)
{
	const char *missing = NULL;

#define GT_CUPTI(name, required, parameters)                                                       \
	*(void **)&api->name = gt_forkgate_symbol(handle, #name);                                  \
	if (required && !api->name && !missing)                                                    \
		missing = #name;
#include "collectors/cupti/library/api.def"
#undef GT_CUPTI
	return missing;
}

static void explain(const char *forced, const struct cupti_search *search, char *ret_why,
		    size_t size)
{
	if (*forced)
		gt_text_format(ret_why, size, "cannot load %s, given by --cupti: %s", forced,
			       search->refused);
	else if (*search->refused)
		gt_text_format(ret_why, size, "CUPTI cannot be loaded: %s", search->refused);
	else
		gt_text_format(ret_why, size,
			       SONAME "%u was not found: install CUPTI of that CUDA, or "
				      "name the file with --cupti",
			       gt_cupti_cuda_major());
}

static int match_address(struct dl_phdr_info *info, size_t size, void *context)
{
	struct gt_cupti_api *api = context;
	const char *end;
	struct gt_elf elf;
	uint64_t major;

	if (gt_elf_open(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, &elf) < 0 ||
	    !gt_elf_contains(&elf, (uintptr_t)api->cuptiSubscribe))
		return 0;
	api->start = elf.start;
	api->end = elf.end;
	if (!strncmp(elf.soname, SONAME, strlen(SONAME)) &&
	    !gt_text_parse_u64(elf.soname + strlen(SONAME), &end, &major))
		api->major = (uint32_t)major;
	return 1;
}

static void find_extent(struct gt_cupti_api *api)
{
	gt_forkgate_lock();
	dl_iterate_phdr(match_address, api);
	gt_forkgate_unlock();
}

/* CUPTI 13.2 logs a failed start by a function that starts it. It is known by what it exports: it
 * cannot be asked for its version. */
static bool survives_failed_start(void *handle)
{
	return !gt_forkgate_symbol(handle, "cuptiActivityEnable_v2") ||
	       gt_forkgate_symbol(handle, "cuptiGetTimestamp_v2");
}

/* Before CUPTI is called for the first time. */
static int check_driver(void *handle, struct gt_cupti_api *api, bool in_init, char *ret_why,
			size_t size)
{
	uint32_t driver = gt_cupti_driver_version();

	if (driver / 1000 < api->major) {
		gt_text_format(ret_why, size,
			       "the driver (CUDA %u.%u) is too old for CUPTI %u: update it, or use "
			       "CUDA %u (--cupti names its CUPTI)",
			       driver / 1000, driver % 1000 / 10, api->major, driver / 1000);
		return -ENODEV;
	}
	if (survives_failed_start(handle))
		return 0;
	api->started_driver = !in_init && !gt_cupti_driver_is_up();
	return gt_cupti_driver_serves(in_init, ret_why, size);
}

static int ask_version(struct gt_cupti_api *api, char *ret_why, size_t size)
{
	CUptiResult result = api->cuptiGetVersion(&api->version);

	if (result == CUPTI_SUCCESS)
		return 0;
	gt_cupti_refusal("cuptiGetVersion", result, ret_why, size);
	return -ENOSYS;
}

static int open_cupti(const char *forced, struct gt_cupti_api *ret_api, void **ret_handle,
		      char *ret_why, size_t size)
{
	struct cupti_search search = {0};
	const char *missing;

	*ret_handle = find(forced, &search);
	if (!*ret_handle) {
		explain(forced, &search, ret_why, size);
		return -ENOENT;
	}
	memcpy(ret_api->path, search.path, sizeof(ret_api->path));
	missing = resolve(*ret_handle, ret_api);
	if (missing) {
		gt_text_format(ret_why, size, "%s lacks %s", search.path, missing);
		return -ENOSYS;
	}
	find_extent(ret_api);
	return 0;
}

int gt_cupti_load(const char *forced, enum gt_cupti_moment moment, struct gt_cupti_api *ret_api,
		  char *ret_why, size_t size)
{
	bool is_first = moment != GT_CUPTI_IN_USE;
	struct gt_cupti_api api = {0};
	void *handle;
	int error;

	error = is_first ? gt_cupti_driver_find(ret_why, size) : 0;
	if (!error)
		error = open_cupti(forced, &api, &handle, ret_why, size);
	if (!error && is_first)
		error = check_driver(handle, &api, moment == GT_CUPTI_IN_INIT, ret_why, size);
	if (!error)
		error = ask_version(&api, ret_why, size);
	if (!error)
		*ret_api = api;
	return error;
}
