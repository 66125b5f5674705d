/* SPDX-License-Identifier: Apache-2.0
 *
 * The last place with vendor types: turns one activity record into one struct gt_event. A table by
 * record kind; unknown kinds are counted. Drain thread only.
 */
#ifndef GT_COLLECTORS_CUPTI_RECORDS_TRANSLATE_H
#define GT_COLLECTORS_CUPTI_RECORDS_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/cupti/records/occupancy.h"
#include "collectors/symbols/demangle.h"
#include "core/guest/clock.h"
#include "core/intern.h"
#include "core/schema/event.h"
#include "core/schema/ledger.h"
#include "core/schema/metadata.h"

#define GT_TRANSLATE_CONTEXTS 256
#define GT_TRANSLATE_WAITS    4096

/* A cudaEventRecord. */
struct gt_translate_wait {
	uint64_t key; /* the id of the CUDA event, or that of the recording */
	uint32_t stream, correlation;
};

#define GT_TRANSLATE_POOLS 256u

/* A memory pool, as its newest record has it. */
struct gt_translate_pool {
	uint64_t address; /* 0: a free place */
	uint64_t bytes;   /* that it holds, used or not */
	uint32_t device;
};

/* Record kinds are below this. */
#define GT_TRANSLATE_KINDS 64
#define GT_TRANSLATE_NAMES 16384u

/* A name that a record pointed to. */
struct gt_translate_name {
	uint64_t address;
	const struct gt_string *name;    /* demangled */
	const struct gt_string *mangled; /* NULL: it is the name */
};

/* What recovery needs to read records without CUPTI; lives in the spool. */
struct gt_translate_notes {
	uint16_t bytes[GT_TRANSLATE_KINDS]; /* of a record of the kind; 0: not known */
	uint64_t others;                    /* kinds that only another tool has, a bit each */
	struct gt_translate_name names[GT_TRANSLATE_NAMES];
};

/* Notes how long the records of a CUPTI are that is known; what is read then counts instead. */
void gt_translate_note_lengths(struct gt_translate_notes *notes, uint32_t version);

/* The slot in which the name at @address may be noted. */
static inline struct gt_translate_name *gt_translate_name_slot(
	const struct gt_translate_notes *notes, uint64_t address)
{
	uint64_t slot = address * 0x9e3779b97f4a7c15u >> 32;

	return (struct gt_translate_name *)&notes->names[slot % GT_TRANSLATE_NAMES];
}

/* ns to subtract from CUPTI's stamps when its clock was @offset_ns ahead of CLOCK_REALTIME, give or
 * take @error_ns; 0: that is its clock. */
int64_t gt_translate_clock_offset(int64_t offset_ns, uint64_t error_ns);

/* Between these CLOCK_REALTIME stamps (from, below until) one offset leads to the trace's clock,
 * and up to @last they are no other clock's. Zeroed: none. */
struct gt_translate_span {
	uint64_t sampled; /* monotonic ns of the newest clock sample that it was made with */
	uint64_t from, until, last;
	uint64_t offset;
};

/* Words of a kernel's record that its event follows from, but for times, ids and place. */
#define GT_TRANSLATE_KERNEL_WORDS 11u
#define GT_TRANSLATE_KERNELS      64u

/* A kernel as it was launched last. */
struct gt_translate_kernel {
	uint64_t words[GT_TRANSLATE_KERNEL_WORDS];
	const char *at; /* its name; NULL: none */
	struct gt_kernel_event kernel;
};

/* State of the translator; @context and the functions say where events go. */
struct gt_translate {
	const struct gt_clock *clock;
	struct gt_intern *strings;
	struct gt_demangle *demangle;
	struct gt_ledger *ledger;
	uint64_t session_start;                /* CLOCK_REALTIME ns */
	int64_t clock_offset;                  /* of gt_translate_clock_offset */
	struct gt_translate_span span;         /* the last one that a stamp was of */
	uint32_t version;                      /* of CUPTI */
	uint64_t checked_kinds, refused_kinds; /* bit per kind, if CUPTI is newer than known */
	struct gt_translate_notes *notes;      /* NULL: no spool */
	bool borrowed;      /* the record is a copy of another tool's: its pointers are not ours */
	bool clock_changed; /* CUPTI's clock was, when its buffer had not been delivered yet */
	bool relayed;       /* a copy goes to another tool, which frees what it points to */
	bool outside;       /* its buffer found no room in the spool: a kill takes it along */
	uint64_t now;       /* trace time when the record arrived; 0: not known */
	uint64_t clock_untimed; /* records without times for that */
	uint64_t then;          /* if it is not known: of records without times */
	struct gt_device_event devices[GT_METADATA_DEVICES]; /* seen so far, by id */
	struct gt_occupancy_answers occupancy;               /* of these */
	struct gt_translate_kernel kernels[GT_TRANSLATE_KERNELS];
	uint32_t configurations;           /* numbers given to them */
	bool visible[GT_METADATA_DEVICES]; /* CUDA sees the device */
	uint32_t context_device[GT_TRANSLATE_CONTEXTS];
	struct gt_translate_wait newest[GT_TRANSLATE_WAITS]; /* of each CUDA event */
	struct gt_translate_wait by_sync_id[GT_TRANSLATE_WAITS];
	struct gt_translate_pool pools[GT_TRANSLATE_POOLS];
	void (*emit)(void *context, struct gt_event *event); /* which it may change */
	/* our call @id has CUPTI's id @correlation; NULL: not needed */
	void (*tie)(void *context, uint32_t correlation, uint32_t id);
	/* all records of a buffer were emitted; NULL: not needed */
	void (*read)(void *context);
	/* the records of buffers that were read leave the spool, for lack of memory; NULL: not
	 * needed */
	void (*spill)(void *context);
	void *context;
};

/* The last meaning of an address counts. */
static inline void gt_translate_note_name(const struct gt_translate *translate, const char *pointer,
					  const struct gt_string *name,
					  const struct gt_string *mangled)
{
	uint64_t address = (uint64_t)(uintptr_t)pointer;

	if (translate->notes)
		*gt_translate_name_slot(translate->notes, address) =
			(struct gt_translate_name){address, name, mangled};
}

/* Translates one record (at least as long as in the oldest supported CUPTI). */
void gt_translate_record(struct gt_translate *translate, const void *record);

#endif
