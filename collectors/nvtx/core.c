/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of ranges, marks, domains, strings and categories. Application threads; each one copies
 * what it needs at the call (collectors/nvtx/write.c).
 */
#include <string.h>

#include "collectors/nvtx/internal.h"
#include "collectors/nvtx/text.h"

/* Handle of objects that found no room, and of resources, whose handles are never looked up. */
static const char no_object[] = "gputrace";

void gt_nvtx_set_text(struct gt_nvtx_call *call, const char *text)
{
	call->text = text;
	call->text_length =
		text ? (uint16_t)gt_nvtx_text_length(text, GT_NVTX_NAME_MAX, &call->cut) : 0;
}

void gt_nvtx_set_wide(struct gt_nvtx_call *call, const wchar_t *text, char *room)
{
	call->text = room;
	call->text_length =
		text ? (uint16_t)gt_nvtx_text_from_wide(text, room, GT_NVTX_NAME_MAX, &call->cut)
		     : 0;
}

uint32_t gt_nvtx_domain(nvtxDomainHandle_t handle)
{
	const struct gt_nvtx_object *object = gt_nvtx_check(handle, GT_NVTX_DOMAIN);

	if (handle && !object && (const void *)handle != no_object)
		gt_nvtx_count_wrong();
	return gt_nvtx_reference(object);
}

/* ---- attributes ---- */

/* Whether the member lies within the size that the program states for its struct (REQ-75). */
#define HAS(attributes, member)                                                                    \
	((attributes)->size >=                                                                     \
	 offsetof(nvtxEventAttributes_t, member) + sizeof((attributes)->member))

static void set_registered(struct gt_nvtx_call *call, nvtxStringHandle_t handle)
{
	const struct gt_nvtx_object *string = gt_nvtx_check(handle, GT_NVTX_STRING);

	call->string = gt_nvtx_reference(string);
	if ((const void *)handle == no_object)
		gt_nvtx_set_text(call, "(registered strings over the limit)");
	else if (!string && handle)
		gt_nvtx_count_wrong();
}

static void set_message(struct gt_nvtx_call *call, const nvtxEventAttributes_t *attributes,
			char *room)
{
	switch (attributes->messageType) {
	case NVTX_MESSAGE_TYPE_ASCII:
		gt_nvtx_set_text(call, attributes->message.ascii);
		break;
	case NVTX_MESSAGE_TYPE_UNICODE:
		gt_nvtx_set_wide(call, attributes->message.unicode, room);
		break;
	case NVTX_MESSAGE_TYPE_REGISTERED:
		set_registered(call, attributes->message.registered);
		break;
	}
}

static void set_real(struct gt_nvtx_call *call, double value)
{
	call->value_type = GT_NVTX_REAL;
	memcpy(&call->value, &value, sizeof(value));
}

static void set_payload(struct gt_nvtx_call *call, const nvtxEventAttributes_t *attributes)
{
	switch (attributes->payloadType) {
	case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
		call->value_type = GT_NVTX_UNSIGNED;
		call->value = attributes->payload.ullValue;
		break;
	case NVTX_PAYLOAD_TYPE_INT64:
		call->value_type = GT_NVTX_SIGNED;
		call->value = (uint64_t)attributes->payload.llValue;
		break;
	case NVTX_PAYLOAD_TYPE_DOUBLE:
		set_real(call, attributes->payload.dValue);
		break;
	case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
		call->value_type = GT_NVTX_UNSIGNED;
		call->value = attributes->payload.uiValue;
		break;
	case NVTX_PAYLOAD_TYPE_INT32:
		call->value_type = GT_NVTX_SIGNED;
		call->value = (uint64_t)(int64_t)attributes->payload.iValue;
		break;
	case NVTX_PAYLOAD_TYPE_FLOAT:
		set_real(call, (double)attributes->payload.fValue);
		break;
	case NVTX_PAYLOAD_TYPE_EXT: /* an array of reserved0 payloads */
		call->payloads = (const void *)(uintptr_t)attributes->payload.ullValue;
		call->payload_count = call->payloads && attributes->reserved0 > 0
					      ? (size_t)attributes->reserved0
					      : 0;
		break;
	}
}

