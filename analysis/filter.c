/* SPDX-License-Identifier: Apache-2.0
 *
 * The --filter half of key.h. Pure over constant models; one thread per filter.
 */
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/filter_nvtx.h"
#include "analysis/key.h"
#include "trace/frame.h"

/* "1.5ms" of @len bytes as nanoseconds; without a unit: ms. */
static bool read_time(const char *text, size_t len, int64_t *ret_ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"", 1e6}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char copy[64], *end;
	double value;

	if (!len || len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = 0;
	value = strtod(copy, &end);
	if (end == copy)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit))
			continue;
		value *= units[i].ns;
		if (!(fabs(value) < 0x1p63)) /* nor is what is no number */
			return false;
		*ret_ns = (int64_t)value;
		return true;
	}
	return false;
}

/* Keeps what is wrong in the text. */
static bool refuse(struct gt_filter *filter, const char *text, size_t len, const char *what)
{
	snprintf(filter->wrong, sizeof(filter->wrong), "\"%.*s\" %s", (int)(len < 40 ? len : 40),
		 text, what);
	return false;
}

static bool parse_time(struct gt_filter *filter, const char *text, size_t len, int64_t *ret_ns)
{
	return read_time(text, len, ret_ns) ||
	       refuse(filter, text, len, "is no time (a number, with ns, us, ms or s)");
}

/* "FROM..TO", either may be missing. */
static bool parse_window(struct gt_filter *filter, struct gt_filter_term *term, const char *text)
{
	const char *dots = strstr(text, "..");

	term->from = 0;
	term->to = INT64_MAX;
	if (!dots)
		return refuse(filter, text, strlen(text), "is no FROM..TO");
	if (dots != text && !parse_time(filter, text, (size_t)(dots - text), &term->from))
		return false;
	if (dots[2] && !parse_time(filter, dots + 2, strlen(dots + 2), &term->to))
		return false;
	return term->from <= term->to ||
	       refuse(filter, text, strlen(text), "ends before it starts");
}

static bool parse_number(struct gt_filter *filter, struct gt_filter_term *term, const char *text)
{
	char *end;

	errno = 0;
	term->from = strtoll(text, &end, 10);
	return (end != text && !*end && !errno) ||
	       refuse(filter, text, strlen(text), "is no whole number");
}

static bool parse_glob(struct gt_filter *filter, struct gt_filter_term *term, const char *text)
{
	(void)filter;
	term->glob = text;
	return *text;
}

static const struct {
	const char *key;
	enum gt_filter_kind kind;
	bool (*parse)(struct gt_filter *filter, struct gt_filter_term *term, const char *text);
} terms[] = {
	{"kernel=", GT_FILTER_KERNEL, parse_glob},   {"api=", GT_FILTER_API, parse_glob},
	{"nvtx=", GT_FILTER_NVTX, parse_glob},       {"step=", GT_FILTER_STEP, parse_glob},
	{"stream=", GT_FILTER_STREAM, parse_number}, {"device=", GT_FILTER_DEVICE, parse_number},
	{"time=", GT_FILTER_TIME, parse_window},
};

int gt_filter_add(struct gt_filter *filter, const char *text)
{
	*filter->wrong = 0;
	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++) {
		size_t n = strlen(terms[i].key);
		struct gt_filter_term term = {.kind = terms[i].kind};

		if (strncmp(text, terms[i].key, n))
			continue;
		if (!terms[i].parse(filter, &term, text + n))
			return -EINVAL;
		term.seen = calloc(1, sizeof(*term.seen));
		if (term.seen && gt_vec_push(&filter->terms, term))
			return 0;
		free(term.seen);
		return -ENOMEM;
	}
	return -EINVAL;
}

void gt_filter_fini(struct gt_filter *filter)
{
	for (size_t i = 0; i < filter->terms.count; i++) {
		gt_filter_seen_fini(filter->terms.at[i].seen);
		free(filter->terms.at[i].seen);
	}
	gt_vec_free(&filter->terms);
}

/* Does the window contain @t? */
static bool in_window(const struct gt_filter_term *term, const struct gt_model *model, int64_t t)
{
	return t - model->origin >= term->from && t - model->origin <= term->to;
}

/* The name of a step, or its number alone: "3" is "ProfilerStep#3". */
static bool is_step(const char *glob, const char *name)
{
	const char *number = strrchr(name, '#');

	return !fnmatch(glob, name, 0) || (number && !strcmp(glob, number + 1));
}

