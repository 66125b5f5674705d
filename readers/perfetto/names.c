/* SPDX-License-Identifier: Apache-2.0
 *
 * Interned data of a .pftrace, which later packets refer to by number. One thread per reading.
 */
#include "readers/perfetto/pftrace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "readers/utf8.h"

/* The iid that the writer uses for strings without an id. */
#define NO_NAME_IID 0x7fffffffu

#define MAX_FRAMES  256u

static const enum gt_pf_type arg_types[GT_PF_ARG_COUNT_] = {
#define GT_PF_ARG(id, name, type, where) [GT_PF_ARG_##id] = GT_PF_TYPE_##type,
#include "core/schema/pftrace_args.def"
};

void *gt_pftrace_find(const struct gt_pftrace *pf, enum gt_pftrace_names table, uint64_t iid)
{
	if (iid == NO_NAME_IID)
		iid = 0;
	return iid < pf->tables[table].count ? pf->tables[table].rows[iid] : NULL;
}

int gt_pftrace_store(struct gt_pftrace *pf, enum gt_pftrace_names table, uint64_t iid, void *thing)
{
	struct gt_pftrace_table *rows = &pf->tables[table];
	uint32_t wanted = rows->count ? rows->count : 64;
	void **grown;

	if (!thing)
		return -ENOMEM;
	if (iid == NO_NAME_IID)
		iid = 0;
	if (iid >= GT_PFTRACE_MAX_IID)
		return -EBADMSG;
	while (wanted <= iid)
		wanted *= 2;
	if (wanted > rows->count) {
		grown = realloc(rows->rows, wanted * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		memset(grown + rows->count, 0, (wanted - rows->count) * sizeof(*grown));
		rows->rows = grown;
		rows->count = wanted;
	}
	rows->rows[iid] = thing;
	return 0;
}

void gt_pftrace_names_fini(struct gt_pftrace *pf)
{
	for (int i = 0; i < GT_PFTRACE_NAMES_COUNT_; i++)
		free(pf->tables[i].rows);
	free(pf->cbids);
}

static bool is_of_gpu(int table)
{
	return table == GT_PFTRACE_GPU_VALUES || table == GT_PFTRACE_STAGES ||
	       table == GT_PFTRACE_KERNELS;
}

void gt_pftrace_forget_names(struct gt_pftrace *pf, uint64_t sequence)
{
	bool on_gpu = sequence == GT_PF_SEQUENCE_GPU;

	for (int i = 0; i < GT_PFTRACE_NAMES_COUNT_; i++)
		if (i != GT_PFTRACE_TRACKS && is_of_gpu(i) == on_gpu && pf->tables[i].count)
			memset(pf->tables[i].rows, 0,
			       pf->tables[i].count * sizeof(*pf->tables[i].rows));
	if (!on_gpu && pf->cbid_count)
		memset(pf->cbids, 0, pf->cbid_count * sizeof(*pf->cbids));
}

/* Replaces malformed UTF-8 by U+FFFD, as the writers do. */
static const struct gt_string *mend_text(struct gt_pftrace *pf, const char *text, size_t size)
{
	const struct gt_string *string;
	char *clean = malloc(3 * size);
	size_t length = 0, step;

	if (!clean)
		return gt_intern_cstr(pf->events->strings, "(no memory)");
	for (size_t i = 0; i < size; i += step ? step : 1) {
		step = gt_utf8_length((const unsigned char *)text + i, size - i);
		memcpy(clean + length, step ? text + i : "\xef\xbf\xbd", step ? step : 3);
		length += step ? step : 3;
	}
	string = gt_intern_get(pf->events->strings, clean, length);
	free(clean);
	return string;
}

const struct gt_string *gt_pftrace_text(struct gt_pftrace *pf, const struct gt_wire_field *field)
{
	const char *text = field->data ? (const char *)field->data : "";
	size_t size = field->data ? field->size : 0;

	if (gt_utf8_is_valid(text, size))
		return gt_intern_get(pf->events->strings, text, size);
	pf->events->broken++;
	return mend_text(pf, text, size);
}

/* Stores an entry of iid and text, the most common form. */
static int take_text(struct gt_pftrace *pf, enum gt_pftrace_names table, struct gt_wire entry)
{
	const struct gt_string *text = NULL;
	struct gt_wire_field field;
	uint64_t iid = 0;

	while (gt_wire_next(&entry, &field)) {
		if (field.number == GT_PF_IID)
			iid = field.value;
		else if (iid >= GT_PF_LINE_IID)
			return 0; /* a stack in one line: its frames are known */
		else if (field.number == GT_PF_TEXT)
			text = gt_pftrace_text(pf, &field);
	}
	return text ? gt_pftrace_store(pf, table, iid, (void *)text) : -EBADMSG;
}

/* Earlier versions wrote build-ids as hexadecimal text: bytes almost never look like it. */
static bool is_hexadecimal(const struct gt_wire_field *field)
{
	for (size_t i = 0; i < field->size; i++)
		if (!memchr("0123456789abcdef", field->data[i], 16))
			return false;
	return true;
}

static int take_build_id(struct gt_pftrace *pf, struct gt_wire entry)
{
	const struct gt_string *text = NULL;
	struct gt_wire_field field;
	char digits[129];
	uint64_t iid = 0;

	while (gt_wire_next(&entry, &field)) {
		if (field.number == GT_PF_IID)
			iid = field.value;
		if (field.number != GT_PF_TEXT || !field.data)
			continue;
		if (is_hexadecimal(&field) || field.size > sizeof(digits) / 2) {
			text = gt_pftrace_text(pf, &field);
			continue;
		}
		for (size_t i = 0; i < field.size; i++)
			snprintf(digits + 2 * i, 3, "%02x", field.data[i]);
		text = gt_intern_get(pf->events->strings, digits, 2 * field.size);
	}
	return text ? gt_pftrace_store(pf, GT_PFTRACE_BUILD_IDS, iid, (void *)text) : -EBADMSG;
}

static int take_module(struct gt_pftrace *pf, struct gt_wire entry)
{
	struct gt_pftrace_module *module = gt_arena_get(&pf->events->arena, sizeof(*module));
	struct gt_wire_field field;
	uint64_t iid = 0;

	if (!module)
		return -ENOMEM;
	while (gt_wire_next(&entry, &field)) {
		if (field.number == GT_PF_IID)
			iid = field.value;
		else if (field.number == GT_PF_MAPPING_PATH)
			module->path = gt_pftrace_find(pf, GT_PFTRACE_PATHS, field.value);
		else if (field.number == GT_PF_MAPPING_BUILD_ID)
			module->build_id = gt_pftrace_find(pf, GT_PFTRACE_BUILD_IDS, field.value);
	}
	return gt_pftrace_store(pf, GT_PFTRACE_MODULES, iid, module);
}

static enum gt_frame_kind frame_kind(uint64_t kind)
{
	if (kind == GT_PF_KIND_INTERPRETED)
		return GT_FRAME_PYTHON;
	return kind == GT_PF_KIND_JIT ? GT_FRAME_JIT : GT_FRAME_NATIVE;
}

static void frame_field(struct gt_pftrace *pf, const struct gt_wire_field *field,
			struct gt_stack_frame *frame)
{
	const struct gt_pftrace_module *module;

	switch (field->number) {
	case GT_PF_FRAME_FUNCTION:
		frame->function = gt_pftrace_find(pf, GT_PFTRACE_FUNCTIONS, field->value);
		break;
	case GT_PF_FRAME_MAPPING:
		module = gt_pftrace_find(pf, GT_PFTRACE_MODULES, field->value);
		frame->module = module ? module->path : NULL;
		frame->build_id = module ? module->build_id : NULL;
		break;
	case GT_PF_FRAME_PC:
		frame->offset = field->value;
		break;
	case GT_PF_FRAME_SOURCE:
		frame->file = gt_pftrace_find(pf, GT_PFTRACE_SOURCES, field->value);
		break;
	case GT_PF_FRAME_LINE:
		frame->line = (uint32_t)field->value;
		break;
	case GT_PF_FRAME_KIND:
		frame->kind = frame_kind(field->value);
		break;
	default:
		break;
	}
}

static int take_frame(struct gt_pftrace *pf, struct gt_wire entry)
{
	struct gt_stack_frame *frame = gt_arena_get(&pf->events->arena, sizeof(*frame));
	struct gt_wire_field field;
	uint64_t iid = 0;

	if (!frame)
		return -ENOMEM;
	while (gt_wire_next(&entry, &field)) {
		if (field.number == GT_PF_IID)
			iid = field.value;
		else
			frame_field(pf, &field, frame);
	}
	return gt_pftrace_store(pf, GT_PFTRACE_FRAMES, iid, frame);
}

/* Reverses the frames: the file has the outermost one first, a stack the innermost. */
static int take_stack(struct gt_pftrace *pf, struct gt_wire entry)
{
	const struct gt_stack_frame *frames[MAX_FRAMES];
	struct gt_wire_field field;
	struct gt_stack *stack;
	uint64_t iid = 0;
	uint32_t count = 0;

	while (gt_wire_next(&entry, &field)) {
		if (field.number == GT_PF_IID)
			iid = field.value;
		else if (field.number == GT_PF_CALLSTACK_FRAME && count < MAX_FRAMES)
			frames[count++] = gt_pftrace_find(pf, GT_PFTRACE_FRAMES, field.value);
	}
	stack = gt_arena_get(&pf->events->arena, sizeof(*stack) + count * sizeof(frames[0]));
	if (!stack)
		return -ENOMEM;
	stack->id = (uint32_t)iid;
	for (uint32_t i = count; i-- > 0;)
		if (frames[i])
			stack->frames[stack->count++] = frames[i];
	return gt_pftrace_store(pf, GT_PFTRACE_STACKS, iid, stack);
}

/* ---- arguments of GPU work ---- */

static uint64_t micro_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value >= 0 && value < 1e12 ? (uint64_t)(value * 1e6 + 0.5) : 0;
}