static void set_attributes(struct gt_nvtx_call *call, nvtxDomainHandle_t domain,
			   const nvtxEventAttributes_t *attributes, char *room)
{
	call->domain = gt_nvtx_domain(domain);
	if (!attributes || !HAS(attributes, category)) {
		gt_nvtx_count_wrong();
		return;
	}
	call->category = attributes->category;
	if (HAS(attributes, color) && attributes->colorType == NVTX_COLOR_ARGB)
		call->color = attributes->color;
	if (HAS(attributes, payload))
		set_payload(call, attributes);
	if (HAS(attributes, message))
		set_message(call, attributes, room);
}

/* ---- ranges and marks; each in the forms Ex, A, W and with a domain ---- */

static void domain_mark_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
	struct gt_nvtx_call call = {.op = GT_NVTX_MARK};
	char room[GT_NVTX_NAME_MAX];

	set_attributes(&call, domain, attributes, room);
	gt_nvtx_write(&call);
}

static nvtxRangeId_t domain_range_start_ex(nvtxDomainHandle_t domain,
					   const nvtxEventAttributes_t *attributes)
{
	struct gt_nvtx_call call = {0};
	char room[GT_NVTX_NAME_MAX];

	set_attributes(&call, domain, attributes, room);
	return gt_nvtx_start(&call);
}

static int domain_range_push_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
	struct gt_nvtx_call call = {0};
	char room[GT_NVTX_NAME_MAX];

	set_attributes(&call, domain, attributes, room);
	return gt_nvtx_push(&call);
}

static void domain_range_end(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
	struct gt_nvtx_call call = {.domain = gt_nvtx_domain(domain)};

	gt_nvtx_end(&call, id);
}

static int domain_range_pop(nvtxDomainHandle_t domain)
{
	struct gt_nvtx_call call = {.domain = gt_nvtx_domain(domain)};

	return gt_nvtx_pop(&call);
}

static void mark_ex(const nvtxEventAttributes_t *attributes)
{
	domain_mark_ex(NULL, attributes);
}

static nvtxRangeId_t range_start_ex(const nvtxEventAttributes_t *attributes)
{
	return domain_range_start_ex(NULL, attributes);
}

static int range_push_ex(const nvtxEventAttributes_t *attributes)
{
	return domain_range_push_ex(NULL, attributes);
}

static void range_end(nvtxRangeId_t id)
{
	domain_range_end(NULL, id);
}

static int range_pop(void)
{
	return domain_range_pop(NULL);
}

static void mark_a(const char *text)
{
	struct gt_nvtx_call call = {.op = GT_NVTX_MARK};

	gt_nvtx_set_text(&call, text);
	gt_nvtx_write(&call);
}

static void mark_w(const wchar_t *text)
{
	struct gt_nvtx_call call = {.op = GT_NVTX_MARK};
	char room[GT_NVTX_NAME_MAX];

	gt_nvtx_set_wide(&call, text, room);
	gt_nvtx_write(&call);
}

static nvtxRangeId_t range_start_a(const char *text)
{
	struct gt_nvtx_call call = {0};

	gt_nvtx_set_text(&call, text);
	return gt_nvtx_start(&call);
}

static nvtxRangeId_t range_start_w(const wchar_t *text)
{
	struct gt_nvtx_call call = {0};
	char room[GT_NVTX_NAME_MAX];

	gt_nvtx_set_wide(&call, text, room);
	return gt_nvtx_start(&call);
}

static int range_push_a(const char *text)
{
	struct gt_nvtx_call call = {0};

	gt_nvtx_set_text(&call, text);
	return gt_nvtx_push(&call);
}

