/* SPDX-License-Identifier: Apache-2.0
 *
 * How far this process is in each communicator of NCCL and MPI, see report.h: what it called last,
 * and the oldest collective that the GPU has not finished. Others may wait for the next one.
 */
#include <string.h>

#include "core/control/hang_summary.h"
#include "core/guest/text.h"
#include "pipeline/hang/report.h"
#include "pipeline/join/join.h"
#include "pipeline/ranges/ranges.h"
#include "pipeline/sources/calls.h"

static struct gt_hang_communicator *find(struct gt_hang_report *report, uint64_t communicator)
{
	for (uint32_t i = 0; i < report->communicator_count; i++)
		if (report->communicators[i].last.communicator == communicator)
			return &report->communicators[i];
	return NULL;
}

static void see(void *context, const struct gt_in_flight_launch *launch)
{
	struct gt_hang_report *report = context;
	uint64_t start = launch->launch->start;
	struct gt_library_call call;

	if (start > report->trace_now)
		return;
	for (uint32_t i = 0;
	     gt_ranges_library(report->hang->ranges, launch->launch->library, i, &call); i++) {
		struct gt_hang_communicator *of = find(report, call.communicator);

		if (!of || !call.sequence ||
		    (of->waits.function && report->trace_now - start <= of->waits_age))
			continue;
		of->waits = call;
		of->waits_age = report->trace_now - start;
	}
}

/* The host waits in MPI's. */
static void see_inside(struct gt_hang_communicator *of, const struct gt_range_collective *one)
{
	if (!one->call.is_mpi || !one->is_inside || !gt_mpi_is_now(one->call.function))
		return;
	of->waits = one->call;
	of->waits_age = of->last_age;
}

void gt_hang_find_collectives(struct gt_hang_report *report)
{
	const struct gt_range_collectives *all = gt_ranges_collectives(report->hang->ranges);
	const struct gt_call_join *join = report->hang->calls->join;

	for (uint32_t i = 0; i < GT_RANGE_COLLECTIVES; i++) {
		const struct gt_range_collective *one = &all->of[i];

		struct gt_hang_communicator *of =
			&report->communicators[report->communicator_count];

		if (!one->call.communicator)
			continue;
		*of = (struct gt_hang_communicator){
			.last = one->call,
			.last_age = one->start < report->trace_now ? report->trace_now - one->start
								   : 0};
		see_inside(of, one);
		report->communicator_count++;
	}
	if (report->has_cupti && report->communicator_count)
		gt_in_flight_each(&join->flight, join->calls, see, report);
}

void gt_hang_communicator_text(uint64_t communicator, char ret_text[GT_HANG_COMMUNICATOR_TEXT])
{
	char digits[16];
	size_t count = gt_text_hex(digits, communicator);

	memset(ret_text, '0', GT_HANG_COMMUNICATOR_TEXT - 1);
	ret_text[1] = 'x';
	memcpy(ret_text + GT_HANG_COMMUNICATOR_TEXT - 1 - count, digits, count);
	ret_text[GT_HANG_COMMUNICATOR_TEXT - 1] = 0;
}

static const char *name_of(const struct gt_library_call *call)
{
	const char *name = gt_library_name(call);

	return name ? name : "?";
}

/* Whether it waits in one: of MPI's the call tells, unless it has gone on with a request. */
static bool is_known(const struct gt_hang_report *report, const struct gt_library_call *last)
{
	if (last->is_mpi)
		return gt_mpi_is_now(last->function);
	return report->has_cupti && !report->is_outside;
}

void gt_hang_print_summary(const struct gt_hang_report *report, struct gt_json *out)
{
	char line[256];
	size_t length;

	gt_json_raw(out, GT_HANG_SUMMARY, sizeof(GT_HANG_SUMMARY) - 1);
	for (uint32_t i = 0; i < report->communicator_count; i++) {
		const struct gt_hang_communicator *of = &report->communicators[i];
		const struct gt_library_call *waits = &of->waits;

		length = gt_text_format(
			line, sizeof(line), "%lx %u %u %lu %s %lu %lu %s %lu %lu\n",
			(unsigned long)of->last.communicator, of->last.ranks, of->last.rank,
			(unsigned long)of->last.sequence, name_of(&of->last),
			(unsigned long)(of->last_age / 1000000u), (unsigned long)waits->sequence,
			waits->function               ? name_of(waits)
			: is_known(report, &of->last) ? "-"
						      : "?",
			(unsigned long)(of->waits_age / 1000000u),
			(unsigned long)(report->idle / 1000000u));
		gt_json_raw(out, line, length);
	}
}
