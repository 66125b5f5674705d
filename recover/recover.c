/* SPDX-License-Identifier: Apache-2.0
 *
 * See recover.h.
 */
#include "recover/recover.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/spool.h"
#include "recover/close.h"
#include "recover/join.h"
#include "recover/lock.h"
#include "recover/move.h"
#include "recover/pin.h"
#include "recover/replay.h"
#include "recover/spools.h"
#include "recover/torn.h"
#include "recover/unpack.h"
#include "recover/writer_of.h"
#include "readers/input.h"
#include "trace/file/header.h"
#include "trace/file_name.h"
#include "trace/first_block.h"
#include "trace/segment_files.h"

#define GZIP_BEGINNING 0x1f

struct recovering {
	const char *path, *spools;
	bool is_named; /* by the user, not found in a folder */
	struct gt_pin pin, pinned_spool;
	struct gt_pin plain;        /* of a compressed file */
	const struct gt_pin *trace; /* what is completed: pin or plain */
	struct gt_recovery *result;
	bool is_pftrace;
	struct gt_left_spool spool;
	bool has_spool;
	bool is_told;                               /* what is lost, by another file's ledger */
	bool was_whole;                             /* it has its ledger */
	char folder[PATH_MAX], recovered[PATH_MAX]; /* what the spool holds, as a trace */
};

__attribute__((format(printf, 3, 4))) static int fail(struct recovering *r, int rc,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->result->error, sizeof(r->result->error), format, args);
	va_end(args);
	return rc;
}

/* ---- whose trace it is ---- */

/* What the beginning of a file tells. */
struct beginning {
	bool is_open;     /* not closed by its process, or that cannot be told */
	bool is_ours;     /* gputrace wrote it, by its header or its name */
	int64_t pid;      /* 0: not known */
	char host[80];    /* empty: not known */
	char spool[1024]; /* empty: none */
};

/* A compressed one that is cut is not closed. */
static bool begins_as_object(const char *path)
{
	struct gt_input in;
	bool is_object;

	if (gt_input_open(&in, path))
		return false;
	in.silent = true;
	is_object = gt_input_more(&in) > 0 && *in.data == '{';
	if (is_object && in.compressed)
		is_object = gt_unpack_check(path) == GT_UNPACK_WHOLE;
	gt_input_close(&in);
	return is_object;
}