static int range_push_w(const wchar_t *text)
{
	struct gt_nvtx_call call = {0};
	char room[GT_NVTX_NAME_MAX];

	gt_nvtx_set_wide(&call, text, room);
	return gt_nvtx_push(&call);
}

/* ---- registration ---- */

static struct gt_nvtx_key key_of_text(enum gt_nvtx_kind kind, uint32_t domain, const char *text)
{
	struct gt_nvtx_key key = {.kind = kind, .domain = domain, .text = text ? text : ""};
	bool cut;

	key.length = gt_nvtx_text_length(key.text, GT_NVTX_NAME_MAX, &cut);
	return key;
}

static struct gt_nvtx_key key_of_wide(enum gt_nvtx_kind kind, uint32_t domain, const wchar_t *text,
				      char *room)
{
	struct gt_nvtx_key key = {.kind = kind, .domain = domain, .text = room};
	bool cut;

	if (text)
		key.length = gt_nvtx_text_from_wide(text, room, GT_NVTX_NAME_MAX, &cut);
	return key;
}

/* Never NULL: the program might take that for "no tool" and behave differently. */
static void *handle_of(const struct gt_nvtx_key *key)
{
	const struct gt_nvtx_object *object = gt_nvtx_find_or_add(key);

	return object ? (void *)(uintptr_t)object : (void *)(uintptr_t)no_object;
}

static nvtxDomainHandle_t domain_create_a(const char *name)
{
	struct gt_nvtx_key key = key_of_text(GT_NVTX_DOMAIN, 0, name);

	return handle_of(&key);
}

static nvtxDomainHandle_t domain_create_w(const wchar_t *name)
{
	char room[GT_NVTX_NAME_MAX];
	struct gt_nvtx_key key = key_of_wide(GT_NVTX_DOMAIN, 0, name, room);

	return handle_of(&key);
}

static nvtxStringHandle_t register_string_a(nvtxDomainHandle_t domain, const char *text)
{
	struct gt_nvtx_key key = key_of_text(GT_NVTX_STRING, gt_nvtx_domain(domain), text);

	return handle_of(&key);
}

static nvtxStringHandle_t register_string_w(nvtxDomainHandle_t domain, const wchar_t *text)
{
	char room[GT_NVTX_NAME_MAX];
	struct gt_nvtx_key key = key_of_wide(GT_NVTX_STRING, gt_nvtx_domain(domain), text, room);

	return handle_of(&key);
}

/* The newest name counts; repeating the same name uses no room. */
static void add_category(struct gt_nvtx_key *key, uint32_t category)
{
	const struct gt_nvtx_object *known;

	key->number = category;
	known = gt_nvtx_find(key);
	if (!known || known->length != key->length || memcmp(known->text, key->text, key->length))
		gt_nvtx_add(key, NULL);
}

static void domain_name_category_a(nvtxDomainHandle_t domain, uint32_t category, const char *name)
{
	struct gt_nvtx_key key = key_of_text(GT_NVTX_CATEGORY, gt_nvtx_domain(domain), name);

	add_category(&key, category);
}

static void domain_name_category_w(nvtxDomainHandle_t domain, uint32_t category,
				   const wchar_t *name)
{
	char room[GT_NVTX_NAME_MAX];
	struct gt_nvtx_key key = key_of_wide(GT_NVTX_CATEGORY, gt_nvtx_domain(domain), name, room);

	add_category(&key, category);
}

static void name_category_a(uint32_t category, const char *name)
{
	domain_name_category_a(NULL, category, name);
}

static void name_category_w(uint32_t category, const wchar_t *name)
{
	domain_name_category_w(NULL, category, name);
}

/* Objects are kept: records in the rings may still refer to them. */
static void domain_destroy(nvtxDomainHandle_t domain)
{
	(void)domain;
}

static void initialize(const void *reserved)
{
	(void)reserved;
}

