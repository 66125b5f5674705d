/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "analysis/usage/peaks.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
	int major, minor;
	unsigned int flops[GT_WORK_TYPE_COUNT_]; /* of an SM in a clock */
} rates[] = {
#define GT_PEAK_RATE(major, minor, f64, f32, tf32, f16, bf16, f8, i8)                              \
	{major, minor, {0, f64, f32, tf32, f16, bf16, f8, i8}},
#include "analysis/usage/peaks.def"
};

static const struct {
	int major, minor;
	const char *word;
	int sms;
	unsigned int mhz, tensor_mhz, gbs;
} chips[] = {
#define GT_PEAK_CHIP(major, minor, word, sms, mhz, tensor_mhz, gbs)                                \
	{major, minor, word, sms, mhz, tensor_mhz, gbs},
#include "analysis/usage/peaks.def"
};

static const char *const type_names[GT_WORK_TYPE_COUNT_] = {"-",    "FP64", "FP32", "TF32",
							    "FP16", "BF16", "FP8",  "INT8"};

const char *gt_peak_type_name(enum gt_work_type type)
{
	return type < GT_WORK_TYPE_COUNT_ ? type_names[type] : "-";
}

static unsigned int rate_of(int64_t major, int64_t minor, enum gt_work_type type)
{
	for (size_t i = 0; i < COUNT(rates); i++)
		if (rates[i].major == major && rates[i].minor == minor)
			return rates[i].flops[type];
	return 0;
}

/* "L4" is no word of "L40S". */
static bool has_word(const char *name, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = strstr(name, word); at; at = strstr(at + 1, word))
		if ((at == name || at[-1] == ' ') && (!at[length] || strchr(" -", at[length])))
			return true;
	return false;
}

/* COUNT(chips): it is none of them. */
static size_t chip_of(const char *gpu, int64_t major, int64_t minor, int64_t sms)
{
	size_t i = 0;

	while (i < COUNT(chips) && !(gpu && chips[i].major == major && chips[i].minor == minor &&
				     chips[i].sms == sms && has_word(gpu, chips[i].word)))
		i++;
	return i;
}

double gt_peak_of(const char *gpu, int64_t major, int64_t minor, int64_t sms,
		  enum gt_work_type type)
{
	bool plain = type == GT_WORK_F64 || type == GT_WORK_F32;
	size_t i = chip_of(gpu, major, minor, sms);

	if (i == COUNT(chips) || type >= GT_WORK_TYPE_COUNT_)
		return 0;
	return 1e6 * rate_of(major, minor, type) * chips[i].sms *
	       (plain ? chips[i].mhz : chips[i].tensor_mhz);
}

double gt_peak_bandwidth(const char *gpu, int64_t major, int64_t minor, int64_t sms)
{
	size_t i = chip_of(gpu, major, minor, sms);

	return i == COUNT(chips) ? 0 : 1e9 * chips[i].gbs;
}

const struct gt_header_device *gt_peak_device(const struct gt_model *model, uint16_t device)
{
	const struct gt_header *header = &model->reading.header;

	for (size_t i = 0; i < header->device_count; i++)
		if (header->devices[i].id == device)
			return &header->devices[i];
	return NULL;
}

double gt_peak_of_device(const struct gt_model *model, uint16_t device, enum gt_work_type type)
{
	const struct gt_header_device *d = gt_peak_device(model, device);

	return d ? gt_peak_of(d->name, d->major, d->minor, d->sms, type) : 0;
}