static bool in_step(const struct gt_filter_term *term, const struct gt_model *model, uint32_t step)
{
	return step != GT_NONE &&
	       is_step(term->glob, gt_model_name(model, model->ranges.at[step].name));
}

/* " (2)", which a table puts behind names that read alike; else the text's end. */
static size_t without_number(const char *text)
{
	size_t end = strlen(text), n = end;

	if (!n || text[n - 1] != ')')
		return end;
	for (n--; n && strchr("0123456789", text[n - 1]);)
		n--;
	return n > 2 && n + 1 < end && text[n - 1] == '(' && text[n - 2] == ' ' ? n - 2 : end;
}

/* A short form as tables show it, with "..." for what is left out. */
static bool is_short_form(const char *text, const char *name)
{
	size_t first = strcspn(text, "<(.: ,{"); /* such a run of letters is in the name as it is */

	if (!memmem(name, strlen(name), text, first))
		return false;
	return gt_frame_fits(name, text, strlen(text)) ||
	       gt_frame_fits(name, text, without_number(text));
}

/* A name that had to lose its middle: the text with "..." for any number of characters. */
static bool fits_dots(const char *text, const char *name)
{
	size_t n = 0, length = without_number(text), i = 0;
	char glob[4096];

	if (!strstr(text, "..."))
		return false;
	while (i < length && n + 3 < sizeof(glob)) {
		size_t dots = strspn(text + i, ".");

		if (dots >= 3) {
			glob[n++] = '*';
			i += dots;
			continue;
		}
		if (strchr("*?[\\", text[i]))
			glob[n++] = '\\';
		glob[n++] = text[i++];
	}
	glob[n] = 0;
	return i >= length && !fnmatch(glob, name, 0);
}

/* The whole name, or a short one that tables show. */
static bool is_kernel(const char *glob, const char *name)
{
	char brief[4096];

	if (!fnmatch(glob, name, 0) || is_short_form(glob, name) || fits_dots(glob, name))
		return true;
	gt_frame_shorten(name, 0, brief, sizeof(brief));
	if (!fnmatch(glob, brief, 0) || fits_dots(glob, brief))
		return true;
	gt_frame_shorten_less(name, 0, brief, sizeof(brief));
	return !fnmatch(glob, brief, 0);
}

/* The same of a model's name, which is looked at once. */
static bool has_kernel_name(const struct gt_filter_term *term, const struct gt_model *model,
			    uint32_t name)
{
	struct gt_keymap_entry *entry = gt_filter_seen_of(term, model, name + 1ull);

	if (!entry)
		return is_kernel(term->glob, gt_model_name(model, name));
	if (!entry->value)
		entry->value = is_kernel(term->glob, gt_model_name(model, name)) ? 1 : -1;
	return entry->value > 0;
}

static bool op_passes(const struct gt_filter_term *term, const struct gt_model *model,
		      const struct gt_op *op)
{
	const struct gt_call *call = gt_model_call_of(model, op);

	switch (term->kind) {
	case GT_FILTER_KERNEL:
		return has_kernel_name(term, model, op->name);
	case GT_FILTER_STEP:
		return in_step(term, model, gt_model_step_of(model, op));
	case GT_FILTER_STREAM:
		return op->stream == term->from;
	case GT_FILTER_DEVICE:
		return op->device == term->from;
	case GT_FILTER_TIME:
		return in_window(term, model, op->start);
	case GT_FILTER_NVTX:
		if (op->nvtx != GT_NAME_NONE &&
		    !fnmatch(term->glob, gt_model_name(model, op->nvtx), 0))
			return true;
		return call &&
		       gt_filter_in_nvtx(term, model, call->thread, call->start, call->start);
	default:
		return call && !fnmatch(term->glob, gt_model_name(model, call->name), 0);
	}
}

/* Of kinds, as bits. */
#define BIT(kind) (1u << (kind))

/* Kinds of terms, and those of which one let something pass. */
struct kinds_passed {
	unsigned int asked, passed;
};

static bool is_open(struct kinds_passed *kinds, const struct gt_filter_term *term)
{
	kinds->asked |= BIT(term->kind);
	return !(kinds->passed & BIT(term->kind));
}

bool gt_filter_op(const struct gt_filter *filter, const struct gt_model *model,
		  const struct gt_op *op)
{
	struct kinds_passed kinds = {0};

	for (size_t i = 0; i < filter->terms.count; i++) {
		const struct gt_filter_term *term = &filter->terms.at[i];

		if (is_open(&kinds, term) && op_passes(term, model, op))
			kinds.passed |= BIT(term->kind);
	}
	return kinds.passed == kinds.asked;
}