static void read_beginning(const struct gt_pin *pin, struct beginning *ret_beginning)
{
	const char *path = pin->content;
	struct gt_file_name name;
	struct gt_reading reading;

	*ret_beginning = (struct beginning){0};
	ret_beginning->is_open =
		!begins_as_object(path) || gt_first_block_file_is_torn_as(path, pin->path);
	if (!ret_beginning->is_open)
		return;
	gt_file_name_parse(pin->path, &name);
	gt_file_header(path, &reading);
	ret_beginning->is_ours = gt_header_text(&reading.header, "metadata", "gputrace_version",
						ret_beginning->host, sizeof(ret_beginning->host)) ||
				 (name.pid > 0 && name.started > 0);
	if (!gt_header_int(&reading.header, "metadata", "pid", &ret_beginning->pid))
		ret_beginning->pid = name.pid;
	gt_header_text(&reading.header, "metadata", "hostname", ret_beginning->host,
		       sizeof(ret_beginning->host));
	gt_header_text(&reading.header, "metadata", "spool", ret_beginning->spool,
		       sizeof(ret_beginning->spool));
	gt_reading_fini(&reading);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The process was killed between creating its file and saying so: the names tell pid and time. */
static bool is_begun(const struct gt_left_spool *spool, const char *path, const struct stat *st)
{
	const char *name = base_name(spool->path) + strlen(GT_SPOOL_PREFIX);
	char both[80];

	snprintf(both, sizeof(both), "_%.*s.", (int)(strlen(name) - strlen(GT_SPOOL_SUFFIX)), name);
	return st->st_size == 0 && strstr(base_name(path), both);
}

/* Of several files of a process the spool belongs to the last one. The file may have been moved. */
static bool belongs(const struct gt_left_spool *spool, const struct gt_pin *pin)
{
	struct stat mine, reported;

	if (stat(pin->content, &mine))
		return false;
	if (!*spool->trace)
		return is_begun(spool, pin->path, &mine);
	if (!stat(spool->trace, &reported))
		return mine.st_ino == reported.st_ino && mine.st_dev == reported.st_dev;
	return !strcmp(base_name(spool->trace), base_name(pin->path));
}

struct recovery_search {
	const struct gt_pin *pin;
	struct gt_left_spool *spool;
	bool is_found;
};

static void see_spool(const struct gt_left_spool *spool, void *context)
{
	struct recovery_search *search = context;

	if (search->is_found || !belongs(spool, search->pin))
		return;
	*search->spool = *spool;
	search->is_found = true;
}

/* The spool names its trace. What the trace says about its spool is only for a message. */
static int find_spool(struct recovering *r, const struct beginning *beginning)
{
	struct recovery_search search = {.pin = &r->pin, .spool = &r->spool};

	if (r->spools && !strcmp(r->spools, GT_RECOVER_WITHOUT_SPOOL))
		return 0;
	gt_spools_each(r->spools, see_spool, &search);
	r->has_spool = search.is_found;
	if (r->has_spool || !beginning->is_open ||
	    !gt_spools_leave_out(r->spools, beginning->spool))
		return 0;
	return fail(r, -ENOENT,
		    "%s: not touched: its spool %s is in a folder that is not searched: name the "
		    "folder with --spool, or close the trace without it: --spool=off",
		    r->path, beginning->spool);
}

static void see_kin(const struct gt_left_spool *spool, void *context)
{
	struct recovering *r = context;

	r->is_told |= gt_segments_are_of_one(base_name(spool->trace), base_name(r->path));
}

/* Killed between two files: the spool completes the other one. */
static void see_others(struct recovering *r)
{
	if (!r->spools || strcmp(r->spools, GT_RECOVER_WITHOUT_SPOOL) != 0)
		gt_spools_each(r->spools, see_kin, r);
	r->is_told = r->is_told || gt_join_is_told_beside(r->pin.kin);
}

/* ---- whether it may be touched ---- */

static bool is_written(const struct recovering *r, const struct beginning *beginning)
{
	if (r->has_spool && r->spool.running)
		return true;
	return beginning->is_open && beginning->pid > 0 &&
	       gt_writer_is_alive(r->pin.content, beginning->pid);
}

/* A spool on this host: its process was here. */
static bool may_be_written_elsewhere(const struct recovering *r, const struct beginning *beginning)
{
	return beginning->is_open && beginning->pid > 0 && !r->has_spool && !r->is_pftrace &&
	       gt_writer_may_be_elsewhere(r->pin.beside, beginning->host);
}

static int check_writer(struct recovering *r, const struct beginning *beginning)
{
	int64_t foreign =
		beginning->is_open && !beginning->pid ? gt_writer_find(r->pin.content) : 0;

	if (foreign)
		return fail(r, -EBUSY, "%s: process %" PRId64 " has it open: not touched", r->path,
			    foreign);
	if (is_written(r, beginning))
		return fail(r, -EBUSY, "%s: process %" PRId64 " still writes it: not touched",
			    r->path, r->has_spool ? r->spool.pid : beginning->pid);
	if (may_be_written_elsewhere(r, beginning))
		return fail(r, -EBUSY,
			    "%s: written on %s a moment ago: not touched; repair it there, or in "
			    "a minute",
			    r->path, *beginning->host ? beginning->host : "another host");
	return 0;
}

/* Who opens a pipe may wait for ever, and nothing in it can be rewritten. @rc: of pinning it. */
static int check_pinned(struct recovering *r, int rc)
{
	if (rc == -ESPIPE || (!rc && !S_ISREG(r->pin.status.st_mode)))
		return fail(r, -ESPIPE, "%s: not a regular file: a pipe cannot be repaired",
			    r->path);
	r->pin.is_read_only = !r->is_named && r->pin.status.st_uid != geteuid();
	return rc ? fail(r, rc, "%s: %s", r->path, gt_pin_reason(rc)) : 0;
}

/* What another user put into a folder is no reason to write as this one. */
static bool is_of_another_user(const struct recovering *r, const struct beginning *beginning)
{
	return beginning->is_open && r->pin.is_read_only &&
	       !(gt_join_is_pftrace(r->pin.content, r->path) && gt_join_is_closed(r->pin.content));
}

/* ---- the steps ---- */

/* What fails now may succeed another time: only the user gives the spool up. */
static int replay(struct recovering *r)
{
	char why[256];
	int rc = gt_replay_spool(&r->spool, false, r->folder, r->recovered, why, sizeof(why));

	r->result->is_joined = rc == 0;
	if (rc)
		fail(r, rc,
		     "%s: not recovered: %s; it and the trace stay as they are (--spool=off closes "
		     "the trace without it)",
		     r->spool.path, why);
	return rc;
}

static int rebuild(struct recovering *r)
{
	struct gt_torn torn;
	int rc = gt_torn_rebuild(r->trace, *r->recovered ? r->recovered : NULL, &torn);

	r->result->was_torn = torn.was_torn;
	r->result->was_empty = torn.was_empty;
	return rc < 0 ? fail(r, rc, "%s", torn.error) : 0;
}

static void put_join(struct gt_recovery *result, const struct gt_join *join)
{
	result->was_torn |= join->was_torn;
	result->events = join->events;
	result->cut = join->cut;
	result->calls = join->calls;
	result->operations = join->operations;
	result->maybe_removed = join->maybe_removed;
	snprintf(result->why, sizeof(result->why), "the process ended without closing the file");
}

static int close_file(struct recovering *r, bool *ret_has_ledger)
{
	struct gt_recovery *result = r->result;
	struct gt_close closed;
	int rc = gt_close_file(r->trace, &closed);

	*ret_has_ledger = closed.has_ledger;
	if (rc < 0)
		return fail(r, rc, "%s", closed.error);
	result->was_closed = closed.was_closed;
	result->events = closed.events;
	result->cut = closed.cut;
	snprintf(result->why, sizeof(result->why), "%s", closed.why);
	return 0;
}

/* Adds what the spool holds, and closes. A trace that cannot be joined is closed without. */
static int join_and_close(struct recovering *r)
{
	bool has_ledger = false;
	struct gt_join join;
	int rc = *r->recovered ? gt_join(r->trace, r->recovered, r->spool.path, &join)
		 : r->is_told  ? gt_join_without_spool(r->trace, true, &join)
			       : 0;

	if (rc && rc != -EBADMSG)
		return fail(r, rc, "%s", join.error);
	if (rc) {
		r->result->is_joined = false;
		snprintf(r->result->warning, sizeof(r->result->warning), "%s", join.error);
	} else if ((*r->recovered || r->is_told) && !join.was_closed) {
		put_join(r->result, &join);
		return 0;
	}
	r->was_whole = !rc && *r->recovered && join.was_closed;
	rc = close_file(r, &has_ledger);
	if (!rc && r->result->was_closed && has_ledger)
		r->was_whole = r->result->is_joined = true; /* the spool has nothing for it */
	return rc;
}

static int recover_json(struct recovering *r, bool is_open)
{
	int rc = r->has_spool && is_open ? replay(r) : 0;

	if (!r->has_spool && is_open)
		see_others(r);
	if (!rc)
		rc = rebuild(r);
	if (r->result->was_torn && !*r->recovered)
		r->is_told = false; /* its header is not known, so it is no file of the process */
	return rc ? rc : join_and_close(r);
}

static int recover_pftrace(struct recovering *r)
{
	struct gt_join join;
	int rc = r->has_spool ? replay(r) : 0;

	if (rc)
		return rc;
	rc = *r->recovered ? gt_join(r->trace, r->recovered, r->spool.path, &join)
			   : gt_join_without_spool(r->trace, false, &join);
	if (!rc && !*r->recovered && !join.was_closed && !join.was_torn) {
		see_others(r);
		rc = r->is_told ? gt_join_without_spool(r->trace, true, &join) : 0;
	}
	if (rc)
		return fail(r, rc, "%s", join.error);
	r->result->is_joined = *r->recovered;
	r->was_whole = r->result->was_closed = join.was_closed;
	r->result->is_readable =
		!*r->recovered && !r->is_told && !join.was_closed && !join.was_torn;
	put_join(r->result, &join);
	return 0;
}

/* In the folder of @path. False: the name is too long. */
static bool name_beside(const char *path, const char *name, char *ret_path, size_t size)
{
	int folder = (int)(base_name(path) - path);

	return snprintf(ret_path, size, "%.*s%s", folder, path, name) < (int)size;
}

/* Beside the file. One that is closed: an earlier repair was killed before it removed the spool. */
static int put_next(struct recovering *r)
{
	char place[PATH_MAX], *next = r->result->next;
	const char *name = base_name(r->recovered);
	int rc = -ENAMETOOLONG;

	if (name_beside(r->pin.beside, name, place, sizeof(place)) &&
	    name_beside(r->pin.path, name, next, sizeof(r->result->next)))
		rc = gt_join_is_closed(place) ? 0 : gt_move_file(r->recovered, place);
	if (rc)
		*next = 0;
	return rc ? fail(r, rc, "%s: %s", r->spool.path, strerror(-rc)) : 0;
}

/* What came while the file was being closed. */
static int recover_next(struct recovering *r)
{
	char why[256];
	int rc;

	gt_replay_forget(r->folder);
	rc = gt_replay_spool(&r->spool, true, r->folder, r->recovered, why, sizeof(why));
	if (rc)
		return fail(r, rc, "%s: not recovered: %s; it stays as it is", r->spool.path, why);
	return *r->recovered ? put_next(r) : 0;
}

/* ---- one at a time ---- */

/* In a folder that is not ours to write there is no lock. */
static bool is_expected(int rc)
{
	return rc == -EACCES || rc == -EROFS || rc == -EPERM;
}

static int lock(struct recovering *r, struct gt_repair_lock *lock, const struct gt_pin *pin)
{
	char holder[320];
	int rc = gt_repair_lock(lock, pin->beside, holder, sizeof(holder));

	if (rc == -EBUSY)
		return fail(r, rc, "%s: %s is repairing it: not touched", r->path, holder);
	if (rc && !is_expected(rc))
		snprintf(r->result->warning, sizeof(r->result->warning),
			 "%s: cannot be locked (%s): make sure that no other repair of it runs",
			 pin->path, strerror(-rc));
	return 0;
}

/* A compressed file is completed as a plain one, unless there is nothing to do. */
static int recover_trace(struct recovering *r, bool is_open)
{
	bool is_packed = is_open && gt_is_packed(&r->pin);
	enum gt_unpack_state state = is_packed ? gt_unpack_check(r->pin.content) : GT_UNPACK_CUT;
	int rc;

	if (state == GT_UNPACK_CHANGED)
		return fail(r, -EILSEQ,
			    "%s: its contents have been changed: gzip's checksum is wrong. Not "
			    "touched; zcat unpacks it as it is",
			    r->path);
	if (r->is_pftrace && state == GT_UNPACK_WHOLE)
		is_packed = !gt_join_is_closed(r->pin.content);
	rc = is_packed ? gt_unpack(&r->pin, &r->plain) : 0;
	if (rc)
		return fail(r, rc, "%s: cannot be unpacked beside it: %s", r->path, strerror(-rc));
	r->trace = is_packed ? &r->plain : &r->pin;
	rc = r->is_pftrace ? recover_pftrace(r) : recover_json(r, is_open);
	if (!rc && is_packed && !(r->result->is_readable && state == GT_UNPACK_WHOLE)) {
		if (r->result->was_closed) { /* in what broke off */
			r->result->was_closed = false;
			snprintf(r->result->why, sizeof(r->result->why),
				 "its compressed data broke off");
		}
		r->result->was_repacked = r->result->is_readable;
		rc = gt_pack_again(&r->pin, &r->plain);
		if (rc)
			fail(r, rc, "%s: cannot be packed: %s", r->path, strerror(-rc));
	}
	if (is_packed)
		gt_unpack_forget(&r->plain);
	return rc;
}

static int recover_unwritten(struct recovering *r, const struct beginning *beginning)
{
	int rc = check_writer(r, beginning);

	if (!rc)
		rc = recover_trace(r, beginning->is_open);
	if (!rc && r->has_spool && r->spool.is_closing && r->was_whole)
		rc = recover_next(r);
	if (!rc && r->has_spool && r->result->is_joined)
		gt_pin_remove(&r->pinned_spool);
	gt_replay_forget(r->folder);
	return rc;
}

static int fail_at_spool(struct recovering *r, int rc)
{
	return fail(r, rc, "%s: %s", r->spool.path, gt_pin_reason(rc));
}

/* The spool may be found without the file: it has a lock of its own. -ENOENT: another repair has
 * used it up and removed it meanwhile. */
static int recover_with_spool(struct recovering *r, const struct beginning *beginning)
{
	struct gt_repair_lock of_spool = {.fd = -1};
	int rc = gt_pin(&r->pinned_spool, r->spool.path);

	if (rc)
		return fail_at_spool(r, rc);
	rc = lock(r, &of_spool, &r->pinned_spool);
	if (!rc) {
		rc = gt_pin_again(&r->pinned_spool);
		rc = rc ? fail_at_spool(r, rc) : recover_unwritten(r, beginning);
	}
	gt_repair_unlock(&of_spool);
	gt_unpin(&r->pinned_spool);
	return rc;
}

/* Another repair may have put a new file in its place meanwhile. */
static int recover_as_it_is(struct recovering *r)
{
	struct beginning beginning;
	int rc = check_pinned(r, gt_pin_again(&r->pin));

	if (rc)
		return rc;
	read_beginning(&r->pin, &beginning);
	r->is_pftrace = gt_join_is_pftrace(r->pin.content, r->path);
	rc = find_spool(r, &beginning);
	if (rc)
		return rc;
	return r->has_spool ? recover_with_spool(r, &beginning) : recover_unwritten(r, &beginning);
}

/* Where another repair has removed the spool meanwhile, the file is as that one left it. */
static int recover_locked(struct recovering *r)
{
	int rc = recover_as_it_is(r);

	if (rc != -ENOENT || !r->has_spool || !access(r->spool.path, F_OK))
		return rc;
	*r->result->error = 0;
	return recover_as_it_is(r);
}

static int after_blanks(FILE *file)
{
	int c = fgetc(file);

	while (c == ' ' || c == '\t' || c == '\r' || c == '\n')
		c = fgetc(file);
	return c;
}

/* Whether there is something in another program's file that could be closed. */
static void look_at_foreign(const char *path, struct gt_recovery *result)
{
	FILE *file = fopen(path, "rb");
	int first;

	if (!file)
		return;
	first = after_blanks(file);
	result->is_empty = first == EOF;
	result->is_no_trace =
		first == '[' ? after_blanks(file) != '{' : first != '{' && first != GZIP_BEGINNING;
	fclose(file);
}

/* A closed file is only read. */
static int recover_pinned(struct recovering *r)
{
	struct gt_repair_lock of_file = {.fd = -1};
	struct beginning beginning;
	int rc = 0;

	read_beginning(&r->pin, &beginning);
	r->result->is_foreign = beginning.is_open && !beginning.is_ours && !r->is_named;
	if (r->result->is_foreign) {
		look_at_foreign(r->pin.content, r->result);
		return 0;
	}
	if (is_of_another_user(r, &beginning))
		return fail(r, -EPERM,
			    "%s: belongs to another user: not touched; name it to repair it",
			    r->path);
	if (beginning.is_open)
		rc = lock(r, &of_file, &r->pin);
	if (!rc)
		rc = recover_locked(r);
	gt_repair_unlock(&of_file);
	return rc;
}

int gt_recover_file(const char *path, const char *spools, bool is_named,
		    struct gt_recovery *ret_recovery)
{
	static struct recovering r;
	int rc;

	*ret_recovery = (struct gt_recovery){0};
	r = (struct recovering){
		.path = path, .spools = spools, .is_named = is_named, .result = ret_recovery};
	rc = strcmp(path, "-") ? gt_pin(&r.pin, path) : -ESPIPE;
	if (rc)
		return check_pinned(&r, rc);
	rc = check_pinned(&r, 0);
	if (!rc)
		rc = recover_pinned(&r);
	gt_unpin(&r.pin);
	return rc;
}
