/* SPDX-License-Identifier: Apache-2.0
 *
 * Options: every default is valid, values are parsed and refused as the table says.
 */
#include "core/config.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static struct gt_config config;
static int complaints;
static char complaint[256];

static void complain(const char *line)
{
	complaints++;
	strncpy(complaint, line, sizeof(complaint) - 1);
}

static void setup(void)
{
	gt_config_init(&config);
	complaints = 0;
}

TestSuite(config, .init = setup);

Test(config, every_default_is_a_value_of_its_option)
{
	for (int id = 0; id < GT_CONFIG_COUNT_; id++) {
		cr_assert_eq(gt_config_set(&config, (enum gt_option_id)id, gt_options[id].initial),
			     0, "--%s", gt_options[id].name);
		cr_assert(config.value[id].is_default);
	}
}

Test(config, names_and_variables_agree)
{
	for (int id = 0; id < GT_CONFIG_COUNT_; id++) {
		const char *env = gt_options[id].env + strlen("GPUTRACE_");

		cr_assert_eq(strlen(env), strlen(gt_options[id].name));
		for (size_t i = 0; env[i]; i++)
			cr_assert_eq(gt_options[id].name[i] == '-' ? '_'
								   : gt_options[id].name[i] & ~32,
				     env[i]);
	}
}

Test(config, sizes)
{
	static const struct {
		const char *text;
		int64_t bytes;
	} good[] = {{"4194304", 4 << 20},
		    {"4M", 4 << 20},
		    {"4MiB", 4 << 20},
		    {"2g", 2ll << 30},
		    {"64MB", 64 << 20}};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		cr_assert_eq(gt_config_set(&config, GT_CONFIG_MAX_SIZE, good[i].text), 0);
		cr_assert_eq(gt_config_number(&config, GT_CONFIG_MAX_SIZE), good[i].bytes);
	}
}

Test(config, a_wrong_value_leaves_the_old_one)
{
	static const struct {
		enum gt_option_id id;
		const char *text;
		int error;
	} bad[] = {
		{GT_CONFIG_MAX_SIZE, "", -EINVAL},
		{GT_CONFIG_MAX_SIZE, "4X", -EINVAL},
		{GT_CONFIG_MAX_SIZE, "-1", -EINVAL},
		{GT_CONFIG_MAX_SIZE, "1K", -ERANGE},
		{GT_CONFIG_MAX_SIZE, "99999999999999999999", -ERANGE},
		{GT_CONFIG_MAX_SIZE, "18446744073709551615G", -ERANGE},
		{GT_CONFIG_STACK_DEPTH, "0", -ERANGE},
		{GT_CONFIG_STACK_DEPTH, "64K", -EINVAL},
		{GT_CONFIG_STACKS, "some", -EINVAL},
		{GT_CONFIG_STACKS, "shor", -EINVAL},
		{GT_CONFIG_SYNC, "maybe", -EINVAL},
	};
	struct gt_config before = config;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(gt_config_set(&config, bad[i].id, bad[i].text), bad[i].error, "'%s'",
			     bad[i].text);
	cr_assert_eq(memcmp(&before, &config, sizeof(config)), 0);
}

Test(config, reads_the_environment_and_names_what_is_wrong)
{
	char path[] = "PATH=/bin", stacks[] = "GPUTRACE_STACKS=full",
	     depth[] = "GPUTRACE_STACK_DEPTH=9x", typo[] = "GPUTRACE_STAKCS=off",
	     own[] = "GPUTRACE_INSTANCE=1:2";
	char *const environment[] = {path, stacks, depth, typo, own, NULL};

	gt_config_from_env(&config, environment, complain);
	cr_assert_str_eq(gt_config_text(&config, GT_CONFIG_STACKS), "full");
	cr_assert_eq(gt_config_number(&config, GT_CONFIG_STACKS), 2);
	cr_assert_eq(gt_config_number(&config, GT_CONFIG_STACK_DEPTH), 64);
	cr_assert_eq(complaints, 2);
	cr_assert(strstr(complaint, "GPUTRACE_STAKCS"));
}