static bool call_passes(const struct gt_filter_term *term, const struct gt_model *model,
			const struct gt_call *call)
{
	switch (term->kind) {
	case GT_FILTER_API:
		return !fnmatch(term->glob, gt_model_name(model, call->name), 0);
	case GT_FILTER_TIME:
		return in_window(term, model, call->start);
	case GT_FILTER_NVTX:
		return gt_filter_in_nvtx(term, model, call->thread, call->start, call->start);
	case GT_FILTER_STEP:
		return in_step(term, model, gt_model_step_at(model, call->start));
	default:
		return true;
	}
}

#define ONLY_OPS (BIT(GT_FILTER_KERNEL) | BIT(GT_FILTER_STREAM) | BIT(GT_FILTER_DEVICE))
#define OF_STEPS (BIT(GT_FILTER_TIME) | BIT(GT_FILTER_STEP))

static unsigned int kinds_of(const struct gt_filter *filter)
{
	unsigned int kinds = 0;

	for (size_t i = 0; i < filter->terms.count; i++)
		kinds |= BIT(filter->terms.at[i].kind);
	return kinds;
}

int gt_filter_calls_init(struct gt_filter_calls *ret_calls, const struct gt_filter *filter,
			 const struct gt_model *model)
{
	*ret_calls = (struct gt_filter_calls){.filter = filter, .model = model};
	if (!(kinds_of(filter) & ONLY_OPS))
		return 0;
	ret_calls->launched = calloc(model->calls.count + 1, sizeof(bool));
	if (!ret_calls->launched)
		return -ENOMEM;
	for (size_t i = 0; i < model->ops.count; i++) {
		const struct gt_op *op = gt_model_op_at(model, i);

		if (op->call != GT_NONE && gt_filter_op(filter, model, op))
			ret_calls->launched[op->call] = true;
	}
	return 0;
}

void gt_filter_calls_fini(struct gt_filter_calls *calls)
{
	free(calls->launched);
	*calls = (struct gt_filter_calls){0};
}

bool gt_filter_call(const struct gt_filter_calls *calls, const struct gt_call *call)
{
	const struct gt_filter *filter = calls->filter;
	struct kinds_passed kinds = {0};

	if (calls->launched && !calls->launched[call->index])
		return false;
	for (size_t i = 0; i < filter->terms.count; i++) {
		const struct gt_filter_term *term = &filter->terms.at[i];

		if (is_open(&kinds, term) && call_passes(term, calls->model, call))
			kinds.passed |= BIT(term->kind);
	}
	return kinds.passed == kinds.asked;
}

/* What a thread does from @start to @end, and is no CUDA call. */
static bool host_passes(const struct gt_filter_term *term, const struct gt_model *model,
			uint32_t thread, int64_t start, int64_t end)
{
	switch (term->kind) {
	case GT_FILTER_TIME:
		return in_window(term, model, start);
	case GT_FILTER_NVTX:
		return gt_filter_in_nvtx(term, model, thread, start, end);
	case GT_FILTER_STEP:
		return in_step(term, model, gt_model_step_at(model, start));
	default:
		return true;
	}
}

static bool range_passes(const struct gt_filter_term *term, const struct gt_model *model,
			 const struct gt_model_range *range)
{
	return (term->kind == GT_FILTER_NVTX && gt_filter_is_nvtx(term, model, range)) ||
	       host_passes(term, model, range->thread, range->start, range->start + range->dur);
}

bool gt_filter_range(const struct gt_filter *filter, const struct gt_model *model,
		     const struct gt_model_range *range)
{
	struct kinds_passed kinds = {0};

	for (size_t i = 0; i < filter->terms.count; i++) {
		const struct gt_filter_term *term = &filter->terms.at[i];

		if (is_open(&kinds, term) && range_passes(term, model, range))
			kinds.passed |= BIT(term->kind);
	}
	return kinds.passed == kinds.asked;
}

/* A call that is known by its thread and time alone. */
static bool thread_passes(const struct gt_filter *filter, const struct gt_model *model,
			  uint32_t thread, int64_t start, int64_t dur)
{
	struct kinds_passed kinds = {0};

	for (size_t i = 0; i < filter->terms.count; i++) {
		const struct gt_filter_term *term = &filter->terms.at[i];

		if (is_open(&kinds, term) && host_passes(term, model, thread, start, start + dur))
			kinds.passed |= BIT(term->kind);
	}
	return kinds.passed == kinds.asked;
}

