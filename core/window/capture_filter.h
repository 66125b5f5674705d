/* SPDX-License-Identifier: Apache-2.0
 *
 * What --kernels, --calls, --nvtx-ranges, --streams, --devices and --min-duration leave out. Each
 * of the first five is a list: patterns (core/window/glob.h) between commas, those with a ! in
 * front leave out what they match. A name is kept when no pattern with a ! matches it, and one
 * without does or there is none without.
 *
 * One text says it all, "kernels=*gemm*,!*fill* min-duration=10us": the trace has it, and recovery
 * reads it there. A blank in a pattern becomes ?, which matches it. Any thread; no allocation, no
 * locale.
 */
#ifndef GT_CORE_WINDOW_CAPTURE_FILTER_H
#define GT_CORE_WINDOW_CAPTURE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a list and of the text of all, with their ends. */
#define GT_CAPTURE_LIST   256
#define GT_CAPTURE_FILTER 1600

/* What has a list. */
enum gt_capture_list {
	GT_CAPTURE_KERNELS,
	GT_CAPTURE_CALLS,
	GT_CAPTURE_RANGES, /* a pattern may have @DOMAIN behind it */
	GT_CAPTURE_STREAMS,
	GT_CAPTURE_DEVICES,
	GT_CAPTURE_LISTS_
};

/* All of it. A zeroed one leaves out nothing. */
struct gt_capture_filter {
	char list[GT_CAPTURE_LISTS_][GT_CAPTURE_LIST]; /* empty: keeps everything */
	uint64_t min_duration;                         /* ns */
};

/* The name of the option of a list, "nvtx-ranges". */
extern const char *const gt_capture_lists[GT_CAPTURE_LISTS_];

/* Sets a list from the value of its option. -EINVAL: an empty pattern or a control character;
 * -ENAMETOOLONG. On an error it keeps everything. */
int gt_capture_filter_set(struct gt_capture_filter *filter, enum gt_capture_list which,
			  const char *text);

/* Whether it leaves out anything. */
bool gt_capture_filter_is_set(const struct gt_capture_filter *filter);

/* Whether it leaves out any GPU work. */
bool gt_capture_filter_has_gpu(const struct gt_capture_filter *filter);

/* The text that says it all; empty if it leaves out nothing. */
void gt_capture_filter_describe(const struct gt_capture_filter *filter,
				char ret_text[GT_CAPTURE_FILTER]);

/* The reverse; what makes no sense is left out. */
void gt_capture_filter_parse(const char *text, struct gt_capture_filter *ret_filter);

/* Whether a list keeps a thing with these names: it has several, and one that matches is enough.
 * NULL: it has none. */
bool gt_capture_filter_keeps(const struct gt_capture_filter *filter, enum gt_capture_list which,
			     const char *const *names, size_t count);

/* The same for a range; @domain: empty for the global one. */
bool gt_capture_filter_keeps_range(const struct gt_capture_filter *filter, const char *name,
				   const char *domain);

/* The next pattern of a list, without its !; NULL: there is no other. *@rest: the list, then where
 * to go on. */
const char *gt_capture_filter_next(const char **rest, size_t *ret_length, bool *ret_leaves_out);

/* The name of a kernel without its type, parameters and template arguments ("ns::add" of "void
 * ns::add<float>(float*)"). Returns its length; *ret_name is in @name. */
size_t gt_capture_filter_base(const char *name, const char **ret_name);

#endif
