/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Descriptors are known by their address from their creation to their end; what an
 * attribute says of another descriptor is copied when it is set, as the program may free that one
 * then.
 */
#include "preload/libraries/cudnn_backend.h"

#include <stdatomic.h>
#include <stddef.h>

#include "preload/libraries/cudnn_graph.h"
#include "preload/libraries/freed.h"
#include "preload/libraries/handles.h"
#include "preload/libraries/math.h"

#define EXPORTED __attribute__((visibility("default")))
#define BITS     13

/* cudnnBackendDescriptorType_t */
enum {
	OF_CONVOLUTION = 1,
	OF_ENGINE = 2,
	OF_CONFIGURATION = 3,
	OF_HEURISTICS = 4,
	OF_PLAN = 5,
	OF_PACK = 16,
	OF_GRAPH = 15,
	OF_TENSOR = 17,
	OF_MATMUL = 18,
	TYPE_COUNT = 44,
};

/* cudnnBackendAttributeType_t */
enum { OF_TYPE = 1, OF_BOOLEAN = 2, OF_INT64 = 3, OF_DESCRIPTOR = 15 };

/* cudnnBackendAttributeName_t */
enum {
	CONVOLUTION_COMPUTE = 100,
	CONVOLUTION_DILATIONS = 102,
	CONVOLUTION_STRIDES = 103,
	CONVOLUTION_AFTER = 104,
	CONVOLUTION_BEFORE = 105,
	CONVOLUTION_PLACES = 106,
	HEURISTICS_GRAPH = 201,
	HEURISTICS_RESULTS = 202,
	CONFIGURATION_ENGINE = 300,
	PLAN_CONFIGURATION = 401,
	GRAPH_OPERATIONS = 801,
	TENSOR_TYPE = 901,
	TENSOR_DIMENSIONS = 902,
	TENSOR_IS_VIRTUAL = 907,
	PACK_SHAPES = 1011,
	ENGINE_GRAPH = 1300,
	MATMUL_COMPUTE = 1500,
};

/* The operations that cudnnBackendDescriptorType_t has, GT_MATH_...; 0: it is none. */
static const uint8_t kinds[TYPE_COUNT] = {
	[10] = GT_MATH_CONVOLUTION,
	[11] = GT_MATH_CONVOLUTION_FILTER,
	[12] = GT_MATH_CONVOLUTION_DATA,
	[13] = GT_MATH_POINTWISE,
	[14] = GT_MATH_REDUCTION,
	[19] = GT_MATH_MATMUL,
	[20] = GT_MATH_NORM,
	[22] = GT_MATH_REDUCTION,
	[23] = GT_MATH_NORM_GRADIENT,
	[25] = GT_MATH_RESAMPLE,
	[26] = GT_MATH_RESAMPLE,
	[27] = GT_MATH_OTHER,
	[28] = GT_MATH_OTHER,
	[29] = GT_MATH_NORM,
	[30] = GT_MATH_NORM_GRADIENT,
	[31] = GT_MATH_RESHAPE,
	[33] = GT_MATH_OTHER,
	[35] = GT_MATH_OTHER,
	[36] = GT_MATH_OTHER,
	[37] = GT_MATH_OTHER,
	[39] = GT_MATH_OTHER,
	[40] = GT_MATH_OTHER,
	[41] = GT_MATH_ATTENTION,
	[42] = GT_MATH_OTHER,
	[43] = GT_MATH_ATTENTION_GRADIENT,
};

/* Attributes of operations that are a tensor or a window of it. */
enum cudnn_part { X, W, Y, WINDOW, VARIES };
static const struct {
	uint16_t attribute;
	uint8_t part;
} parts[] = {
	{702, WINDOW},
	{703, W},
	{704, X},
	{705, Y}, /* convolution: y = x * w */
	{708, WINDOW},
	{709, W},
	{710, X},
	{711, Y}, /* its gradient by x */
	{714, WINDOW},
	{715, W},
	{716, X},
	{717, Y}, /* by w */
	{1520, X},
	{1521, W},
	{1522, Y},
	{1523, WINDOW}, /* C = A B */
	{2800, X},
	{2802, W},
	{2803, Y}, /* attention: Q, V, O */
	{2851, X},
	{2853, W},
	{2854, Y},
	/* sizes that only the GPU knows: of products, masks, pages and lengths of sequences */

	{1525, VARIES},
	{1526, VARIES},
	{1527, VARIES},
	{2806, VARIES},
	{2807, VARIES},
	{2808, VARIES},
	{2809, VARIES},
	{2810, VARIES},
	{2857, VARIES},
	{2858, VARIES},
};

