/* SPDX-License-Identifier: Apache-2.0
 *
 * doctor: what would work here, each line with its remedy. Looks at files and variables, then lets
 * the tracer into a small process that uses the GPU and reads what came of it (cli/run/trial.h).
 * Exit 1 when something stands in the way of a trace.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/run/trial.h"
#include "cli/settings.h"
#include "cli/terminal.h"
#include "core/budget.h"
#include "core/pattern.h"
#include "core/run_name.h"
#include "readers/shell_word.h"
#include "readers/show.h"
#include "readers/wrap.h"
#include "recover/spools.h"

enum verdict {
	GOOD,
	NOTE, /* works, but worth knowing */
	BAD,  /* no trace, or a poor one */
};

struct doctor {
	char self[PATH_MAX];
	const char *library;
	int bad;
};

static void say(struct doctor *doctor, enum verdict verdict, const char *subject,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

static void say(struct doctor *doctor, enum verdict verdict, const char *subject,
		const char *format, ...)
{
	static const char *const words[] = {[GOOD] = "ok  ", [NOTE] = "note", [BAD] = "BAD "};
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length >= 0) {
		gt_wrap_line(stdout, gt_terminal_columns(), 16, "%s  %-9s %s", words[verdict],
			     subject, text);
		free(text);
	}
	doctor->bad += verdict == BAD;
}

static void remedy(const char *text)
{
	gt_wrap_line(stdout, gt_terminal_columns(), 19, "                -> %s", text);
}

static void check_library(struct doctor *doctor)
{
	void *handle = dlopen(doctor->library, RTLD_NOW | RTLD_LOCAL);

	if (handle) {
		say(doctor, GOOD, "tracer", "%s", doctor->library);
		return;
	}
	say(doctor, BAD, "tracer", "%s", dlerror());
	remedy("build it (ninja -C build) or install it for this processor and C library");
}

/* ---- driver and CUPTI ---- */

static void check_device_files(struct doctor *doctor)
{
	if (access("/dev/nvidiactl", F_OK) < 0) {
		remedy("no /dev/nvidiactl: no NVIDIA kernel driver, or a container that was not "
		       "given "
		       "the GPU (docker run --gpus all)");
		return;
	}
	if (access("/dev/nvidiactl", R_OK | W_OK) < 0 || access("/dev/nvidia0", R_OK | W_OK) < 0)
		remedy("/dev/nvidia* are not accessible for this user: join the group that owns "
		       "them");
	else
		remedy("run `nvidia-smi` for details");
}

static void check_driver(struct doctor *doctor, const struct gt_trial *trial)
{
	if (trial->step[0] && !strcmp(trial->step, "dlopen")) {
		say(doctor, BAD, "driver", "%s", trial->detail);
		remedy("install the NVIDIA driver, or run on the simulated device: "
		       "scripts/simcuda");
		check_device_files(doctor);
		return;
	}
	if (trial->step[0]) {
		say(doctor, BAD, "driver", "%s failed with %d %s", trial->step, trial->error,
		    trial->detail);
		check_device_files(doctor);
		return;
	}
	say(doctor, GOOD, "driver", "CUDA %d.%d, %d device%s, the first: %s", trial->driver / 1000,
	    trial->driver % 1000 / 10, trial->devices, gt_plural(trial->devices), trial->device);
}

/* Without a driver there is no trial: tells what lies where the tracer looks. */
static void list_cupti(struct doctor *doctor)
{
	static const char *const folders[] = {"/usr/local/cuda/extras/CUPTI/lib64",
					      "/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu",
					      "/usr/lib/aarch64-linux-gnu"};
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
	int found = 0;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++) {
			char path[PATH_MAX];

			snprintf(path, sizeof(path), "%s/%s", folders[i], names[j]);
			if (access(path, R_OK) < 0)
				continue;
			say(doctor, NOTE, "CUPTI", "%s lies here; untried without a driver", path);
			found++;
		}
	}
	if (!found) {
		say(doctor, NOTE, "CUPTI", "none in the usual folders");
		remedy("install cuda-cupti of the program's CUDA version, or the wheel "
		       "nvidia-cuda-cupti");
	}
}

static void explain_refusal(const char *reason)
{
	if (strstr(reason, "failed with 39:") || strstr(reason, "MULTIPLE_SUBSCRIBERS"))
		remedy("another tool owns CUPTI (nsys, ncu, torch.profiler, DCGM profiling): end "
		       "it");
	else if (strstr(reason, "failed with 35:") || strstr(reason, "PRIVILEGES"))
		remedy("the driver lets only administrators trace: "
		       "https://developer.nvidia.com/ERR_NVGPUCTRPERM");
	else
		remedy("install cuda-cupti of the driver's CUDA version, or name one: "
		       "--cupti=FILE");
}

