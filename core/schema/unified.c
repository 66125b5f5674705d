/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/schema/unified.h"

#include <string.h>

#include "core/guest/text.h"

static const char *const names[GT_UNIFIED_KIND_COUNT_] = {
	[GT_UNIFIED_UNKNOWN] = "unified memory",    [GT_UNIFIED_HTOD] = "migration HtoD",
	[GT_UNIFIED_DTOH] = "migration DtoH",       [GT_UNIFIED_DTOD] = "migration DtoD",
	[GT_UNIFIED_CPU_FAULT] = "CPU page fault",  [GT_UNIFIED_GPU_FAULT] = "GPU page faults",
	[GT_UNIFIED_THRASHING] = "thrashing",       [GT_UNIFIED_THROTTLING] = "throttling",
	[GT_UNIFIED_REMOTE_MAP] = "remote mapping",
};

const enum gt_pf_annotation gt_unified_annotations[GT_UNIFIED_ARG_COUNT_] = {
	[GT_UNIFIED_ADDRESS] = GT_PF_ANNOTATION_UNIFIED_ADDRESS,
	[GT_UNIFIED_BYTES] = GT_PF_ANNOTATION_OS_BYTES,
	[GT_UNIFIED_FAULTS] = GT_PF_ANNOTATION_UNIFIED_FAULTS,
	[GT_UNIFIED_PC] = GT_PF_ANNOTATION_UNIFIED_PC,
	[GT_UNIFIED_FROM] = GT_PF_ANNOTATION_UNIFIED_FROM,
	[GT_UNIFIED_TO] = GT_PF_ANNOTATION_UNIFIED_TO,
	[GT_UNIFIED_PROCESSOR] = GT_PF_ANNOTATION_UNIFIED_PROCESSOR,
	[GT_UNIFIED_PROCESSORS] = GT_PF_ANNOTATION_UNIFIED_PROCESSORS,
	[GT_UNIFIED_ACCESS] = GT_PF_ANNOTATION_UNIFIED_ACCESS,
	[GT_UNIFIED_CAUSE] = GT_PF_ANNOTATION_CAUSE,
};

static const char *const args[GT_UNIFIED_ARG_COUNT_] = {
	[GT_UNIFIED_ADDRESS] = "address",     [GT_UNIFIED_BYTES] = "bytes",
	[GT_UNIFIED_FAULTS] = "faults",       [GT_UNIFIED_PC] = "pc",
	[GT_UNIFIED_FROM] = "from",           [GT_UNIFIED_TO] = "to",
	[GT_UNIFIED_PROCESSOR] = "processor", [GT_UNIFIED_PROCESSORS] = "processors",
	[GT_UNIFIED_ACCESS] = "access",       [GT_UNIFIED_CAUSE] = "cause",
};

/* CUpti_ActivityUnifiedMemoryAccessType, ...MigrationCause, ...RemoteMapCause */
#define WHYS 6
static const char *const accesses[WHYS] = {NULL, "read", "write", "atomic", "prefetch"};
static const char *const causes[WHYS] = {NULL,       "user",     "coherence",
					 "prefetch", "eviction", "access counters"};
static const char *const map_causes[WHYS] = {NULL,     "coherence",     "thrashing",
					     "policy", "out of memory", "eviction"};

/* NULL: this kind has none. */
static const char *const *whys_of(const struct gt_unified_facts *facts, enum gt_unified_arg arg)
{
	if (arg == GT_UNIFIED_ACCESS)
		return gt_unified_is_fault(facts->kind) ? accesses : NULL;
	if (facts->kind == GT_UNIFIED_REMOTE_MAP)
		return map_causes;
	return gt_unified_is_migration(facts->kind) ? causes : NULL;
}

const char *gt_unified_name(unsigned int kind)
{
	return names[kind < GT_UNIFIED_KIND_COUNT_ ? kind : GT_UNIFIED_UNKNOWN];
}

enum gt_unified_kind gt_unified_find(const char *text, unsigned long length)
{
	for (unsigned int kind = 1; kind < GT_UNIFIED_KIND_COUNT_; kind++)
		if (strlen(names[kind]) == length && !memcmp(names[kind], text, length))
			return (enum gt_unified_kind)kind;
	return GT_UNIFIED_UNKNOWN;
}

const char *gt_unified_arg_name(enum gt_unified_arg arg)
{
	return args[arg];
}

/* The argument that the value is. */
static enum gt_unified_arg value_arg(unsigned int kind)
{
	if (kind == GT_UNIFIED_GPU_FAULT)
		return GT_UNIFIED_FAULTS;
	return kind == GT_UNIFIED_CPU_FAULT ? GT_UNIFIED_PC : GT_UNIFIED_BYTES;
}

static bool has_two_ends(unsigned int kind)
{
	return gt_unified_is_migration(kind) || kind == GT_UNIFIED_REMOTE_MAP;
}

static bool put_processor(uint16_t processor, char *out, size_t size)
{
	if (processor == GT_UNIFIED_NONE)
		return false;
	gt_unified_row_name(processor == GT_UNIFIED_CPU ? 0 : processor + 1u, out, size);
	return true;
}

