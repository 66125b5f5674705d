/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Members of a communicator number its collectives alike, so that one whose newest
 * is before the oldest that another has in flight has not come to it.
 */
#include "cli/control/missing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WAITS_MS 1000 /* as long as a process moves it is no hang */

int gt_missing_take(struct gt_missing *missing, uint32_t pid, int32_t rank, const char *lines)
{
	for (; *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n') {
		struct gt_missing_member m = {.pid = pid, .rank = rank};
		unsigned long id;

		if (sscanf(lines,
			   "%lx %u %u %lu %39[A-Za-z0-9_?] %lu %lu %39[-A-Za-z0-9_?] %lu %lu", &id,
			   &m.members, &m.number, &m.last, m.last_name, &m.last_ms, &m.waits,
			   m.waits_name, &m.waits_ms, &m.idle_ms) != 10 ||
		    !id)
			continue;
		m.communicator = id;
		if (!gt_vec_push(&missing->all, m))
			return -ENOMEM;
	}
	return 0;
}

void gt_missing_fini(struct gt_missing *missing)
{
	gt_vec_free(&missing->all);
}

static int by_communicator(const void *a, const void *b)
{
	const struct gt_missing_member *x = a, *y = b;

	if (x->communicator != y->communicator)
		return x->communicator < y->communicator ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* The processes here of one communicator, and the collective in question. */
struct standing {
	const struct gt_missing_member *of;
	size_t count;
	unsigned long collective;
	const char *name;
	bool is_seen; /* that it is in flight; else only that it was called */
	size_t waiting, missing, other;
	unsigned long waits_ms; /* the longest */
};

static bool hangs(const struct gt_missing_member *m)
{
	return m->idle_ms >= WAITS_MS;
}

static bool is_waiting(const struct standing *s, const struct gt_missing_member *m)
{
	return s->is_seen ? m->waits == s->collective : m->last == s->collective;
}

static bool is_missing(const struct standing *s, const struct gt_missing_member *m)
{
	return m->last < s->collective;
}

/* It waits, but in something else. */
static bool is_other(const struct standing *s, const struct gt_missing_member *m)
{
	return is_waiting(s, m) && strcmp(s->is_seen ? m->waits_name : m->last_name, s->name) != 0;
}

/* The oldest in flight; where GPU work is not recorded, the newest that was called. */
static void choose(struct standing *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct gt_missing_member *m = &s->of[i];

		if (!m->waits || m->waits_ms < WAITS_MS || !hangs(m) ||
		    (s->is_seen && m->waits >= s->collective))
			continue;
		s->is_seen = true;
		s->collective = m->waits;
		s->name = m->waits_name;
	}
	for (size_t i = 0; !s->is_seen && i < s->count; i++) {
		const struct gt_missing_member *m = &s->of[i];

		if (strcmp(m->waits_name, "?") != 0 || m->last_ms < WAITS_MS || !hangs(m) ||
		    m->last <= s->collective)
			continue;
		s->collective = m->last;
		s->name = m->last_name;
	}
}

static void count(struct standing *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct gt_missing_member *m = &s->of[i];
		unsigned long ms = s->is_seen ? m->waits_ms : m->last_ms;

		s->missing += is_missing(s, m);
		s->other += is_other(s, m);
		if (!is_waiting(s, m))
			continue;
		s->waiting++;
		s->waits_ms = ms > s->waits_ms ? ms : s->waits_ms;
	}
}

/* Members that no process here is. */
static unsigned int elsewhere(const struct standing *s)
{
	return s->of->members > s->count ? s->of->members - (unsigned int)s->count : 0;
}

static void print_who(const struct gt_missing_member *m, FILE *out)
{
	if (m->rank >= 0)
		fprintf(out, "rank %d (process %u)", m->rank, m->pid);
	else
		fprintf(out, "process %u", m->pid);
}

