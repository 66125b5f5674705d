/* SPDX-License-Identifier: Apache-2.0
 *
 * See category.h.
 */
#include "trace/category.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "core/schema/event_names.h"

/* The first ones are the most frequent. */
static const struct {
	const char *cat;
	enum gt_role role;
} roles[] = {
	{"kernel", GT_ROLE_KERNEL},
	{"cuda_runtime", GT_ROLE_RUNTIME},
	{"ac2g", GT_ROLE_IGNORED},
	{"gpu_memcpy", GT_ROLE_COPY},
	{"gpu_memset", GT_ROLE_SET},
	{"gpu_graph", GT_ROLE_GRAPH},
	{"cuda_driver", GT_ROLE_DRIVER},
	{"cpu_op", GT_ROLE_OP},
	{"user_annotation", GT_ROLE_NVTX},
	{"python_function", GT_ROLE_PYTHON},
	{"overhead", GT_ROLE_OVERHEAD},
	{"gputrace", GT_ROLE_NOTE},
	{"cpu_instant_event", GT_ROLE_MEMORY},
	{"gpu_user_annotation", GT_ROLE_IGNORED},
	{"call_stack", GT_ROLE_IGNORED},
	{GT_WHOLE_STEP_CATEGORY, GT_ROLE_IGNORED},
	{"library", GT_ROLE_LIBRARY},
	{"osrt", GT_ROLE_OS},
	{"unified_memory", GT_ROLE_UNIFIED},
	{"cpu_sample", GT_ROLE_SAMPLE},
	{"cuda_sync", GT_ROLE_WAIT},
	{"cuda_event", GT_ROLE_IGNORED}, /* a recorded event, no work */
	{"async_cpu_to_gpu", GT_ROLE_IGNORED},
	{"fwdbwd", GT_ROLE_IGNORED},
	{"Trace", GT_ROLE_IGNORED},
	/* other devices: pytorch/kineto libkineto/include/ActivityType.h */
	{"xpu_runtime", GT_ROLE_RUNTIME},
	{"xpu_driver", GT_ROLE_DRIVER},
	{"xpu_sync", GT_ROLE_IGNORED},
	{"mtia_runtime", GT_ROLE_RUNTIME},
	{"privateuse1_runtime", GT_ROLE_RUNTIME},
	{"privateuse1_driver", GT_ROLE_DRIVER},
	/* Cambricon/torch_mlu third_party/kineto_mlu/libkineto/src/ActivityType.cpp */
	{"mlu_runtime", GT_ROLE_RUNTIME},
	{"mlu_memcpy", GT_ROLE_COPY},
	{"mlu_memset", GT_ROLE_SET},
	{"mlu_user_annotation", GT_ROLE_IGNORED},
	/* Kineto's first years */
	{"Kernel", GT_ROLE_KERNEL},
	{"Memcpy", GT_ROLE_COPY},
	{"Memset", GT_ROLE_SET},
	{"Runtime", GT_ROLE_RUNTIME},
	{"Operator", GT_ROLE_OP},
};

static enum gt_role role_of(const char *text, size_t len)
{
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (strlen(roles[i].cat) == len && !memcmp(roles[i].cat, text, len))
			return roles[i].role;
	return GT_ROLE_UNKNOWN;
}

enum gt_role gt_category_role(const struct gt_span *cat)
{
	enum gt_role role = GT_ROLE_UNKNOWN;
	const char *p, *end, *comma;

	if (cat->kind != GT_SPAN_STRING)
		return role;
	p = cat->text;
	end = p + cat->len;
	while (role == GT_ROLE_UNKNOWN && p < end) {
		comma = memchr(p, ',', (size_t)(end - p));
		while (p < end && *p == ' ')
			p++;
		role = role_of(p, (size_t)((comma ? comma : end) - p));
		p = comma ? comma + 1 : end;
	}
	return role;
}

/* The number in "@before12..."; false: the text begins otherwise. */
static bool number_behind(const struct gt_span *text, const char *before, int64_t *ret_number)
{
	size_t n = strlen(before), digits = 0;
	struct gt_span number = {.kind = GT_SPAN_NUMBER};

	if (text->len <= n || memcmp(text->text, before, n))
		return false;
	number.text = text->text + n;
	while (n + digits < text->len && isdigit((unsigned char)number.text[digits]))
		digits++;
	number.len = (uint32_t)digits;
	return digits && digits < 10 && gt_span_int(&number, ret_number);
}

