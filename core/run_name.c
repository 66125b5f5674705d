/* SPDX-License-Identifier: Apache-2.0
 *
 * See run_name.h. A mark is "GROUP:NAME" and is valid in that process group only: the jobs of a
 * traced interactive shell inherit its mark, but each is a run of its own.
 */
#include "core/run_name.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/guest/descriptor.h"
#include "core/guest/sys.h"
#include "core/guest/text.h"
#include "core/identity.h"

#define MOST_BYTES 64 /* of a job's name */

/* Those of a launch before those of a batch job, which may have several. */
static const char *const job_variables[] = {"OMPI_MCA_ess_base_jobid",
					    "PMIX_NAMESPACE",
					    "TORCHELASTIC_RUN_ID",
					    "PALS_APID",
					    "FLUX_JOB_ID",
					    "PBS_JOBID",
					    "LSB_JOBID"};

/* Only what is harmless in a file name (REQ-87): the environment is not ours. */
static void make_harmless(char *name)
{
	for (char *p = name; *p; p++) {
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-",
			    *p))
			*p = '_';
	}
	if (*name == '.')
		*name = '_';
}

static const char *find_job(void)
{
	for (size_t i = 0; i < sizeof(job_variables) / sizeof(job_variables[0]); i++) {
		const char *value = gt_identity_env(job_variables[i]);

		if (value && strcmp(value, "none") != 0) /* torchrun's default id */
			return value;
	}
	return NULL;
}

bool gt_run_name_of_job(char *ret_name, size_t size)
{
	const char *job = gt_identity_env("SLURM_JOB_ID"), *step = gt_identity_env("SLURM_STEP_ID");

	size = size < MOST_BYTES + 1 ? size : MOST_BYTES + 1;
	if (job)
		gt_text_format(ret_name, size, "%s%s%s", job, step ? "." : "", step ? step : "");
	else if ((job = find_job()))
		gt_text_format(ret_name, size, "%s", job);
	else
		return false;
	make_harmless(ret_name);
	return true;
}

/* ---- the process group ---- */

/* What @does_fit is asked of each word of an environment, with @data. */
typedef bool run_name_test(const char *word, const char *data);

static bool is_any_rank(const char *word, const char *data)
{
	(void)data;
	return gt_identity_is_rank(word);
}

static bool is_variable(const char *word, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(word, name, length) && word[length] == '=';
}

/* Is there a word that fits in the file @name of process @pid? Its text comes in parts, and only
 * the beginning of each word is of interest. */
static bool has_word(int pid, const char *name, run_name_test *does_fit, const char *data)
{
	char path[64], text[4096];
	struct gt_descriptor file;
	bool found = false;
	size_t kept = 0;
	ssize_t n;

	gt_text_format(path, sizeof(path), "/proc/%d/%s", pid, name);
	if (gt_descriptor_open(&file, AT_FDCWD, path, O_RDONLY, 0))
		return false;
	while (!found && (n = read(file.fd, text + kept, sizeof(text) - 1 - kept)) > 0) {
		char *word = text, *end;

		text[kept += (size_t)n] = 0;
		for (; !found && (end = memchr(word, 0, (size_t)(text + kept - word)));
		     word = end + 1)
			found = does_fit(word, data);
		kept = (size_t)(text + kept - word);
		memmove(text, word, kept);
		if (kept == sizeof(text) - 1) { /* a long one: its rest is no name */
			found = does_fit(text, data);
			text[0] = '=';
			kept = 1;
		}
	}
	gt_descriptor_close(&file);
	return found;
}

int gt_run_name_group(void)
{
	int group = gt_sys_group(), parent;

	if (!gt_identity_has_peers() || gt_sys_session(group) != group ||
	    !has_word(group, "environ", is_any_rank, NULL))
		return group;
	parent = gt_sys_parent(group);
	return parent > 1 ? parent : group;
}

