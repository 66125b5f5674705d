/* SPDX-License-Identifier: Apache-2.0
 *
 * The report gpu_health_sum: power, clocks and health of each GPU. Pure over constant models; one
 * thread per table.
 */
#include "analysis/usage/energy_curve.h"
#include "analysis/usage/reports.h"
#include "trace/health.h"

static const struct gt_column columns[] = {
	{"seconds", "Read For (s)", "read for s", GT_COLUMN_NUMBER},
	{"energy", "Energy (J)", "energy", GT_COLUMN_ENERGY},
	{"power", "Avg Power (W)", "W", GT_COLUMN_NUMBER},
	{"power_max", "Max Power (W)", "max W", GT_COLUMN_NUMBER},
	{"clock", "Avg SM Clock (MHz)", "SM MHz", GT_COLUMN_NUMBER},
	{"clock_min", "Min SM Clock (MHz)", "min", GT_COLUMN_COUNT},
	{"clock_max", "Max SM Clock (MHz)", "max", GT_COLUMN_COUNT},
	{"temperature", "Max Temperature (C)", "max C", GT_COLUMN_COUNT},
	{"corrected", "Corrected ECC Errors", "corrected", GT_COLUMN_COUNT},
	{"uncorrected", "Uncorrected ECC Errors", "uncorrected", GT_COLUMN_COUNT},
	{"throttled", "Throttled", "throttled", GT_COLUMN_TEXT},
	{"name", "GPU", "GPU", GT_COLUMN_TEXT},
};

static void put_number(struct gt_table *table, bool is_known, double number)
{
	if (is_known)
		gt_table_number(table, number);
	else
		gt_table_absent(table, "-");
}

/* The energy between the first and the last reading; its time in *ret_ns, 0: it is not known. */
static int find_energy(const struct gt_model *model, uint16_t device, double *ret_joules,
		       int64_t *ret_ns)
{
	struct gt_energy_curve curve;
	int rc = gt_energy_curve_make(model, device, &curve);
	size_t count = curve.points.count;

	*ret_ns = 0;
	if (!rc && count > 1) {
		*ret_joules = curve.points.at[count - 1].joules - curve.points.at[0].joules;
		*ret_ns = curve.points.at[count - 1].ts - curve.points.at[0].ts;
	}
	gt_energy_curve_fini(&curve);
	return rc;
}

static int put_device(struct gt_table *table, const struct gt_model *model, uint16_t device)
{
	struct gt_health_span span[GT_HEALTH_READINGS_];
	const struct gt_health_span *power = &span[GT_HEALTH_POWER];
	const struct gt_health_span *clock = &span[GT_HEALTH_CLOCK_SM];
	double joules = 0;
	char text[256];
	int64_t ns = 0, energy_ns;
	int rc = find_energy(model, device, &joules, &energy_ns);

	for (int i = 0; i < GT_HEALTH_READINGS_; i++) {
		span[i] = gt_health_over_time(model, device, (enum gt_health_reading)i);
		ns = span[i].ns > ns ? span[i].ns : ns;
	}
	gt_table_number(table, (double)ns / 1e9);
	put_number(table, energy_ns > 0, joules);
	put_number(table, energy_ns > 0 || power->count,
		   energy_ns > 0 ? joules * 1e9 / (double)energy_ns : power->mean);
	put_number(table, power->count, power->max);
	put_number(table, clock->count, clock->mean);
	put_number(table, clock->count, clock->min);
	put_number(table, clock->count, clock->max);
	put_number(table, span[GT_HEALTH_TEMPERATURE].count, span[GT_HEALTH_TEMPERATURE].max);
	for (int i = GT_HEALTH_ECC_CORRECTED; i <= GT_HEALTH_ECC_UNCORRECTED; i++)
		put_number(table, span[i].count, span[i].risen);
	gt_table_text(table, gt_health_throttled(model, device, text, sizeof(text)));
	gt_key_of_device(model, device, text, sizeof(text));
	gt_table_text(table, text);
	return rc;
}

/* Also of a device without operations. */
static uint64_t devices_of(const struct gt_model *model)
{
	uint64_t present = 0;

	for (size_t i = 0; i < model->health.count; i++)
		if (model->health.at[i].device < 64)
			present |= (uint64_t)1 << model->health.at[i].device;
	return present;
}

GT_USAGE_BUILD(health)
{
	int rc = 0;

	(void)filter;
	gt_table_init(ret_table, report->name, report->title, columns,
		      sizeof(columns) / sizeof(columns[0]));
	for (size_t f = 0; f < job->count; f++) {
		uint64_t present = devices_of(&job->models[f]);

		for (uint16_t device = 0; !rc && device < 64; device++)
			if (present >> device & 1)
				rc = put_device(ret_table, &job->models[f], device);
	}
	return rc;
}