void gt_pftrace_take_arg(struct gt_pftrace *pf, struct gt_wire arg, struct gt_pftrace_args *args)
{
	struct gt_wire_field field, value = {0};
	uint64_t id = 0;

	while (gt_wire_next(&arg, &field)) {
		if (field.number == GT_PF_ARG_NAME_IID)
			id = field.value;
		else
			value = field;
	}
	if (id >= GT_PF_EXTRA_IID)
		return; /* follows from other arguments */
	if (id == 0 || id > GT_PF_ARG_COUNT_ || !value.number) {
		pf->events->strange++;
		return;
	}
	id--;
	args->mask |= (uint64_t)1 << id;
	args->value[id] = arg_types[id] == GT_PF_TYPE_MICRO ? micro_of(value.value) : value.value;
	if (arg_types[id] == GT_PF_TYPE_TEXT)
		args->text = gt_pftrace_text(pf, &value);
}

static int take_kernel(struct gt_pftrace *pf, struct gt_wire entry)
{
	struct gt_pftrace_args *args = gt_arena_get(&pf->events->arena, sizeof(*args));
	struct gt_wire_field field;
	uint64_t iid = 0;

	if (!args)
		return -ENOMEM;
	while (gt_wire_next(&entry, &field)) {
		if (field.number == GT_PF_IID)
			iid = field.value;
		else if (field.number == GT_PF_KERNEL_ARG)
			gt_pftrace_take_arg(pf, gt_wire_inside(&field), args);
	}
	return gt_pftrace_store(pf, GT_PFTRACE_KERNELS, iid, args);
}