static nvtxResourceHandle_t resource_create(nvtxDomainHandle_t domain,
					    nvtxResourceAttributes_t *attributes)
{
	(void)domain;
	if (attributes)
		gt_nvtx_name_resource(attributes);
	return (nvtxResourceHandle_t)(uintptr_t)no_object;
}

static void resource_destroy(nvtxResourceHandle_t resource)
{
	(void)resource;
}

const struct gt_nvtx_slot gt_nvtx_core_slots[] = {
	GT_NVTX_SLOT(NVTX_CBID_CORE_MarkEx, mark_ex),
	GT_NVTX_SLOT(NVTX_CBID_CORE_MarkA, mark_a),
	GT_NVTX_SLOT(NVTX_CBID_CORE_MarkW, mark_w),
	GT_NVTX_SLOT(NVTX_CBID_CORE_RangeStartEx, range_start_ex),
	GT_NVTX_SLOT(NVTX_CBID_CORE_RangeStartA, range_start_a),
	GT_NVTX_SLOT(NVTX_CBID_CORE_RangeStartW, range_start_w),
	GT_NVTX_SLOT(NVTX_CBID_CORE_RangeEnd, range_end),
	GT_NVTX_SLOT(NVTX_CBID_CORE_RangePushEx, range_push_ex),
	GT_NVTX_SLOT(NVTX_CBID_CORE_RangePushA, range_push_a),
	GT_NVTX_SLOT(NVTX_CBID_CORE_RangePushW, range_push_w),
	GT_NVTX_SLOT(NVTX_CBID_CORE_RangePop, range_pop),
	GT_NVTX_SLOT(NVTX_CBID_CORE_NameCategoryA, name_category_a),
	GT_NVTX_SLOT(NVTX_CBID_CORE_NameCategoryW, name_category_w),
	GT_NVTX_SLOT(NVTX_CBID_CORE_NameOsThreadA, gt_nvtx_name_thread_a),
	GT_NVTX_SLOT(NVTX_CBID_CORE_NameOsThreadW, gt_nvtx_name_thread_w),
	{0},
};

const struct gt_nvtx_slot gt_nvtx_core2_slots[] = {
	GT_NVTX_SLOT(NVTX_CBID_CORE2_DomainMarkEx, domain_mark_ex),
	GT_NVTX_SLOT(NVTX_CBID_CORE2_DomainRangeStartEx, domain_range_start_ex),
	GT_NVTX_SLOT(NVTX_CBID_CORE2_DomainRangeEnd, domain_range_end),
	GT_NVTX_SLOT(NVTX_CBID_CORE2_DomainRangePushEx, domain_range_push_ex),
	GT_NVTX_SLOT(NVTX_CBID_CORE2_DomainRangePop, domain_range_pop),
	GT_NVTX_SLOT(NVTX_CBID_CORE2_DomainResourceCreate, resource_create),
	GT_NVTX_SLOT(NVTX_CBID_CORE2_DomainResourceDestroy, resource_destroy),
	GT_NVTX_SLOT(NVTX_CBID_CORE2_DomainNameCategoryA, domain_name_category_a),
	GT_NVTX_SLOT(NVTX_CBID_CORE2_DomainNameCategoryW, domain_name_category_w),
	GT_NVTX_SLOT(NVTX_CBID_CORE2_DomainRegisterStringA, register_string_a),
	GT_NVTX_SLOT(NVTX_CBID_CORE2_DomainRegisterStringW, register_string_w),
	GT_NVTX_SLOT(NVTX_CBID_CORE2_DomainCreateA, domain_create_a),
	GT_NVTX_SLOT(NVTX_CBID_CORE2_DomainCreateW, domain_create_w),
	GT_NVTX_SLOT(NVTX_CBID_CORE2_DomainDestroy, domain_destroy),
	GT_NVTX_SLOT(NVTX_CBID_CORE2_Initialize, initialize),
	{0},
};
