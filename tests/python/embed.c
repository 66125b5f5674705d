/* SPDX-License-Identifier: Apache-2.0
 *
 * A C program that loads an interpreter after the tracer has started, uses it, ends it, uses it
 * once more and unloads it; stacks are captured before, meanwhile and after.
 *
 *   embed PROBE_LIBRARY LIBPYTHON HOME
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *(*probe_start)(void);
static int (*probe_capture)(char *, size_t, uint32_t);
static char text[1 << 20];

/* @ret_function is a pointer to a pointer to a function. */
static void find(void *library, const char *name, void *ret_function)
{
	void *symbol = dlsym(library, name);

	if (!symbol) {
		printf("no %s\n", name);
		exit(1);
	}
	memcpy(ret_function, &symbol, sizeof(symbol));
}

static void *load(const char *path, int flags)
{
	void *library = dlopen(path, RTLD_NOW | flags);

	if (!library) {
		printf("%s\n", dlerror());
		exit(1);
	}
	return library;
}

static void expect(int frames, const char *when)
{
	int got = probe_capture(text, sizeof(text), 64);

	if (got != frames) {
		printf("%s: %d Python frames, not %d\n%s", when, got, frames, text);
		exit(1);
	}
}

/* CPython's stable ABI, as far as it is needed: the same in every version. */
struct method {
	const char *name;
	void *(*call)(void *, void *);
	int flags;
	const char *doc;
};

#define METH_NOARGS 4

static void *(*build_value)(const char *, ...);

/* What check() in Python calls. */
static void *check(void *self, void *arguments)
{
	(void)self;
	(void)arguments;
	expect(2, "in Python");
	if (!strstr(text, "python\tinner\t<string>\t3\n") ||
	    !strstr(text, "python\t<module>\t<string>\t4\n")) {
		printf("wrong frames:\n%s", text);
		exit(1);
	}
	return build_value("");
}

static void add_check(void *libpython)
{
	static struct method method = {.name = "check", .call = check, .flags = METH_NOARGS};
	void *(*add_module)(const char *);
	void *(*get_dict)(void *);
	void *(*new_function)(struct method *, void *, void *);
	int (*set_item)(void *, const char *, void *);

	find(libpython, "Py_BuildValue", &build_value);
	find(libpython, "PyImport_AddModule", &add_module);
	find(libpython, "PyModule_GetDict", &get_dict);
	find(libpython, "PyCFunction_NewEx", &new_function);
	find(libpython, "PyDict_SetItemString", &set_item);
	set_item(get_dict(add_module("__main__")), "check", new_function(&method, NULL, NULL));
}

static void use(void *libpython)
{
	void (*initialize)(int);
	int (*run)(const char *, void *);
	int (*finalize)(void);

	find(libpython, "Py_InitializeEx", &initialize);
	find(libpython, "PyRun_SimpleStringFlags", &run);
	find(libpython, "Py_FinalizeEx", &finalize);
	initialize(0);
	add_check(libpython);
	probe_start(); /* as the drain thread does when modules have come */
	expect(0, "between initialisation and the first frame");
	if (run("def inner():\n"
		"  if True:\n"
		"    check()\n"
		"inner()\n",
		NULL))
		exit(1);
	expect(0, "after the last frame");
	finalize();
	expect(0, "after the end");
}

int main(int argc, char **argv)
{
	void *probe, *libpython;

	if (argc != 4)
		return 2;
	setenv("PYTHONHOME", argv[3], 1);
	probe = load(argv[1], RTLD_LOCAL);
	find(probe, "probe_start", &probe_start);
	find(probe, "probe_capture", &probe_capture);
	if (probe_start())
		return 1;
	expect(0, "without an interpreter");
	libpython = load(argv[2], RTLD_GLOBAL);
	use(libpython);
	use(libpython);
	dlclose(libpython);
	expect(0, "after unloading it");
	printf("ok\n");
	return 0;
}
