/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the packets of a .pftrace in order, up to a cut. Only accepts gputrace's own files, which
 * have the metadata before all events. One thread per reading.
 */
#include "readers/perfetto/pftrace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define NOT_OURS                "not a .pftrace of gputrace"
#define PACKETS_BEFORE_METADATA 16

/* The fields of a packet, collected first: its time is needed before its content. */
struct packet {
	uint64_t sequence, delta;
	bool has_time, cleared, tells_gpus;
	struct gt_wire_field names, track, event, sample, stage, clocks;
};

static bool take_packet(struct gt_wire wire, struct packet *ret_packet)
{
	struct packet packet = {0};
	struct gt_wire_field field;

	while (gt_wire_next(&wire, &field)) {
		if (field.number == GT_PF_SEQUENCE)
			packet.sequence = field.value;
		else if (field.number == GT_PF_TIMESTAMP)
			packet.delta = field.value, packet.has_time = true;
		else if (field.number == GT_PF_INTERNED)
			packet.names = field;
		else if (field.number == GT_PF_TRACK)
			packet.track = field;
		else if (field.number == GT_PF_TRACK_EVENT)
			packet.event = field;
		else if (field.number == GT_PF_PERF_SAMPLE)
			packet.sample = field;
		else if (field.number == GT_PF_RENDER_STAGE)
			packet.stage = field;
		else if (field.number == GT_PF_CLOCK_SNAPSHOT)
			packet.clocks = field;
		else if (field.number == GT_PF_SEQUENCE_FLAGS)
			packet.cleared = field.value & GT_PF_STATE_CLEARED;
		else if (field.number == GT_PF_GPU_INFO)
			packet.tells_gpus = true;
	}
	*ret_packet = packet;
	return !wire.bad;
}

/* Sets the clock that the times of a sequence are relative to. */
static void take_clocks(struct gt_pftrace *pf, uint64_t sequence, struct gt_wire wire)
{
	struct gt_wire_field field, inner;

	while (gt_wire_next(&wire, &field)) {
		struct gt_wire clock = gt_wire_inside(&field);
		uint64_t id = 0, time = 0;

		while (field.number == GT_PF_CLOCKS && gt_wire_next(&clock, &inner)) {
			if (inner.number == GT_PF_CLOCK_ID)
				id = inner.value;
			else if (inner.number == GT_PF_CLOCK_TIME)
				time = inner.value;
		}
		if (id == GT_PF_CLOCK_DELTA) {
			pf->clock[sequence] = time;
			pf->has_clock[sequence] = true;
		}
	}
}

/* What a packet is of, beside the wanted process. */
enum { OF_EARLIER = 1, BEGINS_NEXT };

/* The processes of a file follow each other, and the sequence of each begins with its clock. 0, one
 * of the above, -EBADMSG. */
static int find_sequence(struct gt_pftrace *pf, const struct packet *packet, uint64_t *ret_sequence)
{
	uint64_t number = packet->sequence - 1, part = number / GT_PF_SEQUENCES;
	uint32_t wanted = pf->events->part;

	if (!packet->sequence)
		return -EBADMSG;
	if (part == wanted + 1u && packet->cleared && packet->clocks.data)
		return BEGINS_NEXT;
	if (part > wanted || (part < wanted && pf->has_clock[GT_PF_SEQUENCE_HOST]))
		return -EBADMSG;
	*ret_sequence = GT_PF_SEQUENCE_HOST + number % GT_PF_SEQUENCES;
	return part < wanted ? OF_EARLIER : 0;
}

static int act_on(struct gt_pftrace *pf, const struct packet *packet)
{
	uint64_t sequence;
	int error = find_sequence(pf, packet, &sequence);

	if (error)
		return error == OF_EARLIER ? 0 : error;
	if (packet->cleared)
		gt_pftrace_forget_names(pf, sequence);
	if (packet->clocks.data)
		take_clocks(pf, sequence, gt_wire_inside(&packet->clocks));
	if (!pf->has_clock[sequence])
		return -EBADMSG;
	if (packet->has_time)
		pf->clock[sequence] += packet->delta;
	if (packet->names.data)
		error = gt_pftrace_take_names(pf, sequence, gt_wire_inside(&packet->names));
	if (!error && packet->track.data)
		error = gt_pftrace_take_track(pf, gt_wire_inside(&packet->track));
	if (!error && packet->event.data)
		error = gt_pftrace_take_event(pf, gt_wire_inside(&packet->event),
					      pf->clock[sequence]);
	if (!error && packet->sample.data)
		error = gt_pftrace_take_sample(pf, gt_wire_inside(&packet->sample),
					       pf->clock[sequence]);
	if (!error && packet->stage.data)
		error = gt_pftrace_take_stage(pf, gt_wire_inside(&packet->stage),
					      pf->clock[sequence]);
	return error;
}

/* Finds a complete packet at the start of the window: *ret_packet is its content, *ret_size its
 * size including the head. 1: found, 0: more bytes are needed, -EBADMSG: not a packet. */
static int find_packet(const struct gt_input *in, struct gt_wire *ret_packet, size_t *ret_size)
{
	const uint8_t *begin = (const uint8_t *)in->data, *end = begin + in->size, *at = begin;
	uint64_t tag, size;

	if (!gt_wire_varint(&at, end, &tag))
		return end - begin < 10 ? 0 : -EBADMSG;
	if (tag != (GT_PF_PACKET << 3 | 2))
		return -EBADMSG;
	if (!gt_wire_varint(&at, end, &size))
		return end - at < 10 ? 0 : -EBADMSG;
	if (size > (uint64_t)1 << 30)
		return -EBADMSG;
	if (size > (uint64_t)(end - at))
		return 0;
	*ret_packet = gt_wire_of(at, (size_t)size);
	*ret_size = (size_t)(at - begin) + (size_t)size;
	return 1;
}

