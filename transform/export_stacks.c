/* SPDX-License-Identifier: Apache-2.0
 *
 * Call stacks as rows of nsys's CUDA_CALLCHAINS, which the callchainId of a call names: a frame
 * with a source line has that as its module.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/frame.h"
#include "transform/export_rows.h"

#define MAX_FRAME 4096

static int64_t chain_of(struct gt_export_rows *e, const struct gt_trace_event *record,
			enum gt_arg arg)
{
	int64_t stack;

	if (!gt_record_has(record, arg) || !gt_span_int(&record->arg[arg], &stack) || stack <= 0 ||
	    stack > INT32_MAX)
		return 0;
	stack += e->chain_base;
	if (stack > *e->chains)
		*e->chains = stack;
	return stack;
}

/* The offset behind the module's name, 0: there is none. */
static int64_t offset_of(const char *text)
{
	const char *plus = strrchr(text, '+');

	return plus && plus[1] == '0' && plus[2] == 'x' ? strtoll(plus + 1, NULL, 16) : 0;
}

static int put_frame(struct gt_export_rows *e, int64_t chain, int64_t depth, const char *text)
{
	struct gt_frame frame;
	char place[MAX_FRAME + 32];
	int length = 0;

	gt_frame_parse(text, &frame);
	if (frame.file_len && frame.line)
		length = snprintf(place, sizeof(place), "%.*s:%ld", (int)frame.file_len, frame.file,
				  frame.line);
	else if (frame.file_len || frame.module_len)
		length = snprintf(place, sizeof(place), "%.*s",
				  (int)(frame.file_len ? frame.file_len : frame.module_len),
				  frame.file_len ? frame.file : frame.module);
	gt_export_put_int(e, chain);
	if (frame.function_len)
		gt_export_put_text(e, frame.function, frame.function_len);
	else
		gt_export_put_text(e, text, strlen(text));
	if (length > 0)
		gt_export_put_text(e, place, (size_t)length);
	else
		gt_export_put_none(e);
	gt_export_put_int(e, !frame.function_len);
	gt_export_put_int(e, offset_of(text));
	gt_export_put_int(e, depth);
	return gt_export_end_row(e, GT_EXPORT_CALLCHAIN);
}

static int put_chain(struct gt_export_rows *e, int64_t chain, const struct gt_span *frames)
{
	struct gt_span frame;
	uint32_t position = 0;
	char text[MAX_FRAME + 1];
	int64_t depth = 0;
	int rc = 0;

	while (!rc && gt_span_next(frames, &position, &frame)) {
		size_t length = 0;

		if (frame.kind == GT_SPAN_STRING && frame.len <= MAX_FRAME)
			length = gt_span_decode(&frame, text);
		text[length] = 0;
		rc = put_frame(e, chain, depth++, text);
	}
	return rc;
}

int gt_export_stacks(struct gt_export_rows *e, const struct gt_trace_event *record)
{
	static const enum gt_arg kinds[][2] = {{GT_ARG_STACK, GT_ARG_FRAMES},
					       {GT_ARG_CREATED_STACK, GT_ARG_CREATED_FRAMES},
					       {GT_ARG_FORWARD_STACK, GT_ARG_FORWARD_FRAMES}};
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct gt_span *frames = &record->arg[kinds[i][1]];
		int64_t chain = chain_of(e, record, kinds[i][0]), *seen;

		if (!chain || !gt_record_has(record, kinds[i][1]) || frames->kind != GT_SPAN_ARRAY)
			continue;
		seen = gt_pairmap_get(&e->chains_put, chain, 0);
		if (!seen)
			return -ENOMEM;
		if (!*seen)
			rc = put_chain(e, chain, frames);
		*seen = 1;
	}
	return rc;
}

void gt_export_put_chain(struct gt_export_rows *e, const struct gt_trace_event *record)
{
	int64_t chain = chain_of(e, record, GT_ARG_STACK);

	if (chain)
		gt_export_put_int(e, chain);
	else
		gt_export_put_none(e);
}
