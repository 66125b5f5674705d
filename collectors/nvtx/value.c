/* SPDX-License-Identifier: Apache-2.0
 *
 * Values as text, see the header. Drain thread.
 */
#include "collectors/nvtx/value.h"

#include <string.h>

#include "collectors/nvtx/number.h"
#include "collectors/nvtx/registry.h"
#include "core/guest/text.h"

#define HEX_MAX 64u

void gt_nvtx_put(struct gt_nvtx_out *out, const char *text, size_t length)
{
	size_t room = (size_t)(out->end - out->at);

	if (length > room)
		length = room;
	memcpy(out->at, text, length);
	out->at += length;
}

void gt_nvtx_put_cstr(struct gt_nvtx_out *out, const char *text)
{
	gt_nvtx_put(out, text, strlen(text));
}

static bool is_full(const struct gt_nvtx_out *out)
{
	return out->at == out->end;
}

static void put_unsigned(struct gt_nvtx_out *out, uint64_t value)
{
	char text[24];

	gt_nvtx_put(out, text, gt_text_decimal(text, value));
}

static void put_signed(struct gt_nvtx_out *out, int64_t value)
{
	if (value < 0)
		gt_nvtx_put_cstr(out, "-");
	put_unsigned(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void gt_nvtx_put_hex(struct gt_nvtx_out *out, const char *data, size_t size)
{
	static const char digits[] = "0123456789abcdef";

	gt_nvtx_put_cstr(out, "0x");
	for (size_t i = 0; i < size && i < HEX_MAX; i++) {
		unsigned char byte = (unsigned char)data[i];
		char pair[2] = {digits[byte >> 4], digits[byte & 15]};

		gt_nvtx_put(out, pair, 2);
	}
}

void gt_nvtx_put_address(struct gt_nvtx_out *out, uint64_t address)
{
	char text[24] = "0x";

	gt_nvtx_put(out, text, 2 + gt_text_hex(text + 2, address));
}

static void put_registered(struct gt_nvtx_out *out, uint64_t handle)
{
	const struct gt_nvtx_object *object =
		gt_nvtx_check((const void *)(uintptr_t)handle, GT_NVTX_STRING);

	if (object)
		gt_nvtx_put(out, object->text, object->length);
	else
		gt_nvtx_put_address(out, handle);
}

void gt_nvtx_put_scalar(struct gt_nvtx_out *out, uint64_t type, const char *data)
{
	size_t size = gt_nvtx_type_size(type);
	char text[32];
	double real;

	if (size > 8)
		gt_nvtx_put_hex(out, data, size);
	else if (gt_nvtx_load_real(type, data, &real))
		gt_nvtx_put(out, text, gt_text_real(text, real));
	else if (type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE)
		put_registered(out, gt_nvtx_load(data, size));
	else if (type == NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS || type == NVTX_PAYLOAD_ENTRY_TYPE_BYTE ||
		 type == NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB)
		gt_nvtx_put_address(out, gt_nvtx_load(data, size));
	else if (type == NVTX_PAYLOAD_ENTRY_TYPE_CHAR || type == NVTX_PAYLOAD_ENTRY_TYPE_CHAR8)
		gt_nvtx_put(out, data, *data ? 1 : 0);
	else if (gt_nvtx_is_signed(type))
		put_signed(out, gt_nvtx_load_signed(data, size));
	else
		put_unsigned(out, gt_nvtx_load(data, size));
}

void gt_nvtx_put_enum(struct gt_nvtx_out *out, const struct gt_nvtx_enum *e, uint64_t value)
{
	uint64_t rest = value;
	bool any = false;

	for (uint32_t i = 0; i < e->count; i++)
		if (!e->entries[i].is_flag && e->entries[i].value == value) {
			gt_nvtx_put_cstr(out, e->entries[i].name);
			return;
		}
	for (uint32_t i = 0; i < e->count; i++) {
		uint64_t flag = e->entries[i].value;

		if (!e->entries[i].is_flag || !flag || (rest & flag) != flag)
			continue;
		if (any)
			gt_nvtx_put_cstr(out, "|");
		gt_nvtx_put_cstr(out, e->entries[i].name);
		rest &= ~flag;
		any = true;
	}
	if (rest || !any) {
		if (any)
			gt_nvtx_put_cstr(out, "|");
		put_unsigned(out, rest);
	}
}

bool gt_nvtx_is_text(uint64_t type)
{
	return type >= NVTX_PAYLOAD_ENTRY_TYPE_CSTRING &&
	       type <= NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32;
}

size_t gt_nvtx_text_unit(uint64_t type)
{
	if (type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF16)
		return 2;
	return type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32 ? 4 : 1;
}

void gt_nvtx_put_units(struct gt_nvtx_out *out, uint64_t type, const char *data, size_t units)
{
	size_t unit = gt_nvtx_text_unit(type);
	char bytes[4];

	if (unit == 1) {
		gt_nvtx_put(out, data, strnlen(data, units));
		return;
	}
	for (size_t i = 0; i < units && !is_full(out); i++) {
		uint64_t c = gt_nvtx_load(data + i * unit, unit);

		if (!c)
			return;
		gt_nvtx_put(out, bytes, gt_text_utf8(bytes, (uint32_t)c));
	}
}
