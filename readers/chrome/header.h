/* SPDX-License-Identifier: Apache-2.0
 *
 * The metadata in a trace's header, and the raw text of every top-level member but the events.
 * While gputrace's file is not closed, these members are in the args of its first event. Any
 * thread, one header at a time.
 */
#ifndef GT_READERS_CHROME_HEADER_H
#define GT_READERS_CHROME_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/schema/ledger.h"
#include "readers/chrome/scan.h"

/* A device of the header. */
struct gt_header_device {
	int64_t id;
	char *name;
	char *uuid;     /* NULL: not known */
	int64_t memory; /* bytes */
	int64_t major, minor, sms;
};

/* A member of the header, as text. */
struct gt_header_member {
	char *key;
	char *text;  /* JSON */
	bool behind; /* it follows the events */
};

/* The members of a file other than its events. */
struct gt_header {
	bool has_rank, has_base;
	int64_t rank, world_size;
	int64_t base_ns;
	char *backend; /* "nccl", or NULL */
	struct gt_header_device *devices;
	size_t device_count;
	struct gt_header_member *members; /* in the order of the file */
	size_t member_count;
};

/* Frees the members. A zeroed struct is fine. */
void gt_header_fini(struct gt_header *header);

/* Adds one member; @behind: it follows the events. -ENOMEM. */
int gt_header_add(struct gt_header *header, const struct gt_span *key, const struct gt_span *value,
		  bool behind);

/* Adds the members of a scanned object (its text must be followed by padding), except the events.
 * -ENOMEM. */
int gt_header_add_object(struct gt_header *header, const struct gt_span *object, bool behind);

/* The JSON text of a member, or NULL. */
const char *gt_header_find(const struct gt_header *header, const char *key);

/* A member as a span that can be searched; free *ret_copy, which it points into. False: no such
 * member, or no memory. */
bool gt_header_span(const struct gt_header *header, const char *key, char **ret_copy,
		    struct gt_span *ret_span);

/* An integer inside a member that is an object ("ledger", "calls_seen"). */
bool gt_header_int(const struct gt_header *header, const char *member, const char *key,
		   int64_t *ret_value);

/* A string inside a member that is an object, decoded; @size must exceed its length. */
bool gt_header_text(const struct gt_header *header, const char *member, const char *key,
		    char *ret_text, size_t size);

/* Whether the trace was recorded with the option, written "name=value". */
bool gt_header_has_option(const struct gt_header *header, const char *option);

/* Whether an option of the trace explains a count of the ledger, which then is not a loss. */
bool gt_header_is_asked_for(const struct gt_header *header, enum gt_ledger_key key);

#endif