bool gt_filter_os_call(const struct gt_filter *filter, const struct gt_model *model,
		       const struct gt_model_os_call *call)
{
	return thread_passes(filter, model, call->thread, call->start, call->dur);
}

bool gt_filter_mpi_call(const struct gt_filter *filter, const struct gt_model *model,
			const struct gt_model_mpi_call *call)
{
	return thread_passes(filter, model, call->thread, call->start, call->dur);
}

static bool step_passes(const struct gt_filter_term *term, const struct gt_model *model,
			const struct gt_model_range *step)
{
	return term->kind == GT_FILTER_TIME ? in_window(term, model, step->start)
					    : is_step(term->glob, gt_model_name(model, step->name));
}

bool gt_filter_step(const struct gt_filter *filter, const struct gt_model *model,
		    const struct gt_model_range *step)
{
	struct kinds_passed kinds = {0};

	for (size_t i = 0; i < filter->terms.count; i++) {
		const struct gt_filter_term *term = &filter->terms.at[i];

		if (BIT(term->kind) & OF_STEPS && is_open(&kinds, term) &&
		    step_passes(term, model, step))
			kinds.passed |= BIT(term->kind);
	}
	return kinds.passed == kinds.asked;
}

bool gt_filter_chooses_steps(const struct gt_filter *filter)
{
	return kinds_of(filter) & BIT(GT_FILTER_STEP);
}

bool gt_filter_chooses_work(const struct gt_filter *filter)
{
	return kinds_of(filter) & ~OF_STEPS;
}

bool gt_filter_any(const struct gt_filter *filter, const struct gt_model *model)
{
	const struct gt_filter_calls calls = {.filter = filter, .model = model};
	unsigned int kinds = kinds_of(filter);

	for (size_t i = 0; i < model->ops.count; i++)
		if (gt_filter_op(filter, model, gt_model_op_at(model, i)))
			return true;
	for (size_t i = 0; !(kinds & ONLY_OPS) && i < model->calls.count; i++)
		if (gt_filter_call(&calls, gt_model_call_at(model, i)))
			return true;
	for (size_t i = 0; !(kinds & (ONLY_OPS | BIT(GT_FILTER_API))) && i < model->ranges.count;
	     i++)
		if (gt_filter_range(filter, model, &model->ranges.at[i]))
			return true;
	for (size_t i = 0; !(kinds & (ONLY_OPS | BIT(GT_FILTER_API))) && i < model->os_calls.count;
	     i++)
		if (gt_filter_os_call(filter, model, &model->os_calls.at[i]))
			return true;
	return false;
}

/* Widens [*from, *until) to what of the trace a term leaves. */
static void widen_by_term(const struct gt_filter_term *term, const struct gt_model *model,
			  int64_t *from, int64_t *until)
{
	int64_t start, end;

	if (__builtin_add_overflow(model->origin, term->from, &start))
		start = INT64_MAX;
	if (__builtin_add_overflow(model->origin, term->to, &end))
		end = INT64_MAX;
	*from = start < *from ? start : *from;
	*until = end > *until ? end : *until;
}

static void widen_by_steps(const struct gt_filter_term *term, const struct gt_model *model,
			   int64_t *from, int64_t *until)
{
	for (size_t i = 0; i < model->ranges.count; i++) {
		const struct gt_model_range *range = &model->ranges.at[i];

		if (!gt_model_is_step(model, range) ||
		    !is_step(term->glob, gt_model_name(model, range->name)))
			continue;
		*from = range->start < *from ? range->start : *from;
		*until = range->start + range->dur > *until ? range->start + range->dur : *until;
	}
}

void gt_filter_window(const struct gt_filter *filter, const struct gt_model *model,
		      int64_t *ret_from, int64_t *ret_until)
{
	static const struct {
		enum gt_filter_kind kind;
		void (*widen)(const struct gt_filter_term *term, const struct gt_model *model,
			      int64_t *from, int64_t *until);
	} kinds[] = {{GT_FILTER_TIME, widen_by_term}, {GT_FILTER_STEP, widen_by_steps}};

	*ret_from = model->first;
	*ret_until = model->last;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		int64_t from = INT64_MAX, until = INT64_MIN;

		for (size_t i = 0; i < filter->terms.count; i++)
			if (filter->terms.at[i].kind == kinds[k].kind)
				kinds[k].widen(&filter->terms.at[i], model, &from, &until);
		if (from > until)
			continue;
		*ret_from = from > *ret_from ? from : *ret_from;
		*ret_until = until < *ret_until ? until : *ret_until;
	}
}
