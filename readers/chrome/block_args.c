/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "readers/chrome/block_args.h"

#include "core/schema/event_names.h"

static uint64_t number(const struct gt_span *args, const char *key, uint64_t otherwise)
{
	struct gt_span span;
	uint64_t value;

	return gt_span_member(args, key, &span) && gt_span_uint(&span, &value) ? value : otherwise;
}

struct gt_block gt_block_args(const struct gt_span *args)
{
	struct gt_block block = {0};
	struct gt_span span;

	if (args->kind != GT_SPAN_OBJECT || !gt_span_member(args, "memory", &span) ||
	    span.kind != GT_SPAN_STRING)
		return block;
	block.op = (uint8_t)gt_event_find_block_op(span.text, span.len);
	if (!block.op)
		return block;
	if (gt_span_member(args, "memory kind", &span) && span.kind == GT_SPAN_STRING)
		block.kind = (uint8_t)gt_event_find_block_kind(span.text, span.len);
	block.address = number(args, "memory address", 0);
	block.bytes = number(args, "memory bytes", 0);
	block.handle = number(args, "memory handle", 0);
	block.device = (uint32_t)number(args, "memory device", GT_BLOCK_NO_DEVICE);
	block.context = (uint32_t)number(args, "memory context", 0);
	return block;
}

static int64_t whole(const struct gt_span *args, const char *key)
{
	struct gt_span span;
	int64_t value = 0;

	if (gt_span_member(args, key, &span))
		gt_span_int(&span, &value);
	return value;
}

struct gt_tensor_event gt_tensor_args(const struct gt_span *args)
{
	struct gt_tensor_event tensor = {0};

	if (args->kind != GT_SPAN_OBJECT)
		return tensor;
	tensor.address = (uint64_t)whole(args, "Addr");
	tensor.bytes = whole(args, "Bytes");
	tensor.allocated = (uint64_t)whole(args, "Total Allocated");
	tensor.reserved = (uint64_t)whole(args, "Total Reserved");
	tensor.device = (int32_t)whole(args, "Device Id");
	tensor.device_type = (int32_t)whole(args, "Device Type");
	return tensor;
}

static void take_library_arg(struct gt_library_call *call, enum gt_library_arg arg,
			     const struct gt_span *value)
{
	int64_t number;

	if (value->kind == GT_SPAN_STRING)
		gt_library_set_text(call, arg, value->text, value->len);
	else if (gt_span_int(value, &number))
		gt_library_set_number(call, arg, (uint64_t)number);
}

struct gt_library_call gt_library_args(const struct gt_span *args, const struct gt_span *name)
{
	struct gt_library_call call = {0};
	struct gt_span value;

	if (name)
		gt_library_set_name(&call, name->text, name->len);
	if (args->kind != GT_SPAN_OBJECT)
		return call;
	for (unsigned int arg = 0; arg < GT_LIBRARY_ARG_COUNT_; arg++)
		if (gt_span_member(args, gt_library_arg_name(arg), &value))
			take_library_arg(&call, (enum gt_library_arg)arg, &value);
	return call;
}

struct gt_unified_facts gt_unified_args(const struct gt_span *args, const struct gt_span *name)
{
	struct gt_unified_facts facts = {.from = GT_UNIFIED_NONE, .to = GT_UNIFIED_NONE};
	struct gt_span value;
	int64_t number;

	facts.kind = (uint8_t)gt_unified_find(name->text, name->len);
	if (args->kind != GT_SPAN_OBJECT)
		return facts;
	for (unsigned int i = 0; i < GT_UNIFIED_ARG_COUNT_; i++) {
		enum gt_unified_arg arg = (enum gt_unified_arg)i;

		if (!gt_span_member(args, gt_unified_arg_name(arg), &value))
			continue;
		if (value.kind == GT_SPAN_STRING)
			gt_unified_set_text(&facts, arg, value.text, value.len);
		else if (gt_span_int(&value, &number) && number >= 0)
			gt_unified_set_number(&facts, arg, (uint64_t)number);
	}
	return facts;
}
