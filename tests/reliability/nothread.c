/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded before the tracer: the tracer cannot create a thread, as at a limit on threads.
 */
#include <errno.h>
#include <pthread.h>

#include "shim.h"

typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

__attribute__((visibility("default"))) create_function pthread_create;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
		   void *argument)
{
	create_function *real = (create_function *)dlsym(RTLD_NEXT, "pthread_create");

	if (is_the_tracer(__builtin_return_address(0)))
		return EAGAIN;
	return real(thread, attributes, run, argument);
}