static void check_cupti(struct doctor *doctor, const struct gt_trial *trial)
{
	if (trial->step[0]) {
		list_cupti(doctor);
		return;
	}
	if (!trial->has_trace) {
		say(doctor, BAD, "CUPTI", "a process that used the GPU left no trace");
		remedy("try: gputrace run --verbose CMD");
		return;
	}
	if (!trial->cupti_version) {
		say(doctor, BAD, "CUPTI", "not in use (%s): %s", trial->mode, trial->mode_reason);
		explain_refusal(trial->mode_reason);
		return;
	}
	say(doctor, GOOD, "CUPTI", "%s, API version %lld", trial->cupti_path,
	    (long long)trial->cupti_version);
	if (trial->operations == 1)
		say(doctor, GOOD, "trace", "a memset on the GPU arrived in a trace");
	else
		say(doctor, BAD, "trace", "%lld records came of one memset on the GPU",
		    (long long)trial->operations);
}

static void check_unwinder(struct doctor *doctor, const struct gt_trial *trial)
{
	if (trial->unwinder[0])
		say(doctor, GOOD, "unwinder", "%s", trial->unwinder);
}

/* ---- what lies around ---- */

static const struct {
	const char *name;
	const char *meaning;
} foreign_variables[] = {
	{"CUDA_INJECTION64_PATH",
	 "another tool may own the way in; --force-injection takes it over"},
	{"NVTX_INJECTION64_PATH", "NVTX ranges go to that tool"},
	{"LD_PRELOAD", "stays in front; the tracer is appended"},
	{"LD_AUDIT", "the loader asks that library first"},
	{"NSYS_PROFILING_SESSION_ID", "Nsight Systems is profiling this session and owns CUPTI"},
	{"NV_NSIGHT_INJECTION_TRANSPORT_TYPE", "Nsight Compute is profiling this session"},
	{"KINETO_USE_DAEMON", "PyTorch's profiler may be started from outside and take CUPTI"},
	{"CUDA_MPS_PIPE_DIRECTORY", "MPS: cooperative kernels and tracing can hang before CUDA 13"},
};

static void check_environment(struct doctor *doctor)
{
	int found = 0;

	for (size_t i = 0; i < sizeof(foreign_variables) / sizeof(foreign_variables[0]); i++) {
		const char *value = getenv(foreign_variables[i].name);

		if (!value || !*value || !strcmp(value, "none"))
			continue;
		say(doctor, NOTE, "variable", "%s=%s: %s", foreign_variables[i].name, value,
		    foreign_variables[i].meaning);
		found++;
	}
	if (!found)
		say(doctor, GOOD, "variable", "none of another tool");
}

/* gputrace.ini: what it sets, and what is wrong in it. */
static void see_setting(const struct gt_setting *setting, void *context)
{
	if (!setting->is_wrong)
		say(context, GOOD, "settings", "%s: %s", setting->path, setting->text);
	else if (setting->line)
		say(context, BAD, "settings", "%s:%d: %s", setting->path, setting->line,
		    setting->text);
	else
		say(context, BAD, "settings", "%s: %s", setting->path, setting->text);
}

/* "RmProfilingAdminOnly: 1" among the driver's parameters concerns hardware counters only. */
static void check_permissions(struct doctor *doctor)
{
	FILE *parameters = fopen("/proc/driver/nvidia/params", "r");
	char line[256];

	while (parameters && fgets(line, sizeof(line), parameters)) {
		if (!strncmp(line, "RmProfilingAdminOnly: 1", 23))
			say(doctor, NOTE, "rights",
			    "hardware counters are for administrators; "
			    "tracing does not need them");
	}
	if (parameters)
		fclose(parameters);
}

static const char *lookup(const char *name)
{
	return getenv(name);
}

/* The folder that a trace would go to, or the nearest one above it that exists. */
static void check_output(struct doctor *doctor)
{
	const char *wanted = getenv("GPUTRACE_OUTPUT");
	char folder[PATH_MAX];
	struct statvfs space;
	double gigabytes;
	char *slash;

	gt_pattern_expand(wanted && *wanted ? wanted : GT_RUN_PARENT, lookup, folder,
			  sizeof(folder));
	while (access(folder, F_OK) < 0 && (slash = strrchr(folder, '/')) && slash != folder)
		*slash = 0;
	if (access(folder, F_OK) < 0)
		snprintf(folder, sizeof(folder), folder[0] == '/' ? "/" : ".");
	if (access(folder, W_OK) < 0 || statvfs(folder, &space) < 0) {
		say(doctor, BAD, "output", "'%s' cannot be written: %s", folder, strerror(errno));
		remedy("name another folder: --output=DIR");
		return;
	}
	gigabytes = (double)space.f_bavail * (double)space.f_frsize / 1e9;
	say(doctor, gigabytes < 1 ? NOTE : GOOD, "output", "'%s' can be written, %.1f GB free",
	    folder, gigabytes);
}