static bool put_processors(const struct gt_unified_facts *facts, char *out, size_t size)
{
	size_t used = facts->on_cpu ? gt_text_format(out, size, "CPU") : 0;

	for (unsigned int i = 0; i < GT_UNIFIED_DEVICES; i++)
		if (facts->devices >> i & 1)
			used += gt_text_format(out + used, size - used, "%sGPU %u",
					       used ? ", " : "", i);
	return used;
}

static bool put_why(const struct gt_unified_facts *facts, enum gt_unified_arg arg, char *out)
{
	const char *const *whys = whys_of(facts, arg);

	if (!whys || facts->why >= WHYS || !whys[facts->why])
		return false;
	gt_text_format(out, GT_UNIFIED_TEXT, "%s", whys[facts->why]);
	return true;
}

bool gt_unified_get(const struct gt_unified_facts *facts, enum gt_unified_arg arg,
		    char ret_text[GT_UNIFIED_TEXT], uint64_t *ret_number)
{
	bool thrashes = facts->kind == GT_UNIFIED_THRASHING, two = has_two_ends(facts->kind);

	*ret_text = 0;
	*ret_number = arg == GT_UNIFIED_ADDRESS ? facts->address : facts->value;
	switch (arg) {
	case GT_UNIFIED_ADDRESS:
		return facts->address;
	case GT_UNIFIED_BYTES:
	case GT_UNIFIED_FAULTS:
	case GT_UNIFIED_PC:
		return facts->value && arg == value_arg(facts->kind);
	case GT_UNIFIED_FROM:
		return two && put_processor(facts->from, ret_text, GT_UNIFIED_TEXT);
	case GT_UNIFIED_TO:
		return two && put_processor(facts->to, ret_text, GT_UNIFIED_TEXT);
	case GT_UNIFIED_PROCESSOR:
		return !two && !thrashes && put_processor(facts->from, ret_text, GT_UNIFIED_TEXT);
	case GT_UNIFIED_PROCESSORS:
		return thrashes && put_processors(facts, ret_text, GT_UNIFIED_TEXT);
	default:
		return put_why(facts, arg, ret_text);
	}
}

void gt_unified_set_number(struct gt_unified_facts *facts, enum gt_unified_arg arg, uint64_t number)
{
	if (arg == GT_UNIFIED_ADDRESS)
		facts->address = number;
	else if (arg == value_arg(facts->kind))
		facts->value = number;
}

/* "GPU 12" or "CPU" at the beginning. */
static uint16_t parse_processor(const char *text, unsigned long length)
{
	unsigned int number = 0;
	unsigned long at = 4;

	if (length >= 3 && !memcmp(text, "CPU", 3))
		return GT_UNIFIED_CPU;
	if (length <= at || memcmp(text, "GPU ", at))
		return GT_UNIFIED_NONE;
	for (; at < length && text[at] >= '0' && text[at] <= '9' && number < 4096; at++)
		number = number * 10 + (unsigned int)(text[at] - '0');
	return at > 4 && number < GT_UNIFIED_NONE ? (uint16_t)number : GT_UNIFIED_NONE;
}

static void parse_processors(struct gt_unified_facts *facts, const char *text, unsigned long length)
{
	while (length) {
		const char *comma = memchr(text, ',', length);
		unsigned long size = comma ? (unsigned long)(comma - text) : length;
		uint16_t processor = parse_processor(text, size);

		if (processor == GT_UNIFIED_CPU)
			facts->on_cpu = 1;
		else if (processor < GT_UNIFIED_DEVICES)
			facts->devices |= (uint64_t)1 << processor;
		size += comma ? 1 : 0;
		size += comma && size < length && text[size] == ' ';
		text += size;
		length -= size;
	}
}

static uint8_t parse_why(const char *const *whys, const char *text, unsigned long length)
{
	for (uint8_t why = 1; whys && why < WHYS; why++)
		if (whys[why] && strlen(whys[why]) == length && !memcmp(whys[why], text, length))
			return why;
	return 0;
}

void gt_unified_set_text(struct gt_unified_facts *facts, enum gt_unified_arg arg, const char *text,
			 unsigned long length)
{
	if (arg == GT_UNIFIED_FROM || arg == GT_UNIFIED_PROCESSOR)
		facts->from = parse_processor(text, length);
	else if (arg == GT_UNIFIED_TO)
		facts->to = parse_processor(text, length);
	else if (arg == GT_UNIFIED_PROCESSORS)
		parse_processors(facts, text, length);
	else if (whys_of(facts, arg))
		facts->why = parse_why(whys_of(facts, arg), text, length);
}

static uint32_t row_of(uint16_t processor)
{
	return processor < GT_UNIFIED_NONE ? processor + 1u : 0;
}

uint32_t gt_unified_row(const struct gt_unified_facts *facts)
{
	if (facts->kind == GT_UNIFIED_THRASHING)
		return facts->devices ? (uint32_t)__builtin_ctzll(facts->devices) + 1 : 0;
	if (has_two_ends(facts->kind) && row_of(facts->to))
		return row_of(facts->to);
	return row_of(facts->from);
}

void gt_unified_row_name(uint32_t row, char *out, unsigned long size)
{
	if (row)
		gt_text_format(out, size, "GPU %u", row - 1);
	else
		gt_text_format(out, size, "CPU");
}