static void print_text(const struct standing *s, FILE *out)
{
	fprintf(out, "collective %lu of communicator 0x%016lx, %s, ", s->collective,
		(unsigned long)s->of->communicator, s->name);
	if (s->of->members)
		fprintf(out, "%u members", s->of->members);
	else
		fprintf(out, "%zu members here", s->count);
	fprintf(out, ": %zu %s it", s->waiting,
		s->is_seen ? s->waiting == 1 ? "waits in" : "wait in" : "called");
	fprintf(out, s->is_seen ? " for up to %.1f s\n" : " up to %.1f s ago\n",
		(double)s->waits_ms / 1000);
	for (size_t i = 0; i < s->count; i++) {
		const struct gt_missing_member *m = &s->of[i];

		if (!is_missing(s, m) && !is_other(s, m))
			continue;
		fputs("  ", out);
		print_who(m, out);
		if (is_missing(s, m))
			fprintf(out,
				" has not called it: its last one there is %lu, %s, %.1f s ago\n",
				m->last, m->last_name, (double)m->last_ms / 1000);
		else
			fprintf(out, " called %s as collective %lu\n",
				s->is_seen ? m->waits_name : m->last_name, s->collective);
	}
	if (elsewhere(s))
		fprintf(out, "  %u of its members %s not among these processes%s\n", elsewhere(s),
			elsewhere(s) == 1 ? "is" : "are",
			s->missing ? "" : ": who is missing is not known");
	else if (!s->missing && !s->other)
		fprintf(out, "  all members%s have called it%s\n", s->of->members ? "" : " here",
			s->of->members ? "" : ": how many there are is not known");
}

static void print_list(const struct standing *s, const char *key,
		       bool (*belongs)(const struct standing *s, const struct gt_missing_member *m),
		       FILE *out)
{
	const char *between = "";

	fprintf(out, ", \"%s\": [", key);
	for (size_t i = 0; i < s->count; i++) {
		const struct gt_missing_member *m = &s->of[i];

		if (!belongs(s, m))
			continue;
		fprintf(out, "%s{\"pid\": %u", between, m->pid);
		if (m->rank >= 0)
			fprintf(out, ", \"rank\": %d", m->rank);
		fprintf(out,
			", \"last\": {\"collective\": %lu, \"call\": \"%s\", \"seconds\": %.3f}}",
			m->last, m->last_name, (double)m->last_ms / 1000);
		between = ", ";
	}
	fputs("]", out);
}

static void print_json(const struct standing *s, FILE *out)
{
	fprintf(out,
		"{\"collective\": %lu, \"communicator\": \"0x%016lx\", \"call\": \"%s\", "
		"\"members\": %u, \"is_in_flight\": %s, \"seconds\": %.3f",
		s->collective, (unsigned long)s->of->communicator, s->name, s->of->members,
		s->is_seen ? "true" : "false", (double)s->waits_ms / 1000);
	print_list(s, "waiting", is_waiting, out);
	print_list(s, "missing", is_missing, out);
	print_list(s, "other_call", is_other, out);
	fprintf(out, ", \"elsewhere\": %u}\n", elsewhere(s));
}

bool gt_missing_print(struct gt_missing *missing, bool as_json, FILE *out)
{
	bool found = false;

	if (missing->all.count)
		qsort(missing->all.at, missing->all.count, sizeof(*missing->all.at),
		      by_communicator);
	for (size_t i = 0, end; i < missing->all.count; i = end) {
		struct standing s = {.of = &missing->all.at[i]};

		for (end = i; end < missing->all.count &&
			      missing->all.at[end].communicator == missing->all.at[i].communicator;)
			end++;
		s.count = end - i;
		choose(&s);
		if (!s.collective)
			continue;
		count(&s);
		if (!s.is_seen && !s.missing)
			continue;
		if (!found && !as_json)
			fputs("\n", out);
		found = true;
		(as_json ? print_json : print_text)(&s, out);
	}
	return found;
}