/* ---- entries ---- */

static int take_entry(struct gt_pftrace *pf, bool on_gpu, const struct gt_wire_field *entry)
{
	struct gt_wire inside = gt_wire_inside(entry);

	switch (entry->number) {
	case GT_PF_EVENT_NAMES:
		return take_text(pf, GT_PFTRACE_EVENT_NAMES, inside);
	case GT_PF_FUNCTIONS:
		return take_text(pf, GT_PFTRACE_FUNCTIONS, inside);
	case GT_PF_BUILD_IDS:
		return take_build_id(pf, inside);
	case GT_PF_MAPPING_PATHS:
		return take_text(pf, GT_PFTRACE_PATHS, inside);
	case GT_PF_SOURCES:
		return take_text(pf, GT_PFTRACE_SOURCES, inside);
	case GT_PF_STRINGS:
		return take_text(pf, on_gpu ? GT_PFTRACE_GPU_VALUES : GT_PFTRACE_HOST_VALUES,
				 inside);
	case GT_PF_SPECIFICATIONS:
		return take_text(pf, GT_PFTRACE_STAGES, inside);
	case GT_PF_MAPPINGS:
		return take_module(pf, inside);
	case GT_PF_FRAMES:
		return take_frame(pf, inside);
	case GT_PF_CALLSTACKS:
		return take_stack(pf, inside);
	case GT_PF_KERNELS:
		return take_kernel(pf, inside);
	default:
		return 0; /* categories, names of arguments, contexts: their numbers are known */
	}
}

int gt_pftrace_take_names(struct gt_pftrace *pf, uint64_t sequence, struct gt_wire data)
{
	struct gt_wire_field entry;
	int error;

	while (gt_wire_next(&data, &entry)) {
		error = take_entry(pf, sequence == GT_PF_SEQUENCE_GPU, &entry);
		if (error)
			return error;
	}
	return data.bad ? -EBADMSG : 0;
}
