/* SPDX-License-Identifier: Apache-2.0
 *
 * Disturbs the tracer while it reads the files of modules.
 *
 *   modules close FOLDER PLUGIN...   loads each plugin and launches from it, while a thread keeps
 *                                    closing descriptors 3 to 1023 and opening its own files
 *   modules cut PLUGIN               truncates the plugin's file after its loaded part, between two
 *                                    launches from different functions
 *   modules load PLUGIN              launches from the plugin and waits
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/gate.h"
#include "tests/reliability/device.h"
#include "tests/reliability/plugin.h"

#define FILES 8

typedef void (*plugin_fn)(void (*launch)(void *), void *data);

static struct device device;
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER; /* the loader has descriptors too */
static _Atomic int done;
static const char *folder;

static void launch(void *data)
{
	one_round(data);
}

static plugin_fn load(const char *path, const char *name)
{
	plugin_fn function;
	void *handle;

	pthread_mutex_lock(&loading);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	function = handle ? (plugin_fn)dlsym(handle, name) : NULL;
	pthread_mutex_unlock(&loading);
	check(function == NULL, "dlopen");
	return function;
}

static void open_own(int *fds, struct stat *identity)
{
	char path[4096];

	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/own.%d", folder, i);
		fds[i] = open(path, O_RDWR | O_CREAT | O_APPEND, 0600);
		check(fds[i] < 0 || fstat(fds[i], &identity[i]) < 0, "open of a file of its own");
	}
}

/* Checks that each descriptor still refers to the file that was opened. */
static void check_own(const int *fds, const struct stat *identity)
{
	struct stat now;

	for (int i = 0; i < FILES; i++) {
		check(fstat(fds[i], &now) < 0, "a file of its own was closed");
		check(now.st_ino != identity[i].st_ino, "a number leads to another file");
		check(write(fds[i], "x", 1) != 1, "write to a file of its own");
	}
}

static void *close_all(void *unused)
{
	struct stat identity[FILES];
	int fds[FILES];

	(void)unused;
	while (!atomic_load(&done)) {
		pthread_mutex_lock(&loading);
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
		open_own(fds, identity);
		for (int i = 0; i < 5; i++) {
			usleep(1000);
			check_own(fds, identity);
		}
		pthread_mutex_unlock(&loading);
		usleep(100);
	}
	return NULL;
}

static void close_while_loading(char **paths, int count)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, close_all, NULL), "pthread_create");
	for (int i = 0; i < count; i++) {
		load(paths[i], "plugin_first")(launch, &device);
		usleep(10000);
	}
	usleep(300000);
	atomic_store(&done, 1);
	pthread_join(thread, NULL);
}

/* The end of the loadable part of the file. */
static off_t end_of_load(const char *path)
{
	int fd = open(path, O_RDONLY);
	Elf64_Ehdr head;
	Elf64_Phdr part;
	off_t end = 0;

	check(pread(fd, &head, sizeof(head), 0) != sizeof(head), "pread");
	for (int i = 0; i < head.e_phnum; i++) {
		off_t at = (off_t)head.e_phoff + i * (off_t)sizeof(part);

		check(pread(fd, &part, sizeof(part), at) != sizeof(part), "pread");
		if (part.p_type == PT_LOAD && (off_t)(part.p_offset + part.p_filesz) > end)
			end = (off_t)(part.p_offset + part.p_filesz);
	}
	close(fd);
	return end;
}

static void cut(const char *path)
{
	plugin_fn first = load(path, "plugin_first"), second = load(path, "plugin_second");

	first(launch, &device);
	wait_at_gate(1); /* until its names have been read */
	check(truncate(path, end_of_load(path)), "truncate");
	second(launch, &device);
	wait_at_gate(2); /* until the second one has been looked up */
}

static void load_only(const char *path)
{
	load(path, "plugin_first")(launch, &device);
	wait_at_gate(1); /* until the launch is in the trace */
}

int main(int argc, char **argv)
{
	open_device(&device);
	folder = argv[2];
	if (!strcmp(argv[1], "close"))
		close_while_loading(argv + 3, argc - 3);
	else if (!strcmp(argv[1], "cut"))
		cut(argv[2]);
	else
		load_only(argv[2]);
	check((int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	return 3;
}