/* The limit of a container, which the tracer shares with the program. */
static void check_memory(struct doctor *doctor)
{
	struct gt_cgroup_limit cgroup;
	struct gt_config config;
	struct gt_budget budget;
	char text[512];
	bool enough;

	gt_config_init(&config);
	gt_config_from_env(&config, environ, NULL);
	gt_cgroup_find("", &cgroup);
	enough = gt_budget_fit(&config, &cgroup, &budget);
	gt_budget_describe(&budget, &config, text, sizeof(text));
	if (!cgroup.bytes)
		say(doctor, GOOD, "memory",
		    "no limit of a cgroup; the tracer takes at most %lld MiB",
		    (long long)(gt_config_number(&config, GT_CONFIG_MAX_RSS) >> 20));
	else if (!enough)
		say(doctor, BAD, "memory", "limit of %llu KiB in %s: too small to trace",
		    (unsigned long long)(cgroup.bytes >> 10), cgroup.file);
	else
		say(doctor, budget.limits_memory ? NOTE : GOOD, "memory", "limit of %s", text);
	if (!enough)
		remedy("give the container more memory");
	else if (budget.limits_memory)
		remedy("under load more is dropped, and counted, than without a limit");
}

/* What killed processes left on tmpfs takes memory until somebody takes it up. */
static void see_spool(const struct gt_left_spool *spool, void *context)
{
	bool was_removed = *spool->trace && access(spool->trace, F_OK);
	const char *path = *spool->trace ? spool->trace : spool->folder;
	char *word;

	if (spool->running)
		return;
	say(context, NOTE, "spool", "%s: %.1f MB of process %d, which was killed", spool->path,
	    (double)spool->bytes / 1e6, spool->pid);
	path = was_removed ? spool->path : path;
	word = gt_shell_word(path);
	gt_show_line(stdout, "                -> %s %s",
		     was_removed ? "its trace was removed: rm" : "gputrace repair",
		     word ? word : path);
	free(word);
}

static int examine(struct doctor *doctor)
{
	struct gt_trial trial;
	int error;

	check_environment(doctor); /* before the tracer is loaded, which sets some itself */
	gt_settings_each(see_setting, doctor);
	check_library(doctor);
	error = gt_trial_run(doctor->self, doctor->library, &trial);
	if (error) {
		say(doctor, BAD, "trial", "no process could be run: %s", strerror(-error));
		return GT_EXIT_FAILED;
	}
	check_driver(doctor, &trial);
	check_cupti(doctor, &trial);
	check_unwinder(doctor, &trial);
	check_permissions(doctor);
	check_output(doctor);
	check_memory(doctor);
	gt_spools_each(NULL, see_spool, doctor);
	printf(doctor->bad ? "\n%d thing%s in the way of a trace.\n" : "\nAll is well.\n",
	       doctor->bad, gt_plural(doctor->bad));
	return doctor->bad ? GT_EXIT_FAILED : GT_EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct doctor doctor = {0};
	ssize_t length = readlink("/proc/self/exe", doctor.self, sizeof(doctor.self) - 1);

	if (argc == 2 && !strcmp(argv[1], "--trial"))
		return gt_trial_child();
	if (argc == 2 && !strncmp(argv[1], "--library=", 10))
		doctor.library = argv[1] + 10;
	if (argc > 1 && !strcmp(argv[argc - 1], "--help")) {
		gt_help_wrap("usage: gputrace doctor\n\nChecks what works on this machine and "
			     "suggests remedies for what does not. The exit status is 1 if tracing "
			     "is not possible.",
			     0, stdout);
		return GT_EXIT_OK;
	}
	if (!doctor.library || length < 0) {
		fprintf(stderr, "usage: gputrace doctor\n");
		return GT_EXIT_USAGE;
	}
	return examine(&doctor);
}

const struct gt_command gt_command_doctor = {
	.name = "doctor",
	.arguments = "",
	.help = "check what works on this machine: driver, CUPTI, unwinder, output; with "
		"remedies",
	.run = run,
};
