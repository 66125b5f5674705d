/* SPDX-License-Identifier: Apache-2.0
 *
 * What became of the options that watch frameworks, see the header.
 */
#include "pipeline/frameworks.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "collectors/python/runtime.h"
#include "collectors/symbols/modules.h"
#include "core/config.h"
#include "core/guest/forkgate.h"
#include "core/guest/log.h"
#include "core/guest/text.h"
#include "core/schema/metadata.h"

#define STATES      8
#define STATE_BYTES 121

enum feature { PYTORCH, FUNCTIONS, FEATURE_COUNT_ };

static const struct {
	enum gt_option_id option;
	const char
		*needs; /* part of the path of an object that it watches; NULL: the interpreter */
	const char *without; /* what there is to say where that is not loaded */
} features[FEATURE_COUNT_] = {
	[PYTORCH] = {GT_CONFIG_PYTORCH, "/libtorch_python.", "torch was not imported"},
	[FUNCTIONS] = {GT_CONFIG_PYTHON_FUNCTIONS, NULL, NULL},
};

/* What Python said: places are taken once and never given back. */
static char states[STATES][STATE_BYTES];
static _Atomic uint32_t states_taken;
static const char *_Atomic reported[FEATURE_COUNT_];

void gputrace_framework_state(const char *option, const char *state)
{
	uint32_t place = atomic_fetch_add(&states_taken, 1);

	if (place >= STATES)
		return;
	gt_text_format(states[place], STATE_BYTES, "%s", state);
	for (int i = 0; i < FEATURE_COUNT_; i++)
		if (!strcmp(option, gt_options[features[i].option].name))
			/* pairs with the acquire in state_of: the text is whole */
			atomic_store_explicit(&reported[i], states[place], memory_order_release);
}

static bool is_wanted(const struct gt_config *config, enum feature feature)
{
	enum gt_option_id id = features[feature].option;

	return gt_options[id].type == GT_OPTION_BOOL ? gt_config_number(config, id) != 0
						     : *gt_config_text(config, id) != 0;
}

static bool is_loaded(const struct gt_modules *modules, const char *part)
{
	for (uint32_t i = 0; i < gt_modules_count(modules); i++)
		if (strstr(gt_modules_at(modules, i)->path->text, part))
			return true;
	return false;
}

static const char *state_of(const struct gt_modules *modules, enum feature feature,
			    const char *isolation)
{
	/* pairs with the release in gputrace_framework_state */
	const char *state = atomic_load_explicit(&reported[feature], memory_order_acquire);

	if (state)
		return state;
	if (!isolation)
		return "off: there is no Python in this process";
	if (*isolation)
		return isolation;
	if (features[feature].needs && !is_loaded(modules, features[feature].needs))
		return features[feature].without;
	return "off: PYTHONPATH did not lead to gputrace's sitecustomize";
}

static const char *find_isolation(void)
{
	const char *isolation;

	gt_forkgate_lock();
	isolation = gt_python_runtime_isolation();
	gt_forkgate_unlock();
	return isolation;
}

/* A rank with MPI, of which no kernel tells; NCCL, if there is both, is what its kernels meet by.
 */
static void see_mpi(const struct gt_frameworks *frameworks)
{
	static const char *const libraries[] = {"/libmpi.so", "/libmpich.so", "/libmpi_cray.so"};
	struct gt_metadata *metadata = frameworks->metadata;

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		if (!metadata->has_rank || *metadata->backend ||
		    !is_loaded(frameworks->modules, libraries[i]))
			continue;
		gt_text_format(metadata->backend, sizeof(metadata->backend), "mpi");
		metadata->generation++;
	}
}

void gt_frameworks_notify(const struct gt_frameworks *frameworks)
{
	struct gt_metadata *metadata = frameworks->metadata;
	char text[sizeof(metadata->frameworks)] = "";
	const char *isolation = NULL;
	size_t used = 0;

	see_mpi(frameworks);
	for (int i = 0; i < FEATURE_COUNT_; i++) {
		if (!is_wanted(frameworks->config, i))
			continue;
		if (!used)
			isolation = find_isolation();
		used += gt_text_format(text + used, sizeof(text) - used, "%s%s: %s",
				       used ? "; " : "", gt_options[features[i].option].name,
				       state_of(frameworks->modules, i, isolation));
	}
	if (!strcmp(text, metadata->frameworks))
		return;
	memcpy(metadata->frameworks, text, sizeof(text));
	metadata->generation++;
	gt_log_verbose("%s", text);
}
