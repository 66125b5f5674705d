/* SPDX-License-Identifier: Apache-2.0
 *
 * See environment.h. LD_LIBRARY_PATH is never set.
 */
#include "cli/run/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/link.h"
#include "cli/run/load.h"
#include "cli/run/say.h"
#include "core/schema/library_sink.h"
#include "core/schema/os_call.h"
#include "core/schema/tensor_sink.h"
#include "core/window/capture_range.h"

/* An empty variable counts as not set, and so does "none" for the path of a tool. */
static const char *get(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static const char *get_tool(const char *name)
{
	const char *value = get(name);

	return value && strcmp(value, "none") != 0 ? value : NULL;
}

/* Adds NAME=FIRST:SECOND; either value may be NULL. */
static void add(struct gt_environment *environment, const char *name, const char *first,
		const char *second)
{
	char **word = environment->word;

	while (*word)
		word++;
	if (asprintf(word, "%s=%s%s%s", name, first ? first : "", first && second ? ":" : "",
		     second ? second : "") < 0)
		*word = NULL;
}

/* True when @word is in @list, which is separated like LD_PRELOAD. */
static bool holds(const char *list, const char *word)
{
	size_t length = strlen(word), n;

	for (; *list; list += n + (list[n] != 0)) {
		n = strcspn(list, ": \t\n");
		if (n == length && !memcmp(list, word, n))
			return true;
	}
	return false;
}

/* A library that interposes what an option is about, in the folder of the tracer's. */
struct helper {
	const char *name, *what;
};

static const struct helper torch = {GT_TENSOR_LIBRARY, "PyTorch's allocator is"};
static const struct helper nccl = {GT_LIBRARY_LIBRARY, "calls of NCCL are"};
static const struct helper cublas = {GT_LIBRARY_CUBLAS, "calls of cuBLAS are"};
static const struct helper cufft = {GT_LIBRARY_CUFFT, "calls of cuFFT are"};
static const struct helper cudnn = {GT_LIBRARY_CUDNN, "calls of cuDNN are"};
static const struct helper cusparse = {GT_LIBRARY_CUSPARSE, "calls of cuSPARSE are"};
static const struct helper cusolver = {GT_LIBRARY_CUSOLVER, "calls of cuSOLVER are"};
static const struct helper mpi = {GT_LIBRARY_MPI, "calls of MPI are"};
static const struct helper osrt = {GT_OS_LIBRARY, "calls of the operating system are"};

/* Adds ":PATH" of a helper that is @wanted to @list. */
static void add_helper(const char *library, const struct helper *helper, bool wanted, char *list,
		       size_t size)
{
	const char *slash = strrchr(library, '/');
	size_t used = strlen(list);
	char *path = list + used + 1;

	if (!wanted || !slash)
		return;
	snprintf(list + used, size - used, ":%.*s/%s", (int)(slash - library), library,
		 helper->name);
	if (!access(path, R_OK) && !strpbrk(path, ": \t\n"))
		return;
	gt_say("%s cannot be preloaded: %s not recorded", path, helper->what);
	list[used] = 0;
}

/* Those that the options want. */
static void find_helpers(const char *library, const struct gt_config *config, char *list,
			 size_t size)
{
	const char *libraries = gt_config_text(config, GT_CONFIG_LIBRARIES);

	*list = 0;
	add_helper(library, &torch, gt_config_bool(config, GT_CONFIG_MEMORY), list, size);
	add_helper(library, &nccl, strstr(libraries, "nccl") != NULL, list, size);
	add_helper(library, &cublas, strstr(libraries, "cublas") != NULL, list, size);
	add_helper(library, &cufft, strstr(libraries, "cufft") != NULL, list, size);
	add_helper(library, &cudnn, strstr(libraries, "cudnn") != NULL, list, size);
	add_helper(library, &cusparse, strstr(libraries, "cusparse") != NULL, list, size);
	add_helper(library, &cusolver, strstr(libraries, "cusolver") != NULL, list, size);
	add_helper(library, &mpi, strstr(libraries, "mpi") != NULL, list, size);
	add_helper(library, &osrt, gt_config_number(config, GT_CONFIG_OSRT) != 0, list, size);
}

static void plan_preload(const char *path, const char *helpers, const struct gt_target *target,
			 struct gt_environment *environment)
{
	const char *others = get("LD_PRELOAD");
	char all[12 * PATH_MAX];

	if (target->is_musl || target->is_foreign || (target->has_sanitizer && !others))
		return;
	snprintf(all, sizeof(all), "%s%s", path, helpers);
	if (!others || !holds(others, path))
		add(environment, "LD_PRELOAD", others, all);
}

/* True when CUDA_INJECTION64_PATH is ours. */
static bool plan_injection(const char *path, const struct gt_config *config,
			   struct gt_environment *environment)
{
	const char *other = get_tool("CUDA_INJECTION64_PATH");

	if (other && strcmp(other, path) != 0 &&
	    !gt_config_bool(config, GT_CONFIG_FORCE_INJECTION)) {
		gt_say("CUDA_INJECTION64_PATH belongs to %s and stays "
		       "(--force-injection takes it over)",
		       other);
		return false;
	}
	add(environment, "CUDA_INJECTION64_PATH", path, NULL);
	return true;
}

/* The library sets it too, but then each process pays for the first setenv. */
static void plan_nvtx(const char *path, const struct gt_config *config,
		      struct gt_environment *environment)
{
	if (!get_tool("NVTX_INJECTION64_PATH") &&
	    strcmp(gt_config_text(config, GT_CONFIG_NVTX), "off") != 0)
		add(environment, "NVTX_INJECTION64_PATH", path, NULL);
}

/* Puts the folder of our sitecustomize in front if an option needs it. */
static void plan_python(const char *modules, const struct gt_config *config,
			struct gt_environment *environment)
{
	bool wants_operators = gt_config_bool(config, GT_CONFIG_PYTORCH);
	bool wants_functions = *gt_config_text(config, GT_CONFIG_PYTHON_FUNCTIONS) ||
			       !strncmp(gt_config_text(config, GT_CONFIG_CAPTURE_RANGE),
					GT_CAPTURE_PYTHON, strlen(GT_CAPTURE_PYTHON));

	if (!wants_operators && !wants_functions)
		return;
	if (strchr(modules, ':'))
		gt_say("PYTHONPATH cannot hold %s: Python is not watched", modules);
	else
		add(environment, "PYTHONPATH", modules, get("PYTHONPATH"));
	if (wants_operators && !strcmp(gt_config_text(config, GT_CONFIG_NVTX), "off"))
		gt_say("--pytorch needs NVTX, which %s leaves out",
		       get("GPUTRACE_NVTX") ? "--nvtx=off" : "--level=minimal");
}

/* NCCL cuts a longer name of a plug-in. */
#define PLUGIN_MOST 254

/* NCCL loads its profiler plug-in itself, and only one. */
static void plan_nccl(const char *library, const struct gt_config *config,
		      struct gt_environment *environment)
{
	const char *other = get(GT_LIBRARY_PLUGIN), *slash = strrchr(library, '/');
	char path[PATH_MAX];
	bool is_ours;

	if (!slash || !strstr(gt_config_text(config, GT_CONFIG_LIBRARIES), "nccl-profiler"))
		return;
	snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - library), library,
		 GT_LIBRARY_PROFILER);
	is_ours = !other || !strcmp(other, path);
	if (!is_ours) {
		gt_say("%s belongs to %s and stays: how NCCL does its operations is not recorded",
		       GT_LIBRARY_PLUGIN, other);
	} else if (access(path, R_OK) || strlen(path) > PLUGIN_MOST) {
		gt_say("NCCL cannot load %s: how NCCL does its operations is not recorded", path);
		is_ours = false;
	} else {
		add(environment, GT_LIBRARY_PLUGIN, path, NULL);
	}
	add(environment, GT_LIBRARY_PLANNED, is_ours ? path : other ? other : "none", NULL);
}

/* The path for LD_PRELOAD, or NULL after a message. */
static const char *find_library(const char *library)
{
	static char path[PATH_MAX];
	char why[512];

	if (access(library, F_OK)) {
		gt_say("%s is not there: the program runs untraced", library);
		return NULL;
	}
	if (gt_link_find(library, path, sizeof(path)))
		snprintf(why, sizeof(why), "no private folder for a link to %s", library);
	else if (gt_load_try(path, why, sizeof(why)))
		return path;
	gt_say("the tracer cannot be loaded here, the program runs untraced: %s", why);
	return NULL;
}

void gt_environment_plan(const struct gt_run_parts *parts, const struct gt_config *config,
			 const struct gt_target *target, struct gt_environment *ret_environment)
{
	const char *path = find_library(parts->library);
	char helpers[10 * PATH_MAX];

	*ret_environment = (struct gt_environment){.is_traced = path != NULL};
	if (!path)
		return;
	find_helpers(parts->library, config, helpers, sizeof(helpers));
	plan_preload(path, helpers, target, ret_environment);
	if (plan_injection(path, config, ret_environment))
		plan_nvtx(path, config, ret_environment);
	plan_python(parts->modules, config, ret_environment);
	plan_nccl(parts->library, config, ret_environment);
}
