/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of the predefined payload types, see the header. Any thread.
 */
#include "collectors/nvtx/number.h"

#include <string.h>
#include <wchar.h>

/* Sizes of NVTX_PAYLOAD_ENTRY_TYPE_*; types not listed are not numbers. */
static const uint8_t type_sizes[] = {
	[NVTX_PAYLOAD_ENTRY_TYPE_CHAR] = sizeof(char),
	[NVTX_PAYLOAD_ENTRY_TYPE_UCHAR] = sizeof(char),
	[NVTX_PAYLOAD_ENTRY_TYPE_SHORT] = sizeof(short),
	[NVTX_PAYLOAD_ENTRY_TYPE_USHORT] = sizeof(short),
	[NVTX_PAYLOAD_ENTRY_TYPE_INT] = sizeof(int),
	[NVTX_PAYLOAD_ENTRY_TYPE_UINT] = sizeof(int),
	[NVTX_PAYLOAD_ENTRY_TYPE_LONG] = sizeof(long),
	[NVTX_PAYLOAD_ENTRY_TYPE_ULONG] = sizeof(long),
	[NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG] = sizeof(long long),
	[NVTX_PAYLOAD_ENTRY_TYPE_ULONGLONG] = sizeof(long long),
	[NVTX_PAYLOAD_ENTRY_TYPE_INT8] = 1,
	[NVTX_PAYLOAD_ENTRY_TYPE_UINT8] = 1,
	[NVTX_PAYLOAD_ENTRY_TYPE_INT16] = 2,
	[NVTX_PAYLOAD_ENTRY_TYPE_UINT16] = 2,
	[NVTX_PAYLOAD_ENTRY_TYPE_INT32] = 4,
	[NVTX_PAYLOAD_ENTRY_TYPE_UINT32] = 4,
	[NVTX_PAYLOAD_ENTRY_TYPE_INT64] = 8,
	[NVTX_PAYLOAD_ENTRY_TYPE_UINT64] = 8,
	[NVTX_PAYLOAD_ENTRY_TYPE_FLOAT] = sizeof(float),
	[NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE] = sizeof(double),
	[NVTX_PAYLOAD_ENTRY_TYPE_LONGDOUBLE] = sizeof(long double),
	[NVTX_PAYLOAD_ENTRY_TYPE_SIZE] = sizeof(size_t),
	[NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS] = sizeof(void *),
	[NVTX_PAYLOAD_ENTRY_TYPE_WCHAR] = sizeof(wchar_t),
	[NVTX_PAYLOAD_ENTRY_TYPE_CHAR8] = 1,
	[NVTX_PAYLOAD_ENTRY_TYPE_CHAR16] = 2,
	[NVTX_PAYLOAD_ENTRY_TYPE_CHAR32] = 4,
	[NVTX_PAYLOAD_ENTRY_TYPE_BYTE] = 1,
	[NVTX_PAYLOAD_ENTRY_TYPE_INT128] = 16,
	[NVTX_PAYLOAD_ENTRY_TYPE_UINT128] = 16,
	[NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16] = 2,
	[NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32] = 4,
	[NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64] = 8,
	[NVTX_PAYLOAD_ENTRY_TYPE_FLOAT128] = 16,
	[NVTX_PAYLOAD_ENTRY_TYPE_BF16] = 2,
	[NVTX_PAYLOAD_ENTRY_TYPE_TF32] = 4,
	[NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY] = 4,
	[NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB] = 4,
	[NVTX_PAYLOAD_ENTRY_TYPE_SCOPE_ID] = 8,
	[NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT32] = 4,
	[NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT64] = 8,
	[NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT32] = 4,
	[NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT64] = 8,
	[NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE] = sizeof(void *),
	[NVTX_PAYLOAD_ENTRY_TYPE_UNION_SELECTOR] = 4,
};

size_t gt_nvtx_type_size(uint64_t type)
{
	return type < sizeof(type_sizes) ? type_sizes[type] : 0;
}

bool gt_nvtx_is_signed(uint64_t type)
{
	switch (type) {
	case NVTX_PAYLOAD_ENTRY_TYPE_SHORT:
	case NVTX_PAYLOAD_ENTRY_TYPE_INT:
	case NVTX_PAYLOAD_ENTRY_TYPE_LONG:
	case NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG:
	case NVTX_PAYLOAD_ENTRY_TYPE_INT8:
	case NVTX_PAYLOAD_ENTRY_TYPE_INT16:
	case NVTX_PAYLOAD_ENTRY_TYPE_INT32:
	case NVTX_PAYLOAD_ENTRY_TYPE_INT64:
		return true;
	}
	return false;
}

uint64_t gt_nvtx_load(const char *data, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, data, size); /* little endian, as all processors of core/arch/arch.h */
	return value;
}

int64_t gt_nvtx_load_signed(const char *data, size_t size)
{
	uint64_t value = gt_nvtx_load(data, size);
	unsigned int unused = 64 - (unsigned int)size * 8;

	return (int64_t)(value << unused) >> unused;
}

static double half_to_double(uint16_t half)
{
	uint32_t exponent = half >> 10 & 31, fraction = half & 1023;
	double value = exponent ? (double)(fraction | 1024) : (double)fraction;

	if (exponent == 31)
		value = fraction ? __builtin_nan("") : __builtin_inf();
	for (int e = exponent ? (int)exponent - 25 : -24; exponent != 31 && e; e += e < 0 ? 1 : -1)
		value = e < 0 ? value / 2 : value * 2;
	return half >> 15 ? -value : value;
}

bool gt_nvtx_load_real(uint64_t type, const char *data, double *ret_value)
{
	uint32_t bits;
	float single;

	switch (type) {
	case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16:
		*ret_value = half_to_double((uint16_t)gt_nvtx_load(data, 2));
		return true;
	case NVTX_PAYLOAD_ENTRY_TYPE_BF16:
		bits = (uint32_t)gt_nvtx_load(data, 2) << 16;
		break;
	case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT:
	case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32:
	case NVTX_PAYLOAD_ENTRY_TYPE_TF32:
		bits = (uint32_t)gt_nvtx_load(data, 4);
		break;
	case NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE:
	case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64:
		memcpy(ret_value, data, 8);
		return true;
	default:
		return false;
	}
	memcpy(&single, &bits, sizeof(single));
	*ret_value = single;
	return true;
}

bool gt_nvtx_decode_number(uint64_t type, const char *data, size_t size,
			   struct gt_nvtx_number *ret_number)
{
	size_t width = gt_nvtx_type_size(type);

	if (!width || width > 8 || width > size ||
	    type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE)
		return false;
	ret_number->type = type;
	ret_number->is_enum = false;
	ret_number->is_real = gt_nvtx_load_real(type, data, &ret_number->real);
	ret_number->integer = gt_nvtx_is_signed(type) ? gt_nvtx_load_signed(data, width)
						      : (int64_t)gt_nvtx_load(data, width);
	return true;
}
