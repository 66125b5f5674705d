/* SPDX-License-Identifier: Apache-2.0
 *
 * See plan.h.
 */
#include "cli/run/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/run/say.h"
#include "core/guest/descriptor.h"
#include "core/identity.h"
#include "core/pattern.h"
#include "core/spool.h"
#include "readers/show.h"
#include "writers/deflate.h"

static bool is_set_to(const struct gt_plan *plan, enum gt_option_id id, const char *value)
{
	return !strcmp(gt_config_text(&plan->config, id), value);
}

static void read_options(struct gt_plan *plan)
{
	gt_config_init(&plan->config);
	gt_config_from_env(&plan->config, environ, NULL);
	plan->compresses = is_set_to(plan, GT_CONFIG_COMPRESS, "gzip");
	plan->symbolizes = is_set_to(plan, GT_CONFIG_SYMBOLIZE, "on");
	plan->writes_nothing =
		is_set_to(plan, GT_CONFIG_FORMAT, "null") || is_set_to(plan, GT_CONFIG_MODE, "off");
}

/* Only rank 0 prints messages. */
static void choose_voice(struct gt_plan *plan)
{
	gt_identity_fill(&plan->process);
	if (gt_config_bool(&plan->config, GT_CONFIG_QUIET) || plan->process.rank > 0)
		gt_say_nothing();
}

/* The library says nothing of a spool that it cannot have: few have asked for one. */
static void check_spool(const struct gt_plan *plan)
{
	const char *where = gt_config_text(&plan->config, GT_CONFIG_SPOOL), *why;

	if (plan->writes_nothing || !strcmp(where, "auto") || !strcmp(where, "on") ||
	    !strcmp(where, "off"))
		return;
	why = gt_spool_refusal(where);
	if (why)
		gt_say("there is no spool: '%s' %s; the last records of a killed process are lost",
		       where, why);
}

static const char *getenv_of(const char *name)
{
	return getenv(name);
}

static int plan_folder(struct gt_plan *plan)
{
	const char *given = gt_config_text(&plan->config, GT_CONFIG_OUTPUT);
	char variable[128];
	int error;

	if (gt_pattern_unset(given, getenv_of, variable, sizeof(variable))) {
		gt_show_line(stderr,
			     "gputrace: --output=%s: the environment variable %s is not set", given,
			     variable);
		return -EINVAL;
	}
	error = gt_folder_find(given, &plan->folder);
	if (error)
		gt_show_line(stderr, "gputrace: the name of the output folder is too long");
	if (!error)
		error = gt_pattern_escape(plan->folder.path, plan->output, sizeof(plan->output));
	if (error)
		return error;
	error = plan->writes_nothing ? 0 : gt_folder_make(&plan->folder);
	if (error)
		gt_say("cannot write into '%s': %s; the program runs all the same",
		       plan->folder.path,
		       error == -ELOOP ? "its path has a symbolic link of another user"
				       : strerror(-error));
	return 0;
}

/* Each trace of the run holds the name. */
static void choose_name(struct gt_plan *plan)
{
	char id[40];
	size_t n = gt_descriptor_read_file("/proc/sys/kernel/random/uuid", id, sizeof(id) - 1);

	id[n] = 0;
	id[strcspn(id, "\n")] = 0;
	if (!*id)
		snprintf(id, sizeof(id), "%d-%lld", (int)getpid(), (long long)time(NULL));
	snprintf(plan->name, sizeof(plan->name), "gputrace-run-%s", id);
}

/* A run inside another has both names. A library that cannot compress would say so. */
static void set_variables(const struct gt_plan *plan)
{
	const char *outer = gt_identity_env("GPUTRACE_RUN");
	char *names;

	setenv(gt_options[GT_CONFIG_OUTPUT].env, plan->output, 1);
	if (!gt_deflate_is_there())
		unsetenv(gt_options[GT_CONFIG_COMPRESS].env);
	unsetenv(gt_options[GT_CONFIG_SYMBOLIZE].env);
	if (asprintf(&names, "%s%s%s", plan->name, outer ? " " : "", outer ? outer : "") < 0)
		return;
	setenv("GPUTRACE_RUN", names, 1);
	free(names);
}

int gt_plan_make(const struct gt_run_parts *parts, const char *command, struct gt_plan *ret_plan)
{
	struct gt_plan *plan = ret_plan;
	int error;

	read_options(plan);
	choose_voice(plan);
	check_spool(plan);
	error = plan_folder(plan);
	if (error)
		return error;
	gt_target_inspect(command, &plan->target);
	gt_environment_plan(parts, &plan->config, &plan->target, &plan->environment);
	choose_name(plan);
	set_variables(plan);
	return 0;
}
