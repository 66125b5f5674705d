/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/schema/calls/nccl_told.h"

#include <stdbool.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define OTHER        UINT8_MAX
#define HEX_DIGITS   16

/* NCCL_ALGO_ and NCCL_PROTO_ of src/include/nccl_tuner.h, from 0. */
static const char *const algorithms[] = {
	"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
static const char *const protocols[] = {"LL", "LL128", "SIMPLE"};

/* As ncclDatatypeToString has them, by ncclDataType_t; ncclInt8 is ncclChar, ncclUint8 has none. */
static const char *const types[] = {
	"ncclInt8",    "ncclUint8",    "ncclInt32",      "ncclUint32",
	"ncclInt64",   "ncclUint64",   "ncclFloat16",    "ncclFloat32",
	"ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2",
};

static const char *name_of(const char *const *names, size_t count, uint8_t number)
{
	if (!number)
		return NULL;
	return number <= count ? names[number - 1] : "other";
}

/* @other: what stands for a name that is not among them. */
static uint8_t find(const char *const *names, size_t count, const char *name, size_t length,
		    uint8_t other)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(names[i]) == length && !memcmp(names[i], name, length))
			return (uint8_t)(i + 1);
	return length ? other : 0;
}

const char *gt_nccl_algorithm_name(uint8_t algorithm)
{
	return name_of(algorithms, COUNT(algorithms), algorithm);
}

uint8_t gt_nccl_algorithm_find(const char *name, size_t length)
{
	return find(algorithms, COUNT(algorithms), name, length, OTHER);
}

const char *gt_nccl_protocol_name(uint8_t protocol)
{
	return name_of(protocols, COUNT(protocols), protocol);
}

uint8_t gt_nccl_protocol_find(const char *name, size_t length)
{
	return find(protocols, COUNT(protocols), name, length, OTHER);
}

uint8_t gt_nccl_type_find(const char *name, size_t length)
{
	return find(types, COUNT(types), name, length, 0);
}

uint64_t gt_nccl_hex(const char *text, size_t length)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t value = 0;

	if (length < 3 || length > 2 + HEX_DIGITS || memcmp(text, "0x", 2) != 0)
		return 0;
	for (size_t i = 2; i < length; i++) {
		const char *at = text[i] ? strchr(digits, text[i]) : NULL;

		if (!at)
			return 0;
		value = value << 4 | (uint64_t)(at - digits);
	}
	return value;
}
