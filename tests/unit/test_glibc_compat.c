/* SPDX-License-Identifier: Apache-2.0
 *
 * core/elf/glibc_compat.c as on a glibc before 2.34 that has bound none of its references: every
 * function is found in the mapped libraries. (Built with GT_COMPAT_TEST_OLD_GLIBC.)
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include <criterion/criterion.h>

#define GT_MOVED(type, name, parameters, arguments, version, library, failure)                     \
	extern type gt_compat_##name parameters;
#include "core/elf/glibc_compat.def"

static void *answer(void *question)
{
	return (char *)question + 1;
}

Test(glibc_compat, starts_and_joins_threads)
{
	pthread_attr_t attributes;
	pthread_t thread;
	char question[2];
	void *result = NULL;

	pthread_attr_init(&attributes);
	cr_assert_eq(gt_compat_pthread_attr_setstacksize(&attributes, 1 << 20), 0);
	cr_assert_eq(gt_compat_pthread_create(&thread, &attributes, answer, question), 0);
	cr_assert_eq(gt_compat_pthread_join(thread, &result), 0);
	cr_assert_eq(result, question + 1);
}

Test(glibc_compat, thread_keys)
{
	pthread_key_t key;

	cr_assert_eq(gt_compat_pthread_key_create(&key, NULL), 0);
	cr_assert_eq(gt_compat_pthread_setspecific(key, &key), 0);
	cr_assert_eq(pthread_getspecific(key), &key);
	cr_assert_eq(gt_compat_pthread_key_delete(key), 0);
}

Test(glibc_compat, stacks_and_names_of_threads)
{
	pthread_attr_t attributes;
	void *address = NULL;
	size_t size = 0;
	char name[16];

	cr_assert_eq(gt_compat_pthread_getattr_np(pthread_self(), &attributes), 0);
	cr_assert_eq(gt_compat_pthread_attr_getstack(&attributes, &address, &size), 0);
	cr_assert((uintptr_t)&address - (uintptr_t)address < size);
	pthread_attr_destroy(&attributes);
	cr_assert_eq(gt_compat_pthread_setname_np(pthread_self(), "gputrace-w"), 0);
	pthread_getname_np(pthread_self(), name, sizeof(name));
	cr_assert_str_eq(name, "gputrace-w");
}

Test(glibc_compat, signal_masks)
{
	sigset_t all, old, now;

	sigfillset(&all);
	cr_assert_eq(gt_compat_pthread_sigmask(SIG_SETMASK, &all, &old), 0);
	cr_assert_eq(pthread_sigmask(SIG_SETMASK, &old, &now), 0);
	cr_assert(sigismember(&now, SIGTERM));
}

Test(glibc_compat, opens_libraries)
{
	void *library = gt_compat_dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
	char origin[4096] = "";
	Dl_info info;

	cr_assert_not_null(library);
	cr_assert_not_null(gt_compat_dlsym(library, "cos"));
	cr_assert_null(gt_compat_dlsym(library, "no_such_function"));
	cr_assert_not_null(strstr(gt_compat_dlerror(), "no_such_function"));
	cr_assert_eq(gt_compat_dlinfo(library, RTLD_DI_ORIGIN, origin), 0);
	cr_assert_eq(origin[0], '/');
	cr_assert_neq(gt_compat_dladdr(gt_compat_dlsym(library, "cos"), &info), 0);
	cr_assert_not_null(strstr(info.dli_fname, "libm.so.6"));
	cr_assert_eq(gt_compat_dlclose(library), 0);
}
