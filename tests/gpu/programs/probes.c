/* SPDX-License-Identifier: Apache-2.0
 *
 * `probes --list` names the probes with what each claims; `probes NAME` tries one in this process
 * and exits with 0 (holds), 1 (does not hold) or 77 (cannot be tried here). What was seen goes to
 * stdout.
 */
#include "probes.h"

#include <execinfo.h>
#include <signal.h>
#include <stdarg.h>

bool probe_seen(bool holds, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	return holds;
}

const char *probe_inject(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);

	path[n > 0 ? n : 0] = 0;
	strcpy(strrchr(path, '/') ? strrchr(path, '/') : path, "/libprobe-injection.so");
	setenv("CUDA_INJECTION64_PATH", path, 1);
	return path;
}

const CUpti_ActivityKernel9 *probe_one_kernel(void)
{
	rig_start();
	rig_launch();
	rig_flush(0);
	return rig_find(KERNEL, 0);
}

/* Two that misbehave, to try gpu-check itself; not listed, as run-out. */
static bool hang(void)
{
	while (pause() < 0)
		continue;
	return false;
}

static bool crash(void)
{
	raise(SIGSEGV);
	return false;
}

static const struct {
	const char *name, *claim;
	bool (*try)(void);
} probes[] = {
#define PROBE(function, name, claim) {name, claim, probe_##function},
#include "probes.def"
#undef PROBE
	{"run-out", NULL, probe_run_out},
	{"graph-steps", NULL, probe_graph_steps},
	{"hang-on-purpose", NULL, hang},
	{"crash-on-purpose", NULL, crash},
};

/* Where it crashed, for the report. */
static void tell_where(int number)
{
	void *frames[32];

	backtrace_symbols_fd(frames, backtrace(frames, 32), STDERR_FILENO);
	signal(number, SIG_DFL);
	raise(number);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "--list";

	signal(SIGSEGV, tell_where);

	setvbuf(stdout, NULL, _IOLBF, 0); /* a crash must not take along what was seen before */
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		if (!strcmp(name, "--list") && probes[i].claim)
			printf("%s\t%s\n", probes[i].name, probes[i].claim);
		else if (!strcmp(name, probes[i].name))
			return probes[i].try() ? 0 : 1;
	}
	return strcmp(name, "--list") ? 2 : 0;
}