struct backend {
	uint8_t type;
	union {
		struct cudnn_operation operation;
		struct cudnn_tensor tensor;
		struct cudnn_window window;
		bool has_shapes;          /* of a pack: others than the plan was made for */
		struct gt_math_call work; /* of a graph, and of what is made for it */
	};
};

static _Atomic uintptr_t keys[1u << BITS];
static struct backend backends[1u << BITS];
static const struct handles handles = {keys, BITS};

static struct backend *find(const void *descriptor)
{
	uint32_t at = descriptor ? handles_find(&handles, (uintptr_t)descriptor) : HANDLES_NONE;

	return at == HANDLES_NONE ? NULL : &backends[at];
}

static bool has_work(unsigned int type)
{
	return (type >= OF_ENGINE && type <= OF_PLAN) || type == OF_GRAPH;
}

static bool is_followed(unsigned int type)
{
	return type == OF_CONVOLUTION || type == OF_TENSOR || type == OF_MATMUL ||
	       type == OF_PACK || has_work(type) || (type < TYPE_COUNT && kinds[type]);
}

static void add(const void *descriptor, unsigned int type)
{
	uint32_t at =
		is_followed(type) ? handles_add(&handles, (uintptr_t)descriptor) : HANDLES_NONE;

	if (at == HANDLES_NONE)
		return;
	backends[at] = (struct backend){.type = (uint8_t)type};
	if (type < TYPE_COUNT && kinds[type])
		backends[at].operation.kind = kinds[type];
}

/* ---- attributes ---- */

struct attribute {
	int name, type;
	int64_t count;
	const void *data;
};

static const void *descriptor_of(const struct attribute *a, int64_t i)
{
	return a->type == OF_DESCRIPTOR && i < a->count ? ((void *const *)a->data)[i] : NULL;
}

static int type_of(const struct attribute *a)
{
	return a->type == OF_TYPE && a->count == 1 ? *(const int *)a->data : -1;
}

static uint8_t copy(const struct attribute *a, int64_t *out, int64_t most)
{
	if (a->type != OF_INT64 || a->count < 1 || a->count > most)
		return 0;
	for (int64_t i = 0; i < a->count; i++)
		out[i] = ((const int64_t *)a->data)[i];
	return (uint8_t)a->count;
}

static void set_tensor(struct backend *b, const struct attribute *a)
{
	if (a->name == TENSOR_TYPE)
		b->tensor.type = cudnn_type(type_of(a));
	else if (a->name == TENSOR_DIMENSIONS)
		b->tensor.rank = copy(a, b->tensor.dims, CUDNN_RANK);
	else if (a->name == TENSOR_IS_VIRTUAL && a->type == OF_BOOLEAN && a->count == 1)
		b->tensor.is_virtual = *(const bool *)a->data;
}

static void set_window(struct backend *b, const struct attribute *a)
{
	int64_t *const lists[] = {b->window.dilation, b->window.stride, b->window.after,
				  b->window.before};

	if (a->name == CONVOLUTION_COMPUTE || a->name == MATMUL_COMPUTE)
		b->window.compute = cudnn_type(type_of(a));
	else if (a->name >= CONVOLUTION_DILATIONS && a->name <= CONVOLUTION_BEFORE)
		b->window.places = copy(a, lists[a->name - CONVOLUTION_DILATIONS], CUDNN_PLACES);
}

static void set_operation(struct backend *b, const struct attribute *a)
{
	const struct backend *other = find(descriptor_of(a, 0));
	struct cudnn_tensor *const tensors[] = {
		[X] = &b->operation.x, [W] = &b->operation.w, [Y] = &b->operation.y};
	unsigned int i = 0;

	while (i < sizeof(parts) / sizeof(parts[0]) && parts[i].attribute != a->name)
		i++;
	if (i == sizeof(parts) / sizeof(parts[0]) || !other)
		return;
	if (parts[i].part == VARIES)
		b->operation.varies = true;
	else if (parts[i].part != WINDOW && other->type == OF_TENSOR)
		*tensors[parts[i].part] = other->tensor;
	else if (parts[i].part == WINDOW &&
		 (other->type == OF_CONVOLUTION || other->type == OF_MATMUL))
		b->operation.window = other->window;
}

static void set_graph(struct backend *b, const struct attribute *a)
{
	struct cudnn_work work = {.operations = 0};

	if (a->name != GRAPH_OPERATIONS)
		return;
	for (int64_t i = 0; i < a->count; i++) {
		const struct backend *other = find(descriptor_of(a, i));

		if (other && other->type < TYPE_COUNT && kinds[other->type])
			cudnn_work_add(&work, &other->operation);
		else
			work.incomplete = true;
		if (!other)
			freed_blame((uintptr_t)descriptor_of(a, i), &work.call);
	}
	b->work = cudnn_work_call(&work);
}

