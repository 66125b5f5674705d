/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/schema/os_call.h"

#include <stddef.h>
#include <string.h>

enum os_result { BYTES, PLAIN, CODE, VALUE };

static const struct {
	const char *name;
	enum os_result result;
} calls[] = {
#define GT_OS_CALL(id, name, result) [GT_OS_##id] = {name, result},
#include "core/schema/os_calls.def"
};

static const char *const kinds[GT_OS_KIND_COUNT_] = {
	[GT_OS_KIND_FILE] = "file",     [GT_OS_KIND_FOLDER] = "folder",
	[GT_OS_KIND_PIPE] = "pipe",     [GT_OS_KIND_SOCKET] = "socket",
	[GT_OS_KIND_DEVICE] = "device", [GT_OS_KIND_EVENTFD] = "eventfd",
	[GT_OS_KIND_EPOLL] = "epoll",   [GT_OS_KIND_TIMERFD] = "timerfd",
	[GT_OS_KIND_OTHER] = "other",
};

const char *gt_os_function_name(unsigned int function)
{
	return function < GT_OS_FUNCTION_COUNT_ ? calls[function].name : "";
}

const char *gt_os_kind_name(unsigned int kind)
{
	return kind < GT_OS_KIND_COUNT_ ? kinds[kind] : NULL;
}

enum gt_os_kind gt_os_kind_find(const char *text, unsigned long length)
{
	for (enum gt_os_kind kind = GT_OS_KIND_FILE; kind < GT_OS_KIND_COUNT_; kind++)
		if (strlen(kinds[kind]) == length && !memcmp(kinds[kind], text, length))
			return kind;
	return GT_OS_KIND_UNKNOWN;
}

struct gt_os_facts gt_os_facts_of(const struct gt_os_call *call)
{
	struct gt_os_facts facts = {.result = call->result, .descriptor = call->descriptor};

	switch (calls[call->function].result) {
	case BYTES:
		facts.has_bytes = call->result >= 0;
		/* fall through */
	case PLAIN:
		facts.error = call->result == -1 ? (uint16_t)call->error : 0;
		break;
	case CODE:
		facts.error = (uint16_t)call->result;
		break;
	case VALUE:
		break;
	}
	return facts;
}
