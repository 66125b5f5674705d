/* SPDX-License-Identifier: Apache-2.0
 *
 * What is in a buffer that the client is about to get: two faults, what is lost with a context or
 * with a clock, and the line of the truth file.
 */
#include "cupti/cupti_sim.h"
#include "cupti/layouts.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Exchanges neighbours, so that nobody relies on an order that CUPTI does not promise. */
void cupti_contents_shuffle(uint8_t *data, size_t used)
{
	uint8_t *copy = malloc(used), *to = data;
	size_t at = 0;

	if (!copy)
		return;
	memcpy(copy, data, used);
	while (at < used) {
		size_t one = cupti_record_size(*(uint32_t *)(copy + at));
		size_t two =
			at + one < used ? cupti_record_size(*(uint32_t *)(copy + at + one)) : 0;
		memcpy(to, copy + at + one, two);
		memcpy(to + two, copy + at, one);
		to += one + two;
		at += one + two;
	}
	free(copy);
}

void cupti_contents_spoil_last(uint8_t *data, size_t used)
{
	uint32_t *last = NULL;

	for (size_t at = 0; at < used; at += cupti_record_size(*last))
		last = (uint32_t *)(data + at);
	if (!last)
		return;
	cupti.table->truth("{\"truth\":\"fault\",\"fault\":\"invalid_last\",\"kind\":%u,"
			   "\"bytes\":%zu}\n",
			   *last, cupti_record_size(*last));
	*last = CUPTI_ACTIVITY_KIND_INVALID;
}

/* Kind and correlation id of GPU work; false: another record. */
static bool work_of(const uint8_t *record, const char **ret_kind, uint32_t *ret_correlation)
{
	switch (*(const uint32_t *)(const void *)record) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		*ret_kind = "kernel";
		*ret_correlation = ((const cupti_kernel *)(const void *)record)->correlationId;
		return true;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		*ret_kind = "memcpy";
		*ret_correlation = ((const cupti_memcpy *)(const void *)record)->correlationId;
		return true;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		*ret_kind = "memset";
		*ret_correlation = ((const cupti_memset *)(const void *)record)->correlationId;
		return true;
	default:
		return false;
	}
}

/* Of a record of GPU work; 0: another record. */
static uint32_t context_of(const uint8_t *record)
{
	switch (*(const uint32_t *)(const void *)record) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return ((const cupti_kernel *)(const void *)record)->contextId;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return ((const cupti_memcpy *)(const void *)record)->contextId;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		return ((const cupti_memcpy_peer *)(const void *)record)->contextId;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return ((const cupti_memset *)(const void *)record)->contextId;
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		return ((const cupti_graph_trace *)(const void *)record)->contextId;
	default:
		return 0;
	}
}

/* Where the two stamps of GPU work are; NULL: another record. */
static uint64_t *times_of(uint8_t *record)
{
	switch (*(const uint32_t *)(const void *)record) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return (uint64_t *)(void *)(record + offsetof(cupti_kernel, start));
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return (uint64_t *)(void *)(record + offsetof(cupti_memcpy, start));
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		return (uint64_t *)(void *)(record + offsetof(cupti_memcpy_peer, start));
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return (uint64_t *)(void *)(record + offsetof(cupti_memset, start));
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		return (uint64_t *)(void *)(record + offsetof(cupti_graph_trace, start));
	default:
		return NULL;
	}
}

/* Start and end of all GPU work become 0. */
void cupti_contents_clear_times(uint8_t *data, size_t used)
{
	size_t size;

	for (size_t at = 0; at < used; at += size) {
		uint64_t *times = times_of(data + at);

		size = cupti_record_size(*(const uint32_t *)(const void *)(data + at));
		if (!size) /* a fault made it invalid */
			size = used - at;
		if (times)
			times[0] = times[1] = 0;
	}
}

/* Takes the GPU work of @context out; returns how many records that were. */
size_t cupti_contents_lose(uint8_t *data, size_t *used, uint32_t context)
{
	size_t kept = 0, lost = 0, size;

	for (size_t at = 0; at < *used; at += size) {
		size = cupti_record_size(*(const uint32_t *)(const void *)(data + at));
		if (!size) /* that of unfinished work */
			size = *used - at;
		if (context_of(data + at) == context) {
			lost++;
			continue;
		}
		memmove(data + kept, data + at, size);
		kept += size;
	}
	*used = kept;
	return lost;
}

/* One line of the truth file for all work of the buffer from *@at on that fits into it. */
static bool list_work(const uint8_t *data, size_t used, size_t *at, char *line, size_t room)
{
	size_t length = (size_t)snprintf(line, room, "{\"truth\":\"delivered\",\"work\":[");
	const char *comma = "", *kind;
	uint32_t correlation;
	size_t size;

	for (; *at < used && length + 64 < room; *at += size) {
		size = cupti_record_size(*(const uint32_t *)(const void *)(data + *at));
		if (!size) /* a fault made it invalid */
			size = used - *at;
		if (!work_of(data + *at, &kind, &correlation))
			continue;
		length += (size_t)snprintf(line + length, room - length, "%s[%u,\"%s\"]", comma,
					   correlation, kind);
		comma = ",";
	}
	snprintf(line + length, room - length, "]}\n");
	return *comma;
}

/* The client may use the buffer again at once: what was in it is reported from a copy. */
void cupti_contents_tell(const uint8_t *copy, size_t used)
{
	char line[1800];
	size_t at = 0;

	while (copy && *cupti.table->truth_is_on && at < used)
		if (list_work(copy, used, &at, line, sizeof(line)))
			cupti.table->truth("%s", line);
}
