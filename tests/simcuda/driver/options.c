/* SPDX-License-Identifier: Apache-2.0
 *
 * What the environment asks of the device. Read once, inside cuInit, on the thread that calls it;
 * read-only afterwards. README.md lists the variables.
 */
#include "driver/driver.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_options sim_options;

/* One line of SIMCUDA_SCRIPT: how long the kernels take whose name matches. */
struct rule {
	char glob[256];
	uint64_t ns;
	uint32_t registers;
	uint32_t static_shared;
	uint32_t local;
	_Atomic bool was_taken;
};

static struct rule *rules;
static size_t rule_count;
static _Atomic bool has_kernels;

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static void parse_rule(char *line)
{
	struct rule rule = {.registers = 32};
	char *rest = NULL;
	char *word = strtok_r(line, " \t\n", &rest);

	if (!word || *word == '#')
		return;
	snprintf(rule.glob, sizeof(rule.glob), "%s", word);
	while ((word = strtok_r(NULL, " \t\n", &rest))) {
		if (!strncmp(word, "ns=", 3))
			rule.ns = strtoull(word + 3, NULL, 0);
		else if (!strncmp(word, "registers=", 10))
			rule.registers = (uint32_t)strtoul(word + 10, NULL, 0);
		else if (!strncmp(word, "shared=", 7))
			rule.static_shared = (uint32_t)strtoul(word + 7, NULL, 0);
		else if (!strncmp(word, "local=", 6))
			rule.local = (uint32_t)strtoul(word + 6, NULL, 0);
		else
			fprintf(stderr, "simcuda: SIMCUDA_SCRIPT: unknown word '%s'\n", word);
	}
	rules = realloc(rules, (rule_count + 1) * sizeof(*rules));
	rules[rule_count++] = rule;
}

static void read_script(const char *path)
{
	char line[1024];
	FILE *file = path && *path ? fopen(path, "re") : NULL;

	if (path && *path && !file)
		fprintf(stderr, "simcuda: cannot read SIMCUDA_SCRIPT=%s\n", path);
	while (file && fgets(line, sizeof(line), file))
		parse_rule(line);
	if (file)
		fclose(file);
}

/* Those that happen in cuInit, a launch or a wait; the other faults are CUPTI's (cupti/init.c). */
static void read_faults(const char *text)
{
	const char *die = text ? strstr(text, "die:") : NULL;
	const char *equals = die ? strchr(die, '=') : NULL;
	const char *linger = text ? strstr(text, "linger=") : NULL;
	const char *sync = text ? strstr(text, "slow_sync=") : NULL;
	const char *init = text ? strstr(text, "slow_init=") : NULL;

	sim_options.die_how = equals ? die[4] : 0;
	sim_options.die_after = equals ? strtoull(equals + 1, NULL, 0) : 0;
	sim_options.slow_sync_ns = sync ? strtoull(strchr(sync, '=') + 1, NULL, 0) : 0;
	sim_options.slow_init_ns = init ? strtoull(strchr(init, '=') + 1, NULL, 0) : 0;
	sim_options.linger_in = linger ? strtoull(strchr(linger, '=') + 1, NULL, 0) : 0;
}

void sim_options_read(void)
{
	const char *time = getenv("SIMCUDA_TIME");

	sim_options.devices = (int)number("SIMCUDA_DEVICES", 1);
	sim_options.facts = sim_device_model(getenv("SIMCUDA_DEVICE"));
	sim_options.virtual_time = time && !strcmp(time, "virtual");
	sim_options.kernel_ns = number("SIMCUDA_KERNEL_NS", 0);
	sim_options.latency_ns = number("SIMCUDA_LATENCY_NS", 2000);
	sim_options.host_ns = number("SIMCUDA_HOST_NS", 1000);
	sim_options.up_gbs = number("SIMCUDA_HTOD_GBS", 25);
	sim_options.down_gbs = number("SIMCUDA_DTOH_GBS", 25);
	sim_options.pageable_gbs = number("SIMCUDA_PAGEABLE_GBS", 8);
	sim_options.device_gbs = number("SIMCUDA_DTOD_GBS", 2000);
	sim_options.queue_depth_ns = number("SIMCUDA_QUEUE_NS", 0);
	read_script(getenv("SIMCUDA_SCRIPT"));
	read_faults(getenv("SIMCUDA_FAULT"));
}

/* "_ZN3app5scaleEPfi" as "app::scale"; other names as they are. */
static void write_plain(const char *name, char *out, size_t size)
{
	const char *text = name + 2 + (name[0] && name[1] && name[2] == 'N');
	size_t n = 0;

	snprintf(out, size, "%s", name);
	if (strncmp(name, "_Z", 2) || *text < '1' || *text > '9')
		return;
	while (*text >= '1' && *text <= '9') {
		char *word;
		size_t length = strtoul(text, &word, 10);

		if (length > strlen(word) || n + length + 3 > size)
			break;
		n += (size_t)snprintf(out + n, size - n, "%s%.*s", n ? "::" : "", (int)length,
				      word);
		text = word + length;
	}
}

/* The name that the compiler made, the one in the source, or that without its namespaces. */
static int is_called(const char *glob, const char *name)
{
	char plain[1024], *last;

	write_plain(name, plain, sizeof(plain));
	last = strrchr(plain, ':');
	return !fnmatch(glob, name, 0) || !fnmatch(glob, plain, 0) ||
	       (last && !fnmatch(glob, last + 1, 0));
}

void sim_kernel_facts_of(struct CUfunc_st *function)
{
	function->registers = 32;
	has_kernels = true;
	for (size_t i = 0; i < rule_count; i++) {
		if (!is_called(rules[i].glob, function->name))
			continue;
		rules[i].was_taken = true;
		function->fixed_ns = rules[i].ns;
		function->registers = rules[i].registers;
		function->static_shared = rules[i].static_shared;
		function->local_per_thread = rules[i].local;
		return;
	}
}

void sim_options_report_unused(void)
{
	for (size_t i = 0; has_kernels && i < rule_count; i++)
		if (!rules[i].was_taken)
			fprintf(stderr,
				"simcuda: SIMCUDA_SCRIPT: '%s' is the first match of no kernel\n",
				rules[i].glob);
}
