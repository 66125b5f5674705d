/* SPDX-License-Identifier: Apache-2.0
 *
 * The child speaks in lines "key value" on stdout; the parent fills struct gt_trial from them and
 * from the one trace file in a private folder.
 */
#include "cli/run/trial.h"

#include <cuda.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "readers/chrome/reader.h"

#define TRIAL_BYTES 4096

/* ---- the child ---- */

static void *driver;

/* A driver function by name; the declarations of cuda.h only lend their types. */
#define CALL(name, versioned, ...)                                                                 \
	({                                                                                         \
		__typeof__(&name) call_ = NULL;                                                    \
		*(void **)&call_ = dlsym(driver, versioned);                                       \
		say_failure(versioned, call_ ? (int)call_(__VA_ARGS__) : -1);                      \
	})

/* True when a call failed, and then has said so. */
static bool say_failure(const char *step, int error)
{
	if (error)
		printf("step %s\nerror %d\n", step, error);
	return error != 0;
}

static int use_device(CUdevice device)
{
	CUdeviceptr memory = 0;
	CUcontext context;

	if (CALL(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", &context, device) ||
	    CALL(cuCtxSetCurrent, "cuCtxSetCurrent", context) ||
	    CALL(cuMemAlloc, "cuMemAlloc_v2", &memory, TRIAL_BYTES) ||
	    CALL(cuMemsetD8, "cuMemsetD8_v2", memory, 0, TRIAL_BYTES) ||
	    CALL(cuCtxSynchronize, "cuCtxSynchronize") || CALL(cuMemFree, "cuMemFree_v2", memory) ||
	    CALL(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", device))
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}

int gt_trial_child(void)
{
	int version = 0, devices = 0;
	char name[128] = "";
	CUdevice device;

	driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	if (!driver) {
		printf("step dlopen\nerror -1\ndetail %s\n", dlerror());
		return EXIT_FAILURE;
	}
	if (!CALL(cuDriverGetVersion, "cuDriverGetVersion", &version))
		printf("driver %d\n", version);
	if (CALL(cuInit, "cuInit", 0) || CALL(cuDeviceGetCount, "cuDeviceGetCount", &devices))
		return EXIT_FAILURE;
	printf("devices %d\n", devices);
	if (CALL(cuDeviceGet, "cuDeviceGet", &device, 0) ||
	    CALL(cuDeviceGetName, "cuDeviceGetName", name, (int)sizeof(name), device))
		return EXIT_FAILURE;
	printf("device %s\n", name);
	fflush(stdout);
	return use_device(device);
}

/* ---- the parent ---- */

static void take_line(char *line, struct gt_trial *trial)
{
	char *value = strchr(line, ' ');

	line[strcspn(line, "\n")] = 0;
	if (!value)
		return;
	*value++ = 0;
	if (!strcmp(line, "step"))
		snprintf(trial->step, sizeof(trial->step), "%s", value);
	else if (!strcmp(line, "error"))
		trial->error = atoi(value);
	else if (!strcmp(line, "detail"))
		snprintf(trial->detail, sizeof(trial->detail), "%s", value);
	else if (!strcmp(line, "driver"))
		trial->driver = atoi(value);
	else if (!strcmp(line, "devices"))
		trial->devices = atoi(value);
	else if (!strcmp(line, "device"))
		snprintf(trial->device, sizeof(trial->device), "%s", value);
}

static _Noreturn void become_child(const char *self, const char *library, const char *folder,
				   int output)
{
	int null = open("/dev/null", O_WRONLY);

	dup2(output, STDOUT_FILENO);
	if (null >= 0)
		dup2(null, STDERR_FILENO);
	setenv("LD_PRELOAD", library, 1);
	setenv("CUDA_INJECTION64_PATH", library, 1);
	setenv("GPUTRACE_OUTPUT", folder, 1);
	setenv("GPUTRACE_FORMAT", "chrome", 1);
	execl(self, self, "doctor", "--trial", (char *)NULL);
	_exit(127);
}

static int run_child(const char *self, const char *library, const char *folder,
		     struct gt_trial *trial)
{
	char line[512];
	int fds[2], status;
	FILE *lines;
	pid_t child;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	fflush(NULL);
	child = fork();
	if (child == 0)
		become_child(self, library, folder, fds[1]);
	close(fds[1]);
	lines = fdopen(fds[0], "r");
	while (lines && fgets(line, sizeof(line), lines))
		take_line(line, trial);
	if (lines)
		fclose(lines);
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -errno;
	if (WIFSIGNALED(status)) {
		snprintf(trial->step, sizeof(trial->step), "the process");
		snprintf(trial->detail, sizeof(trial->detail), "%s", strsignal(WTERMSIG(status)));
		trial->error = -1;
	}
	return 0;
}

static int count_operation(const struct gt_trace_event *record, const struct gt_header *header,
			   void *data)
{
	struct gt_trial *trial = data;

	if (record->ph == 'X' && gt_span_is(&record->cat, "gpu_memset", 10))
		trial->operations++;
	return 0;
}

static void take_trace(const char *path, struct gt_trial *trial)
{
	struct gt_reading reading;

	if (gt_reader_read(path, count_operation, trial, &reading) == 0) {
		const struct gt_header *header = &reading.header;
		const char *version = gt_header_find(header, "cupti_version");

		trial->has_trace = true;
		trial->cupti_version = version ? atoll(version) : 0;
		gt_header_text(header, "metadata", "mode", trial->mode, sizeof(trial->mode));
		gt_header_text(header, "metadata", "mode_reason", trial->mode_reason,
			       sizeof(trial->mode_reason));
		gt_header_text(header, "metadata", "unwinder", trial->unwinder,
			       sizeof(trial->unwinder));
		gt_header_text(header, "metadata", "cupti_path", trial->cupti_path,
			       sizeof(trial->cupti_path));
	}
	gt_reading_fini(&reading);
}

/* Reads every trace in the folder (there is one at most) and empties it. */
static void take_folder(const char *folder, struct gt_trial *trial)
{
	DIR *entries = opendir(folder);
	char path[PATH_MAX + 300];
	struct dirent *entry;

	while (entries && (entry = readdir(entries))) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (entry->d_name[0] != '.')
			take_trace(path, trial);
		unlink(path); /* the claim of the rank too; fails for "." and ".." */
	}
	if (entries)
		closedir(entries);
}

int gt_trial_run(const char *self, const char *library, struct gt_trial *ret_trial)
{
	const char *temporary = getenv("TMPDIR");
	char folder[PATH_MAX];
	int error;

	memset(ret_trial, 0, sizeof(*ret_trial));
	snprintf(folder, sizeof(folder), "%s/gputrace-doctor-XXXXXX",
		 temporary && *temporary ? temporary : "/tmp");
	if (!mkdtemp(folder))
		return -errno;
	error = run_child(self, library, folder, ret_trial);
	if (!error)
		take_folder(folder, ret_trial);
	rmdir(folder);
	return error;
}
