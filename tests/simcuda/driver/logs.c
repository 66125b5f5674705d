/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver's log of errors: what is not simulated goes there too. Any thread; the callbacks are
 * called without the lock, so that one may unregister itself.
 */
#include "driver/driver.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MESSAGES  100 /* older ones are overwritten */
#define CALLBACKS 32

struct CUlogsCallbackEntry_st {
	CUlogsCallback function;
	void *data;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct CUlogsCallbackEntry_st *callbacks[CALLBACKS];
static char *messages[MESSAGES];
static unsigned int written;

static void call_back(const struct CUlogsCallbackEntry_st *entry, const char *message)
{
	char copy[256];

	strncpy(copy, message, sizeof(copy) - 1);
	copy[sizeof(copy) - 1] = '\0';
	entry->function(entry->data, CU_LOG_LEVEL_ERROR, copy, strlen(copy) + 1);
}

void sim_log(const char *message)
{
	struct CUlogsCallbackEntry_st wanted[CALLBACKS];
	int count = 0;

	pthread_mutex_lock(&mutex);
	free(messages[written % MESSAGES]);
	messages[written++ % MESSAGES] = strdup(message);
	for (int i = 0; i < CALLBACKS; i++)
		if (callbacks[i])
			wanted[count++] = *callbacks[i];
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < count; i++)
		call_back(&wanted[i], message);
}

CUresult sim_cuLogsRegisterCallback(CUlogsCallback function, void *data,
				    CUlogsCallbackHandle *ret_handle)
{
	struct CUlogsCallbackEntry_st *entry = function ? malloc(sizeof(*entry)) : NULL;
	int slot = 0;

	if (!entry)
		return function ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
	*entry = (struct CUlogsCallbackEntry_st){function, data};
	pthread_mutex_lock(&mutex);
	while (slot < CALLBACKS && callbacks[slot])
		slot++;
	if (slot < CALLBACKS)
		callbacks[slot] = entry;
	pthread_mutex_unlock(&mutex);
	if (slot == CALLBACKS) {
		free(entry);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (ret_handle)
		*ret_handle = entry;
	return CUDA_SUCCESS;
}

CUresult sim_cuLogsUnregisterCallback(CUlogsCallbackHandle handle)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&mutex);
	for (int i = 0; handle && i < CALLBACKS; i++)
		if (callbacks[i] == handle) {
			callbacks[i] = NULL;
			result = CUDA_SUCCESS;
		}
	pthread_mutex_unlock(&mutex);
	if (!result)
		free(handle);
	return result;
}

CUresult sim_cuLogsCurrent(CUlogIterator *iterator, unsigned int flags)
{
	if (!iterator || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*iterator = written;
	return CUDA_SUCCESS;
}

/* Caller holds the mutex. As many whole lines as fit. */
static size_t collect(unsigned int from, char *buffer, size_t room)
{
	size_t length = 0;

	if (written - from > MESSAGES)
		from = written - MESSAGES;
	for (; from != written; from++) {
		const char *message = messages[from % MESSAGES];
		size_t bytes = message ? strlen(message) : 0;

		if (!message || length + bytes >= room)
			continue;
		memcpy(buffer + length, message, bytes);
		length += bytes;
	}
	return length;
}

CUresult sim_cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size,
				unsigned int flags)
{
	if (!buffer || !size || !*size || flags)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&mutex);
	*size = collect(iterator ? *iterator : 0, buffer, *size);
	buffer[*size] = '\0';
	if (iterator)
		*iterator = written;
	pthread_mutex_unlock(&mutex);
	return CUDA_SUCCESS;
}

CUresult sim_cuLogsDumpToFile(CUlogIterator *iterator, const char *path, unsigned int flags)
{
	char text[MESSAGES * 256];
	size_t length = sizeof(text);
	CUresult result = path ? sim_cuLogsDumpToMemory(iterator, text, &length, flags)
			       : CUDA_ERROR_INVALID_VALUE;
	int fd = result ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	if (result)
		return result;
	if (fd < 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (write(fd, text, length) != (ssize_t)length)
		result = CUDA_ERROR_OPERATING_SYSTEM;
	close(fd);
	return result;
}
