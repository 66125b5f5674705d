/* SPDX-License-Identifier: Apache-2.0
 *
 * /proc/self, see the header.
 */
#include "bench/process.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

/* The first line of a thread's file in /proc, "" when the thread is gone. */
static void read_line(const char *tid, const char *file, char *ret_line, int size)
{
	char path[300];
	FILE *in;

	*ret_line = 0;
	snprintf(path, sizeof(path), "/proc/self/task/%s/%s", tid, file);
	in = fopen(path, "re");
	if (!in)
		return;
	if (!fgets(ret_line, size, in))
		*ret_line = 0;
	fclose(in);
	ret_line[strcspn(ret_line, "\n")] = 0;
}

double gt_bench_thread_cpu(const char *name)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	char line[128];
	double sum = 0, ns;

	while (tasks && (entry = readdir(tasks))) {
		read_line(entry->d_name, "comm", line, sizeof(line));
		if (strcmp(line, name) != 0)
			continue;
		read_line(entry->d_name, "schedstat", line, sizeof(line));
		if (sscanf(line, "%lf", &ns) == 1)
			sum += ns;
	}
	if (tasks)
		closedir(tasks);
	return sum;
}

/* getrusage would include the program before exec. */
long gt_bench_peak_rss(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[128];
	long kib = 0;

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	if (status)
		fclose(status);
	return kib;
}