/* Whether a packet may hold metadata: it contains the name, and is longer than most events. */
static bool may_be_metadata(const struct gt_wire *wire)
{
	size_t size = (size_t)(wire->end - wire->at);

	return size > 128 && memmem(wire->at, size, GT_PF_HEADER_NAME, strlen(GT_PF_HEADER_NAME));
}

/* Each process has its own, with the number of them all. */
static int take_only_metadata(struct gt_pftrace *pf, const struct packet *packet)
{
	uint64_t part = (packet->sequence - 1) / GT_PF_SEQUENCES;

	if (part != pf->events->part)
		return pf->has_metadata && part > pf->events->part ? BEGINS_NEXT : 0;
	return gt_pftrace_take_event(pf, gt_wire_inside(&packet->event), 0);
}

static int take_whole(struct gt_pftrace *pf, struct gt_wire wire)
{
	struct packet packet;
	int error;

	if (pf->metadata_only && !may_be_metadata(&wire))
		return 0;
	if (!take_packet(wire, &packet))
		return -EBADMSG;
	if (pf->metadata_only && !packet.event.data)
		return 0;
	if (pf->metadata_only)
		return take_only_metadata(pf, &packet);
	error = act_on(pf, &packet);
	pf->events->tells_gpus |= packet.tells_gpus && !error;
	return error;
}

/* What cannot be read: 0 if nothing but zero bytes follows, which a machine or a disk that failed
 * leaves at the end of a file, else -EBADMSG or another negative errno. */
static int end_in_zeros(struct gt_input *in)
{
	bool any = false;
	int more;

	do {
		for (size_t i = 0; i < in->size; i++)
			if (in->data[i])
				return -EBADMSG;
		any |= in->size > 0;
		gt_input_consume(in, in->size);
		more = gt_input_more(in);
	} while (more > 0);
	return more < 0 ? more : any ? 0 : -EBADMSG;
}

/* A process is there with its metadata, its first event; what was cut before is none. */
static bool next_is_whole(struct gt_input *in)
{
	struct gt_wire wire;
	struct packet packet;
	size_t at = 0, size;
	int found;

	for (int i = 0; i < PACKETS_BEFORE_METADATA;) {
		struct gt_input rest = *in;

		rest.data += at;
		rest.size -= at;
		found = find_packet(&rest, &wire, &size);
		if (found < 0 || (!found && gt_input_more(in) <= 0))
			return false;
		if (!found)
			continue;
		if (!take_packet(wire, &packet))
			return false;
		if (packet.event.data)
			return true;
		at += size;
		i++;
	}
	return false;
}

/* Each process says how many the file should hold. */
static bool is_told(const struct gt_events *events)
{
	return events->told_parts > events->part + 1;
}

/* Reads all complete packets, of a file of several processes up to the one behind the wanted. A cut
 * inside the last one is not an error. */
static int take_packets(struct gt_pftrace *pf, struct gt_input *in)
{
	struct gt_wire wire;
	uint64_t at = 0;
	size_t size;
	int found, error = 0;

	for (;;) {
		found = find_packet(in, &wire, &size);
		if (found == 0) {
			found = gt_input_more(in);
			if (found <= 0)
				return found;
			continue;
		}
		if (found < 0)
			return end_in_zeros(in);
		error = take_whole(pf, wire);
		if (error == BEGINS_NEXT && is_told(pf->events)) {
			pf->events->parts += next_is_whole(in);
			return 0;
		}
		if (error == BEGINS_NEXT)
			return -EBADMSG;
		if (error && error != -EBADMSG)
			return error;
		gt_input_consume(in, size);
		if (error) /* the zeros may begin inside a packet */
			return end_in_zeros(in);
		at += size;
		if (!pf->is_open)
			pf->events->end_byte = at;
	}
}

static int verdict(struct gt_pftrace *pf, int error)
{
	struct gt_events *events = pf->events;

	if (events->error[0])
		return error;
	events->torn = !pf->has_metadata && !error;
	if (!pf->has_metadata && (!error || error == -EBADMSG))
		return gt_events_fail(events, pf->path, NOT_OURS, -EBADMSG);
	if (error == -EBADMSG)
		return gt_events_fail(events, pf->path, "damaged: a packet cannot be read", error);
	return error ? gt_events_fail(events, pf->path, strerror(-error), error) : 0;
}

int gt_events_read_pftrace_input(struct gt_events *events, struct gt_input *in)
{
	struct gt_pftrace pf = {.events = events, .path = in->path};
	int error;

	events->parts = events->part + 1;
	events->told_parts = 0;
	error = take_packets(&pf, in);
	gt_pftrace_names_fini(&pf);
	return verdict(&pf, error);
}

int gt_events_last_metadata(struct gt_events *events, const char *path)
{
	struct gt_pftrace pf = {.events = events, .path = path, .metadata_only = true};
	int error, fd = open(path, O_RDONLY | O_CLOEXEC);
	struct gt_input in;

	if (fd < 0)
		return -errno;
	error = gt_input_open_fd(&in, path, fd);
	if (error)
		return error;
	error = take_packets(&pf, &in);
	gt_input_close(&in);
	gt_pftrace_names_fini(&pf);
	if (!error && !pf.has_metadata)
		error = -ENODATA;
	return error;
}

int gt_events_read_pftrace(struct gt_events *events, const char *path)
{
	struct gt_input in;
	int error = gt_input_open(&in, path);

	if (error)
		return gt_events_fail(events, path, strerror(-error), error);
	error = gt_events_read_pftrace_input(events, &in);
	gt_input_close(&in);
	return error;
}