static int put(struct gt_pairmap *map, int64_t a, int64_t b, int64_t value)
{
	int64_t *at = gt_pairmap_get(map, a, b);

	if (!at)
		return -ENOMEM;
	*at = value;
	return 0;
}

int gt_category_rows_see(struct gt_category_rows *rows, const struct gt_trace_event *record)
{
	static const char device[] = "/device:";
	const struct gt_span *name = &record->arg[GT_ARG_NAME];
	int64_t number;

	if (!gt_record_has(record, GT_ARG_NAME) || name->kind != GT_SPAN_STRING)
		return 0;
	if (gt_span_is(&record->name, "process_name", 12)) {
		if (number_behind(name, "/device:GPU:", &number))
			return put(&rows->device, record->pid, 0, number + 1);
		if (name->len >= sizeof(device) - 1 &&
		    !memcmp(name->text, device, sizeof(device) - 1))
			return put(&rows->device, record->pid, 0, -1);
	} else if (gt_span_is(&record->name, "thread_name", 11) &&
		   number_behind(name, "Stream #", &number)) {
		return put(&rows->stream, record->pid, record->tid, number + 1);
	}
	return 0;
}

bool gt_category_rows_is_device(const struct gt_category_rows *rows,
				const struct gt_trace_event *record)
{
	return rows->device.used && gt_pairmap_find(&rows->device, record->pid, 0);
}

static bool begins(const struct gt_span *name, const char *word)
{
	return name->len >= strlen(word) && !memcmp(name->text, word, strlen(word));
}

static void set_arg(struct gt_trace_event *record, enum gt_arg arg, const struct gt_span *span)
{
	record->arg[arg] = *span;
	record->arg_mask |= 1ull << arg;
}

/* "kind_src:host kind_dst:device size:4096 dest:0 async:1" */
static void take_size(struct gt_trace_event *record, const char *key)
{
	struct gt_span details, size = {.kind = GT_SPAN_NUMBER};
	const char *at = NULL;

	if (record->args.kind == GT_SPAN_OBJECT && gt_span_member(&record->args, key, &details) &&
	    details.kind == GT_SPAN_STRING)
		at = memmem(details.text, details.len, "size:", 5);
	if (!at)
		return;
	size.text = at + 5;
	while (size.text + size.len < details.text + details.len &&
	       isdigit((unsigned char)size.text[size.len]))
		size.len++;
	if (size.len)
		set_arg(record, GT_ARG_BYTES, &size);
}

static enum gt_role work_of(struct gt_trace_event *record)
{
	if (begins(&record->name, "Memcpy")) {
		take_size(record, "memcpy_details");
		return GT_ROLE_COPY;
	}
	if (begins(&record->name, "Memset")) {
		take_size(record, "memset_details");
		return GT_ROLE_SET;
	}
	return GT_ROLE_KERNEL;
}

enum gt_role gt_category_rows_role(const struct gt_category_rows *rows,
				   struct gt_trace_event *record)
{
	const int64_t *device = gt_pairmap_find(&rows->device, record->pid, 0);
	const int64_t *stream = gt_pairmap_find(&rows->stream, record->pid, record->tid);
	bool has_id = gt_record_has(record, GT_ARG_CORRELATION_ID);

	if (record->name.kind != GT_SPAN_STRING)
		return GT_ROLE_UNKNOWN;
	if (has_id)
		set_arg(record, GT_ARG_CORRELATION, &record->arg[GT_ARG_CORRELATION_ID]);
	if (!device && has_id && begins(&record->name, "cu"))
		return begins(&record->name, "cuda") ? GT_ROLE_RUNTIME : GT_ROLE_DRIVER;
	if (!device || *device < 1 || !stream || !*stream)
		return GT_ROLE_UNKNOWN;
	record->pid = *device - 1;
	record->tid = *stream - 1;
	record->arg_mask &= ~(1ull << GT_ARG_DEVICE | 1ull << GT_ARG_STREAM);
	return work_of(record);
}

void gt_category_rows_fini(struct gt_category_rows *rows)
{
	gt_pairmap_fini(&rows->device);
	gt_pairmap_fini(&rows->stream);
}
