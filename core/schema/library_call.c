/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/schema/library_call.h"

#include <string.h>

#include "core/guest/text.h"
#include "core/schema/collective.h"
#include "core/schema/math_args.h"

#define HEX_DIGITS 16

enum { ONE, RANKS };

static const struct {
	const char *function, *name;
	uint8_t in, out;
} functions[] = {
	{NULL, NULL, 0, 0},
#define GT_NCCL_FUNCTION(id, function, name, in, out) {function, name, in, out},
#include "core/schema/nccl.def"
};

static const struct {
	const char *name;
	uint8_t bytes;
} types[] = {
#define GT_NCCL_TYPE(number, type, bytes) [number] = {type, bytes},
#include "core/schema/nccl.def"
};

static const char *const reductions[] = {
#define GT_NCCL_REDUCTION(number, name) [number] = name,
#include "core/schema/nccl.def"
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const names[GT_LIBRARY_ARG_COUNT_] = {
	[GT_LIBRARY_NAME] = "Collective name",
	[GT_LIBRARY_DTYPE] = "dtype",
	[GT_LIBRARY_IN] = "In msg nelems",
	[GT_LIBRARY_OUT] = "Out msg nelems",
	[GT_LIBRARY_BYTES] = "message bytes",
	[GT_LIBRARY_REDUCTION] = "reduction",
	[GT_LIBRARY_RANKS] = "Group size",
	[GT_LIBRARY_GROUP] = "Process Group Name",
	[GT_LIBRARY_RANK] = "Rank",
	[GT_LIBRARY_ROOT] = "Root Rank",
	[GT_LIBRARY_SOURCE] = "Src Rank",
	[GT_LIBRARY_DESTINATION] = "Dst Rank",
	[GT_LIBRARY_SEQUENCE] = "Seq",
	[GT_LIBRARY_OPERATIONS] = "fused operations",
	[GT_LIBRARY_RESULT] = "result",
	[GT_LIBRARY_LIBRARY] = "library",
	[GT_LIBRARY_CALL] = "library call",
	[GT_LIBRARY_M] = "m",
	[GT_LIBRARY_N] = "n",
	[GT_LIBRARY_K] = "k",
	[GT_LIBRARY_NNZ] = "nnz",
	[GT_LIBRARY_NX] = "nx",
	[GT_LIBRARY_NY] = "ny",
	[GT_LIBRARY_NZ] = "nz",
	[GT_LIBRARY_BATCH] = "batch count",
	[GT_LIBRARY_INPUT] = "input",
	[GT_LIBRARY_FILTER] = "filter",
	[GT_LIBRARY_OUTPUT] = "output",
	[GT_LIBRARY_PADDING] = "padding",
	[GT_LIBRARY_STRIDE] = "stride",
	[GT_LIBRARY_DILATION] = "dilation",
	[GT_LIBRARY_GROUPS] = "groups",
	[GT_LIBRARY_GRAPH] = "operations",
	[GT_LIBRARY_TRANSA] = "transa",
	[GT_LIBRARY_TRANSB] = "transb",
	[GT_LIBRARY_SIDE] = "side",
	[GT_LIBRARY_DIRECTION] = "direction",
	[GT_LIBRARY_A] = "A type",
	[GT_LIBRARY_B] = "B type",
	[GT_LIBRARY_C] = "C type",
	[GT_LIBRARY_COMPUTE] = "compute type",
	[GT_LIBRARY_ALGORITHM] = "algorithm",
	[GT_LIBRARY_EPILOGUE] = "epilogue",
	[GT_LIBRARY_FLOPS] = "FLOPs",
	[GT_LIBRARY_OPERANDS] = "operand bytes",
	[GT_LIBRARY_UNKNOWN] = "sizes unknown",
	[GT_LIBRARY_NUMBER] = "call number",
	[GT_LIBRARY_SENT] = "sent bytes",
	[GT_LIBRARY_RECEIVED] = "received bytes",
	[GT_LIBRARY_TAG] = "tag",
	[GT_LIBRARY_POLLS] = "polls before",
	[GT_LIBRARY_PROTOCOL] = "protocol",
	[GT_LIBRARY_CHANNELS] = "channels",
	[GT_LIBRARY_SEND_NUMBER] = "Send Seq",
	[GT_LIBRARY_RECEIVE_NUMBER] = "Recv Seq",
	[GT_LIBRARY_TRANSFERS] = "transfers",
	[GT_LIBRARY_WAIT_GPU] = "GPU wait (ns)",
	[GT_LIBRARY_WAIT_PEER] = "peer wait (ns)",
	[GT_LIBRARY_WAIT_SEND] = "send wait (ns)",
	[GT_LIBRARY_WAIT_RECEIVE] = "receive wait (ns)",
};

const char *gt_library_arg_name(enum gt_library_arg arg)
{
	return names[arg];
}

static bool is(const char *known, const char *text, size_t length)
{
	return known && strlen(known) == length && !memcmp(known, text, length);
}

enum gt_library_arg gt_library_arg_find(const char *name, size_t length)
{
	unsigned int arg = 0;

	while (arg < GT_LIBRARY_ARG_COUNT_ && !is(names[arg], name, length))
		arg++;
	return (enum gt_library_arg)arg;
}

const char *gt_library_function(unsigned int function)
{
	return function < COUNT(functions) ? functions[function].function : NULL;
}

enum gt_nccl_function gt_library_find_function(const char *name, size_t length)
{
	for (unsigned int i = 1; i < COUNT(functions); i++)
		if (is(functions[i].function, name, length))
			return (enum gt_nccl_function)i;
	return GT_NCCL_NONE;
}

const char *gt_library_name(const struct gt_library_call *call)
{
	if (call->is_mpi)
		return gt_mpi_name(call->function);
	if (call->is_network)
		return GT_NCCL_NETWORK;
	return call->is_math ? gt_math_function(call->math.function)
			     : gt_library_function(call->function);
}

/* What had been taken in was of no such call. */
static void become_math(struct gt_library_call *call)
{
	if (!call->is_math)
		*call = (struct gt_library_call){.is_math = true, .result = call->result};
}

void gt_library_set_name(struct gt_library_call *call, const char *name, size_t length)
{
	enum gt_math_function math = gt_math_find_function(name, length);

	call->function = (uint8_t)gt_mpi_find(name, length);
	call->is_mpi = call->function != GT_MPI_NONE;
	call->is_network = is(GT_NCCL_NETWORK, name, length);
	if (!call->is_mpi)
		call->function = (uint8_t)gt_library_find_function(name, length);
	if (!math)
		return;
	become_math(call);
	call->math.function = math & GT_MATH_FUNCTIONS;
}

bool gt_library_launches(const struct gt_library_call *call)
{
	return call->operations || call->is_math;
}

static const char *collective_of(const struct gt_library_call *call)
{
	const char *name = call->operations && call->function < COUNT(functions)
				   ? functions[call->function].name
				   : NULL;

	return name && *name ? name : NULL;
}

static const char *type_of(const struct gt_library_call *call)
{
	return !call->is_network && call->dtype && call->dtype <= COUNT(types)
		       ? types[call->dtype - 1].name
		       : NULL;
}

static const char *reduction_of(const struct gt_library_call *call)
{
	if (!call->reduction || call->is_network)
		return NULL;
	return call->reduction <= COUNT(reductions) ? reductions[call->reduction - 1] : "custom";
}

uint64_t gt_library_bytes(const struct gt_library_call *call)
{
	uint64_t most = call->in > call->out ? call->in : call->out, bytes;

	if (call->is_mpi)
		return most;
	if (!call->is_math && call->untyped)
		return call->in && call->out ? most : 0;
	if (call->is_math || !type_of(call) ||
	    __builtin_mul_overflow(most, types[call->dtype - 1].bytes, &bytes))
		return 0;
	return bytes;
}

uint64_t gt_library_type_bytes(uint8_t dtype)
{
	return dtype && dtype <= COUNT(types) ? types[dtype - 1].bytes : 0;
}

static uint64_t times(uint8_t factor, uint64_t count, uint32_t ranks)
{
	uint64_t all;

	if (factor == ONE)
		return count;
	return __builtin_mul_overflow(count, (uint64_t)ranks, &all) ? 0 : all;
}

void gt_library_count(struct gt_library_call *call, uint64_t count)
{
	if (call->function >= COUNT(functions))
		return;
	call->in = times(functions[call->function].in, count, call->ranks);
	call->out = times(functions[call->function].out, count, call->ranks);
}

/* ---- what is in a trace ---- */

struct put {
	struct gt_library_value *values;
	size_t count;
};

static void put_text(struct put *put, enum gt_library_arg arg, const char *text)
{
	if (text)
		put->values[put->count++] = (struct gt_library_value){.arg = arg, .text = text};
}

static void put_number(struct put *put, enum gt_library_arg arg, uint64_t number)
{
	put->values[put->count++] = (struct gt_library_value){.arg = arg, .number = number};
}

/* As text: a number of JSON holds 53 bits. */
static void put_communicator(struct put *put, uint64_t communicator)
{
	struct gt_library_value *value = &put->values[put->count];
	char *p = value->room;

	if (!communicator)
		return;
	*value = (struct gt_library_value){.arg = GT_LIBRARY_GROUP, .text = value->room};
	*p++ = '0';
	*p++ = 'x';
	for (int i = HEX_DIGITS - 1; i >= 0; i--)
		*p++ = "0123456789abcdef"[communicator >> (4 * i) & 15];
	*p = 0;
	put->count++;
}

/* Of the others it is the root. */
static const uint8_t peers[GT_NCCL_FUNCTION_COUNT_] = {
	[GT_NCCL_SEND] = GT_LIBRARY_DESTINATION,
	[GT_NCCL_RECV] = GT_LIBRARY_SOURCE,
	[GT_NCCL_PUT_SIGNAL] = GT_LIBRARY_DESTINATION,
	[GT_NCCL_SIGNAL] = GT_LIBRARY_DESTINATION,
};

static enum gt_library_arg peer_of(const struct gt_library_call *call)
{
	if (call->is_mpi)
		return gt_mpi_is_collective(gt_mpi_class_of(call->function))
			       ? GT_LIBRARY_ROOT
			       : GT_LIBRARY_DESTINATION;
	if (call->function < COUNT(peers) && peers[call->function])
		return (enum gt_library_arg)peers[call->function];
	return GT_LIBRARY_ROOT;
}

static void put_bytes(struct put *put, const struct gt_library_call *call)
{
	if (call->in)
		put_number(put, GT_LIBRARY_SENT, call->in);
	if (call->out)
		put_number(put, GT_LIBRARY_RECEIVED, call->out);
}

static void put_message(struct put *put, const struct gt_library_call *call, bool of_kernel)
{
	uint64_t bytes = gt_library_bytes(call);

	put_text(put, GT_LIBRARY_NAME, collective_of(call));
	put_text(put, GT_LIBRARY_DTYPE, type_of(call));
	if (call->untyped) {
		put_bytes(put, call);
	} else if (call->in || call->out) {
		put_number(put, GT_LIBRARY_IN, call->in);
		put_number(put, GT_LIBRARY_OUT, call->out);
	}
	if (bytes && !of_kernel)
		put_number(put, GT_LIBRARY_BYTES, bytes);
	put_text(put, GT_LIBRARY_REDUCTION, reduction_of(call));
}

/* Of a receive the room, where the status does not tell how much came. */
static void put_mpi(struct put *put, const struct gt_library_call *call)
{
	put_bytes(put, call);
	if (call->source)
		put_number(put, GT_LIBRARY_SOURCE, call->source - 1u);
	if (call->has_tag)
		put_number(put, GT_LIBRARY_TAG, (uint64_t)call->tag);
	if (call->polls)
		put_number(put, GT_LIBRARY_POLLS, call->polls);
}

static void put_told(struct put *put, const struct gt_library_call *call)
{
	put_text(put, GT_LIBRARY_ALGORITHM, gt_nccl_algorithm_name(call->algorithm));
	put_text(put, GT_LIBRARY_PROTOCOL, gt_nccl_protocol_name(call->protocol));
	if (call->channels)
		put_number(put, GT_LIBRARY_CHANNELS, call->channels);
}

static void put_network(struct put *put, const struct gt_library_call *call)
{
	put_text(put, GT_LIBRARY_NAME, collective_of(call));
	put_bytes(put, call);
	put_number(put, GT_LIBRARY_TRANSFERS, call->operations);
	for (unsigned int i = 0; i < GT_NCCL_WAIT_COUNT_; i++)
		put_number(put, GT_LIBRARY_WAIT_GPU + i, call->wait[i]);
}

/* Of a launch with messages to one rank and from one both. */
static void put_peers(struct put *put, const struct gt_library_call *call)
{
	if (call->is_mpi || (!call->to_number && !call->from_number)) {
		if (call->peer)
			put_number(put, peer_of(call), call->peer - 1u);
		return;
	}
	if (call->from_number)
		put_number(put, GT_LIBRARY_SOURCE, call->from - 1u);
	if (call->to_number)
		put_number(put, GT_LIBRARY_DESTINATION, call->to - 1u);
	if (call->to_number)
		put_number(put, GT_LIBRARY_SEND_NUMBER, call->to_number);
	if (call->from_number)
		put_number(put, GT_LIBRARY_RECEIVE_NUMBER, call->from_number);
}

static void put_collective(struct put *put, const struct gt_library_call *call, bool of_kernel)
{
	if (call->is_mpi)
		put_mpi(put, call);
	else if (call->is_network)
		put_network(put, call);
	else
		put_message(put, call, of_kernel);
	if (call->ranks)
		put_number(put, GT_LIBRARY_RANKS, call->ranks);
	put_communicator(put, call->communicator);
	if (call->rank)
		put_number(put, GT_LIBRARY_RANK, call->rank - 1u);
	if (!call->is_network)
		put_peers(put, call);
	if (call->sequence)
		put_number(put, GT_LIBRARY_SEQUENCE, call->sequence);
	if (call->operations > 1 && !call->is_network)
		put_number(put, GT_LIBRARY_OPERATIONS, call->operations);
	put_told(put, call);
}

size_t gt_library_values(const struct gt_library_call *call, bool of_kernel,
			 struct gt_library_value *ret_values)
{
	struct put put = {.values = ret_values};

	if (call->is_math)
		put.count = gt_math_values(&call->math, of_kernel, ret_values);
	else
		put_collective(&put, call, of_kernel);
	if (call->result && !of_kernel)
		put_number(&put, GT_LIBRARY_RESULT, (uint64_t)(int64_t)call->result);
	return put.count;
}

/* ---- what is read from one ---- */

static uint8_t find_type(const char *text, size_t length)
{
	for (size_t i = 0; i < COUNT(types); i++)
		if (is(types[i].name, text, length))
			return (uint8_t)(i + 1);
	return 0;
}

static uint8_t find_reduction(const char *text, size_t length)
{
	for (size_t i = 0; i < COUNT(reductions); i++)
		if (is(reductions[i], text, length))
			return (uint8_t)(i + 1);
	return is("custom", text, length) ? COUNT(reductions) + 1 : 0;
}

static uint8_t find_collective(const char *text, size_t length)
{
	for (size_t i = 1; i < COUNT(functions); i++)
		if (is(functions[i].name, text, length))
			return (uint8_t)i;
	return 0;
}

static void need_operations(struct gt_library_call *call)
{
	call->operations = call->operations ? call->operations : 1;
}

void gt_library_set_text(struct gt_library_call *call, enum gt_library_arg arg, const char *text,
			 size_t length)
{
	if (arg == GT_LIBRARY_LIBRARY)
		become_math(call);
	if (call->is_math) {
		gt_math_set_text(&call->math, arg, text, length);
	} else if (arg == GT_LIBRARY_NAME && length) {
		need_operations(call);
		if (!call->function) /* of a call it is known from its name */
			call->function = find_collective(text, length);
	} else if (arg == GT_LIBRARY_DTYPE) {
		call->dtype = find_type(text, length);
	} else if (arg == GT_LIBRARY_REDUCTION) {
		call->reduction = find_reduction(text, length);
	} else if (arg == GT_LIBRARY_GROUP) {
		call->communicator = gt_nccl_hex(text, length);
	} else if (arg == GT_LIBRARY_ALGORITHM) {
		call->algorithm = gt_nccl_algorithm_find(text, length);
	} else if (arg == GT_LIBRARY_PROTOCOL) {
		call->protocol = gt_nccl_protocol_find(text, length);
	}
}

/* Bytes in place of elements: of MPI, or without a type. */
static void set_wide(struct gt_library_call *call, enum gt_library_arg arg, uint64_t *ret,
		     uint64_t number)
{
	*ret = number;
	if ((arg == GT_LIBRARY_SENT || arg == GT_LIBRARY_RECEIVED) && !call->is_network)
		call->untyped = !call->is_mpi;
}

static void set_network(struct gt_library_call *call, enum gt_library_arg arg, uint64_t number)
{
	if (arg == GT_LIBRARY_TRANSFERS)
		call->operations = (uint32_t)number;
	else if (arg >= GT_LIBRARY_WAIT_GPU)
		call->wait[arg - GT_LIBRARY_WAIT_GPU] = number;
}

void gt_library_set_number(struct gt_library_call *call, enum gt_library_arg arg, uint64_t number)
{
	uint64_t *const wide[GT_LIBRARY_ARG_COUNT_] = {[GT_LIBRARY_IN] = &call->in,
						       [GT_LIBRARY_OUT] = &call->out,
						       [GT_LIBRARY_SENT] = &call->in,
						       [GT_LIBRARY_RECEIVED] = &call->out,
						       [GT_LIBRARY_SEQUENCE] = &call->sequence,
						       [GT_LIBRARY_GROUP] = &call->communicator};
	uint32_t *const counts[GT_LIBRARY_ARG_COUNT_] = {
		[GT_LIBRARY_RANKS] = &call->ranks,
		[GT_LIBRARY_OPERATIONS] = &call->operations,
		[GT_LIBRARY_POLLS] = &call->polls,
		[GT_LIBRARY_SEND_NUMBER] = &call->to_number,
		[GT_LIBRARY_RECEIVE_NUMBER] = &call->from_number};
	uint32_t *const numbers[GT_LIBRARY_ARG_COUNT_] = {
		[GT_LIBRARY_RANK] = &call->rank,
		[GT_LIBRARY_ROOT] = &call->peer,
		[GT_LIBRARY_SOURCE] = call->is_mpi ? &call->source : &call->peer,
		[GT_LIBRARY_DESTINATION] = &call->peer};

	if (arg >= GT_LIBRARY_ARG_COUNT_)
		return;
	if (arg == GT_LIBRARY_RESULT)
		call->result = (int32_t)number;
	else if (call->is_math)
		gt_math_set_number(&call->math, arg, number);
	else if (call->is_network && arg >= GT_LIBRARY_TRANSFERS)
		set_network(call, arg, number);
	else if (arg == GT_LIBRARY_CHANNELS)
		call->channels = (uint8_t)number;
	else if (arg == GT_LIBRARY_TAG)
		call->has_tag = true, call->tag = (int32_t)number;
	else if (wide[arg])
		set_wide(call, arg, wide[arg], number);
	else if (counts[arg])
		*counts[arg] = (uint32_t)number;
	else if (numbers[arg])
		*numbers[arg] = (uint32_t)number + 1;
	if (arg == GT_LIBRARY_DESTINATION && !call->is_mpi && !call->is_network)
		call->to = call->peer;
	else if (arg == GT_LIBRARY_SOURCE && !call->is_mpi && !call->is_network)
		call->from = call->peer;
}

/* Where it is certain how many elements they are. */
static void count_elements(struct gt_library_call *call, uint64_t bytes)
{
	if (!call->in || !call->out || call->in % bytes || call->out % bytes)
		return;
	call->in /= bytes;
	call->out /= bytes;
	call->untyped = false;
}

void gt_library_see_kernel(struct gt_library_call *call, const char *kernel)
{
	const char *name = collective_of(call);
	struct gt_collective of_kernel;

	if (call->is_math || !call->untyped || !name ||
	    !gt_collective_of_kernel(kernel, &of_kernel) || strcmp(of_kernel.name, name) != 0 ||
	    !of_kernel.dtype)
		return;
	call->dtype = find_type(of_kernel.dtype, strlen(of_kernel.dtype));
	if (call->dtype)
		count_elements(call, types[call->dtype - 1].bytes);
}

/* ---- as text ---- */

size_t gt_library_text(const struct gt_library_call *call, bool of_kernel,
		       char out[GT_LIBRARY_TEXT_MAX])
{
	struct gt_library_value values[GT_LIBRARY_ARG_COUNT_];
	size_t count = gt_library_values(call, of_kernel, values), n = 0;

	out[0] = 0;
	for (size_t i = 0; i < count; i++) {
		char number[24];

		number[gt_text_decimal(number, values[i].number)] = 0;
		n += gt_text_format(out + n, GT_LIBRARY_TEXT_MAX - n, "%s%s: %s", i ? ", " : "",
				    names[values[i].arg], values[i].text ? values[i].text : number);
	}
	return n;
}

/* Though it may begin with a digit. */
static bool is_text(enum gt_library_arg arg)
{
	return arg == GT_LIBRARY_GROUP || (arg >= GT_LIBRARY_INPUT && arg <= GT_LIBRARY_GROUPS);
}

static void parse_value(struct gt_library_call *call, enum gt_library_arg arg, const char *text,
			size_t length)
{
	uint64_t number = 0;

	for (size_t i = 0; i < length && text[i] >= '0' && text[i] <= '9'; i++)
		number = number * 10 + (uint64_t)(text[i] - '0');
	if (length && (is_text(arg) || *text < '0' || *text > '9'))
		gt_library_set_text(call, arg, text, length);
	else
		gt_library_set_number(call, arg, number);
}

void gt_library_parse(const char *text, size_t length, struct gt_library_call *call)
{
	while (length) {
		const char *comma = memchr(text, ',', length);
		size_t part = comma ? (size_t)(comma - text) : length;
		const char *colon = memchr(text, ':', part);
		size_t key = colon ? (size_t)(colon - text) : part;

		if (key + 2 < part)
			parse_value(call, gt_library_arg_find(text, key), text + key + 2,
				    part - key - 2);
		part += comma && part + 2 <= length ? 2 : 0;
		text += part;
		length -= comma ? part : length;
	}
}