static void set_work(struct backend *b, const struct attribute *a)
{
	const struct backend *other = find(descriptor_of(a, 0));
	bool leads = a->name == HEURISTICS_GRAPH || a->name == CONFIGURATION_ENGINE ||
		     a->name == PLAN_CONFIGURATION || a->name == ENGINE_GRAPH;

	if (leads && other && has_work(other->type))
		b->work = other->work;
}

static void set(struct backend *b, const struct attribute *a)
{
	if (b->type == OF_TENSOR)
		set_tensor(b, a);
	else if (b->type == OF_CONVOLUTION || b->type == OF_MATMUL)
		set_window(b, a);
	else if (b->type == OF_PACK)
		b->has_shapes |= a->name == PACK_SHAPES;
	else if (b->type == OF_GRAPH)
		set_graph(b, a);
	else if (has_work(b->type))
		set_work(b, a);
	else
		set_operation(b, a);
}

/* Configurations that heuristics found are for their graph, and so is the engine of one. */
static void got(const struct backend *b, const struct attribute *a)
{
	if (!has_work(b->type) || a->type != OF_DESCRIPTOR)
		return;
	for (int64_t i = 0; i < a->count; i++) {
		struct backend *other = find(descriptor_of(a, i));

		if (other && has_work(other->type) && other->type != OF_GRAPH)
			other->work = b->work;
	}
}

void cudnn_use_plan(const void *plan, const void *pack, struct gt_math_call *call)
{
	const struct backend *b = find(plan), *with = find(pack);

	if (!b || b->type != OF_PLAN) {
		freed_blame((uintptr_t)plan, call);
		return;
	}
	if (with && with->type == OF_PACK && with->has_shapes)
		call->operations = b->work.operations;
	else
		*call = b->work;
}

/* ---- the functions ---- */

struct function {
	struct gt_behind behind;
	_Atomic bool is_missing;
};

static void *real(struct function *function, const char *name, const void *caller)
{
	void *found = gt_behind_known(&function->behind);

	if (__builtin_expect(found != NULL, 1))
		return found;
	found = gt_behind_look(&function->behind, name, cudnn_library.sonames, caller);
	if (!found && !atomic_exchange(&function->is_missing, true))
		math_missing(name, cudnn_library.name);
	return found;
}

#define REAL(symbol)                                                                               \
	static struct function function;                                                           \
	__typeof__(symbol) *go_on =                                                                \
		(__typeof__(symbol) *)real(&function, #symbol, __builtin_return_address(0))

EXPORTED int cudnnBackendCreateDescriptor(int type, void **descriptor);
int cudnnBackendCreateDescriptor(int type, void **descriptor)
{
	REAL(cudnnBackendCreateDescriptor);
	int result = go_on ? go_on(type, descriptor) : cudnn_not_supported();

	if (result || !descriptor || !*descriptor)
		return result;
	freed_forget((uintptr_t)*descriptor);
	if (cudnn_is_known())
		add(*descriptor, (unsigned int)type);
	return result;
}

/* Before it is freed: another thread may get its address. */
EXPORTED int cudnnBackendDestroyDescriptor(void *descriptor);
int cudnnBackendDestroyDescriptor(void *descriptor)
{
	REAL(cudnnBackendDestroyDescriptor);

	if (descriptor && find(descriptor))
		freed_note((uintptr_t)descriptor);
	if (descriptor)
		handles_remove(&handles, (uintptr_t)descriptor);
	return go_on ? go_on(descriptor) : cudnn_not_supported();
}

EXPORTED int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t count,
				      const void *data);
int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t count, const void *data)
{
	REAL(cudnnBackendSetAttribute);
	int result = go_on ? go_on(descriptor, name, type, count, data) : cudnn_not_supported();
	struct backend *b = result || !data || count < 1 ? NULL : find(descriptor);
	const struct attribute a = {name, type, count, data};

	if (b)
		set(b, &a);
	return result;
}

EXPORTED int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t most,
				      int64_t *count, void *data);
int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t most, int64_t *count,
			     void *data)
{
	REAL(cudnnBackendGetAttribute);
	int result =
		go_on ? go_on(descriptor, name, type, most, count, data) : cudnn_not_supported();
	const struct backend *b = result || !data || !count ? NULL : find(descriptor);
	struct attribute a = {name, type, 0, data};

	if (!b)
		return result;
	a.count = *count < most ? *count : most;
	got(b, &a);
	return result;
}