/* A level in the environment, before and after an option that it sets. */
Test(config, an_option_counts_more_than_the_level_wherever_it_stands)
{
	char level[] = "GPUTRACE_LEVEL=minimal", stacks[] = "GPUTRACE_STACKS=full";
	char *const orders[][3] = {{level, stacks, NULL}, {stacks, level, NULL}};

	for (int i = 0; i < 2; i++) {
		gt_config_init(&config);
		gt_config_from_env(&config, orders[i], complain);
		gt_config_from_env(&config, orders[i], complain); /* as a session does */
		cr_assert_str_eq(gt_config_text(&config, GT_CONFIG_STACKS), "full");
		cr_assert_str_eq(gt_config_text(&config, GT_CONFIG_DETAILS), "few");
		cr_assert_str_eq(gt_config_text(&config, GT_CONFIG_NVTX), "off");
		cr_assert_str_eq(gt_config_text(&config, GT_CONFIG_API), "default");
	}
	cr_assert_eq(complaints, 0);
}

Test(config, levels_are_made_of_values_that_their_options_take)
{
	static const char *const names[] = {"minimal", "full"};
	struct gt_config plain;

	for (int i = 0; i < 2; i++) {
		gt_config_init(&config);
		cr_assert_eq(gt_config_set_level(&config, names[i]), 0);
		for (int id = 0; id < GT_CONFIG_COUNT_; id++) {
			const char *text = gt_config_of_level(names[i], (enum gt_option_id)id);

			if (text)
				cr_assert_str_eq(gt_config_text(&config, (enum gt_option_id)id),
						 text);
		}
	}
	gt_config_init(&config);
	plain = config;
	cr_assert_eq(gt_config_set_level(&config, "default"), 0);
	cr_assert_str_eq(gt_config_text(&config, GT_CONFIG_STACKS),
			 gt_config_text(&plain, GT_CONFIG_STACKS));
	cr_assert_eq(gt_config_set_level(&config, "huge"), -EINVAL);
}

Test(config, a_wrong_level_is_told_once)
{
	char level[] = "GPUTRACE_LEVEL=huge";
	char *const environment[] = {level, NULL};

	gt_config_from_env(&config, environment, complain);
	cr_assert_eq(complaints, 1);
	cr_assert(strstr(complaint,
			 "no value for GPUTRACE_LEVEL: it takes one of minimal|default|full"),
		  "%s", complaint);
	cr_assert_str_eq(gt_config_text(&config, GT_CONFIG_LEVEL), "default");
}

Test(config, explains_what_an_option_takes)
{
	char line[256];

	gt_config_explain(GT_CONFIG_STACKS, "--stacks", "x", line, sizeof(line));
	cr_assert_str_eq(line, "'x' is no value for --stacks: it takes one of off|short|full");
	gt_config_explain(GT_CONFIG_LIBRARIES, "--libraries", "cublaslt", line, sizeof(line));
	cr_assert(strstr(line, "; cublas includes cuBLASLt"), "%s", line);
}

/* As a program does with its environment when it sets its title. */
Test(config, what_is_kept_does_not_change_with_the_environment)
{
	char folder[] = "GPUTRACE_OUTPUT=/somewhere", format[] = "GPUTRACE_FORMAT=perfetto";
	char *const environment[] = {folder, format, NULL};

	gt_config_from_env(&config, environment, complain);
	cr_assert_eq(gt_config_own_texts(&config), 0);
	memset(folder, 'x', sizeof(folder));
	memset(format, 'x', sizeof(format));
	cr_assert_str_eq(gt_config_text(&config, GT_CONFIG_OUTPUT), "/somewhere");
	cr_assert_str_eq(gt_config_text(&config, GT_CONFIG_FORMAT), "perfetto");
	cr_assert_str_eq(gt_config_text(&config, GT_CONFIG_STACKS), "short");
	cr_assert_str_eq(gt_config_text(&config, GT_CONFIG_STEP_RANGE), "");
}

Test(config, describes_what_differs)
{
	char text[128];

	cr_assert_eq(gt_config_describe(&config, text, sizeof(text)), 0);
	cr_assert_str_eq(text, "");
	gt_config_set(&config, GT_CONFIG_SYNC, "yes");
	gt_config_set(&config, GT_CONFIG_STACKS, "off");
	gt_config_describe(&config, text, sizeof(text));
	cr_assert_str_eq(text, "stacks=off sync=yes");
	gt_config_describe(&config, text, 5);
	cr_assert_str_eq(text, "stac");
}