/* The name in the mark of a process of this group, or NULL. */
static const char *find_marked(void)
{
	const char *mark = gt_identity_env(GT_RUN_NAME_FIRST), *end;
	uint64_t group;

	if (!mark || gt_text_parse_u64(mark, &end, &group) || *end != ':' || !end[1] ||
	    group != (uint64_t)gt_sys_group())
		return NULL;
	return end + 1;
}

void gt_run_name_find(char *ret_name, size_t size)
{
	const char *marked;
	int group;

	if (!gt_identity_is_alone() && gt_run_name_of_job(ret_name, size))
		return;
	marked = gt_identity_has_peers() ? NULL : find_marked();
	if (marked) {
		gt_text_format(ret_name, size, "%s", marked);
		make_harmless(ret_name);
		return;
	}
	group = gt_run_name_group();
	gt_text_format(ret_name, size, "%d-%lu", group, (unsigned long)gt_sys_start_ticks(group));
}

/* Clock ticks since boot, the unit of start times in /proc. */
static uint64_t ticks_of_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 100 + (uint64_t)now.tv_nsec / 10000000;
}

bool gt_run_name_mark(char *ret_mark, size_t size)
{
	if (gt_identity_has_peers() || find_marked())
		return false;
	gt_text_format(ret_mark, size, "%d:%d-%lu", gt_sys_group(), (int)getpid(),
		       (unsigned long)ticks_of_now());
	return true;
}

/* ---- the launch ---- */

#define MOST_ABOVE 32 /* processes between a rank and what started it */

/* The nearest process above that has not got the rank's variable: it gave the rank. 0: none is
 * seen; the first process of a container or a machine starts anything. */
static int find_launcher(void)
{
	const char *name = gt_identity_rank_name();
	int pid = gt_sys_parent((int)getpid());

	for (int i = 0; name && i < MOST_ABOVE && pid > 1; i++) {
		if (!has_word(pid, "environ", is_variable, name))
			return pid;
		pid = gt_sys_parent(pid);
	}
	return 0;
}

/* Hydra's proxy has the port of mpiexec on its command line, the same on all hosts. */
static bool find_port(int pid, char *ret_text, size_t size)
{
	char path[64], words[512], *word = words, *end;
	size_t n;

	gt_text_format(path, sizeof(path), "/proc/%d/cmdline", pid);
	n = gt_descriptor_read_file(path, words, sizeof(words) - 1);
	words[n] = 0;
	for (; (end = memchr(word, 0, (size_t)(words + n - word))); word = end + 1)
		if (!strcmp(word, "--control-port") && end[1]) {
			gt_text_format(ret_text, size, "hydra %s", end + 1);
			return true;
		}
	return false;
}

static void put_launcher(int pid, char *ret_text, size_t size)
{
	char path[64], name[32];
	size_t n;

	gt_text_format(path, sizeof(path), "/proc/%d/comm", pid);
	n = gt_descriptor_read_file(path, name, sizeof(name) - 1);
	name[n] = 0;
	name[strcspn(name, "\n")] = 0;
	make_harmless(name);
	gt_text_format(ret_text, size, "%s %d-%lu", name, pid,
		       (unsigned long)gt_sys_start_ticks(pid));
}

void gt_run_name_launch(struct gt_metadata *metadata)
{
	int launcher = gt_identity_has_peers() ? find_launcher() : 0;
	const char *port = gt_identity_env("MASTER_PORT"), *end;
	const char *starts = gt_identity_env("TORCHELASTIC_RESTART_COUNT");
	uint64_t number;

	if (launcher)
		put_launcher(launcher, metadata->launcher, sizeof(metadata->launcher));
	if (launcher && find_port(launcher, metadata->launch, sizeof(metadata->launch)))
		return;
	if (!gt_identity_env("RANK"))
		return;
	if (port && !gt_text_parse_u64(port, &end, &number) && !*end)
		gt_text_format(metadata->launch, sizeof(metadata->launch), "torch %s", port);
	if (starts && !gt_text_parse_u64(starts, &end, &number) && !*end && number < INT32_MAX)
		metadata->starts = (uint32_t)number + 1;
}
