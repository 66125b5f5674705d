/* SPDX-License-Identifier: Apache-2.0
 *
 * See segment_files.h. Any thread.
 */
#include "trace/segment_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/schema/ledger.h"

/* A path without its number. */
struct parts {
	size_t base;      /* bytes before the number */
	const char *rest; /* behind it */
	unsigned long number;
};

/* Where the ending begins, at the latest at the end. */
static const char *find_ending(const char *name)
{
	static const char *const endings[] = {".pt.trace.json", ".pftrace"};
	const char *found = NULL;

	for (size_t i = 0; !found && i < sizeof(endings) / sizeof(endings[0]); i++)
		found = strstr(name, endings[i]);
	return found ? found : name + strlen(name);
}

static struct parts take_apart(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *at = slash ? slash : path, *found = NULL;
	struct parts parts = {.number = 1};
	char *end;

	while ((at = strstr(at, ".part"))) {
		at += 5;
		if (isdigit((unsigned char)*at))
			found = at;
	}
	if (!found) {
		at = find_ending(slash ? slash : path);
		parts.base = (size_t)(at - path);
		parts.rest = path + parts.base;
		return parts;
	}
	parts.number = strtoul(found, &end, 10);
	parts.base = (size_t)(found - 5 - path);
	parts.rest = end;
	return parts;
}

unsigned long gt_segment_number(const char *path)
{
	return take_apart(path).number;
}

/* Without the ending of a packed file: of the files of a process some may have been packed
 * already. */
static size_t unpacked_length(const char *name)
{
	size_t length = strlen(name);

	return length > 3 && !strcmp(name + length - 3, ".gz") ? length - 3 : length;
}

static int compare_text(const char *a, size_t a_length, const char *b, size_t b_length)
{
	int order = memcmp(a, b, a_length < b_length ? a_length : b_length);

	return order || a_length == b_length ? order : a_length < b_length ? -1 : 1;
}

static int compare_base(const char *a, const struct parts *x, const char *b, const struct parts *y)
{
	int order = compare_text(a, x->base, b, y->base);

	return order ? order
		     : compare_text(x->rest, unpacked_length(x->rest), y->rest,
				    unpacked_length(y->rest));
}

int gt_segment_compare(const char *a, const char *b)
{
	struct parts x = take_apart(a), y = take_apart(b);
	int order = compare_base(a, &x, b, &y);

	if (order || x.number == y.number)
		return order ? order : strcmp(x.rest, y.rest);
	return x.number < y.number ? -1 : 1;
}

bool gt_segments_are_of_one(const char *a, const char *b)
{
	struct parts x = take_apart(a), y = take_apart(b);

	return x.number != y.number && compare_base(a, &x, b, &y) == 0;
}

/* One that was packed and not removed yet is there twice. */
static bool is_there_unpacked(const char *path)
{
	size_t length = unpacked_length(path);
	char *plain = path[length] ? strndup(path, length) : NULL;
	bool is = plain && access(plain, F_OK) == 0;

	free(plain);
	return is;
}

static int each(const char *trace, unsigned long below, int (*see)(const char *path, void *data),
		void *data)
{
	const char *slash = strrchr(trace, '/');
	int length = slash ? (int)(slash - trace) + 1 : 0, rc = 0;
	char *folder = NULL, *path = NULL;
	struct dirent *entry;
	DIR *entries;

	if (asprintf(&folder, "%.*s.", length, trace) < 0)
		return -ENOMEM;
	entries = opendir(folder);
	while (entries && !rc && (entry = readdir(entries))) {
		if (asprintf(&path, "%.*s%s", length, trace, entry->d_name) < 0) {
			rc = -ENOMEM;
			break;
		}
		if (gt_segments_are_of_one(path, trace) && gt_segment_number(path) < below &&
		    !is_there_unpacked(path))
			rc = see(path, data);
		free(path);
	}
	if (entries)
		closedir(entries);
	free(folder);
	return rc;
}

int gt_segments_before(const char *trace, int (*see)(const char *path, void *data), void *data)
{
	unsigned long number = gt_segment_number(trace);

	return number < 2 ? 0 : each(trace, number, see, data);
}

int gt_segments_beside(const char *trace, int (*see)(const char *path, void *data), void *data)
{
	return each(trace, ULONG_MAX, see, data);
}

static struct gt_header_member *find_member(const struct gt_header *header, const char *key)
{
	for (size_t i = 0; i < header->member_count; i++)
		if (!strcmp(header->members[i].key, key))
			return &header->members[i];
	return NULL;
}

/* Each file's ledger tells what is in it; sums are what one file would have told. */
static int add_ledgers(struct gt_header *all, const struct gt_header *one)
{
	struct gt_header_member *sum = find_member(all, "ledger");
	char *text = NULL;
	size_t size = 0;
	FILE *out;

	if (!sum || !find_member(one, "ledger"))
		return 0;
	out = open_memstream(&text, &size);
	if (!out)
		return -ENOMEM;
	for (int i = 0; i < GT_LEDGER_COUNT_; i++) {
		int64_t a = 0, b = 0;

		gt_header_int(all, "ledger", gt_ledger_rows[i].json, &a);
		gt_header_int(one, "ledger", gt_ledger_rows[i].json, &b);
		fprintf(out, "%s\"%s\": %" PRIu64, i ? ", " : "{", gt_ledger_rows[i].json,
			gt_ledger_join((enum gt_ledger_key)i, (uint64_t)a, (uint64_t)b));
	}
	fputc('}', out);
	for (int i = 0; i < GT_INPUT_PADDING; i++)
		fputc(0, out); /* it is scanned */
	if (fclose(out)) {
		free(text);
		return -ENOMEM;
	}
	free(sum->text);
	sum->text = text;
	return 0;
}

static void take_devices(struct gt_header *all, struct gt_header *one)
{
	struct gt_header_device *devices = all->devices;
	size_t count = all->device_count;

	if (one->device_count < count || (count && all->devices[0].name))
		return;
	all->devices = one->devices;
	all->device_count = one->device_count;
	one->devices = devices;
	one->device_count = count;
}

/* The later file's, which knows of all that was removed before it. */
static void take_segment(struct gt_header *all, struct gt_header *one)
{
	struct gt_header_member *earlier = find_member(all, "segment");
	struct gt_header_member *later = find_member(one, "segment");
	char *text;

	if (!earlier || !later)
		return;
	text = earlier->text;
	earlier->text = later->text;
	later->text = text;
}

int gt_segments_add(struct gt_reading *all, struct gt_reading *one)
{
	take_devices(&all->header, &one->header);
	take_segment(&all->header, &one->header);
	all->events += one->events;
	all->strange += one->strange;
	all->bytes += one->bytes;
	all->without_ledger |= one->without_ledger;
	if (all->closed && !one->closed) {
		all->closed = false;
		all->mixed = one->mixed;
		all->end_line = one->end_line;
		all->end_byte = one->end_byte;
		memcpy(all->note, one->note, sizeof(all->note));
	}
	return add_ledgers(&all->header, &one->header);
}
