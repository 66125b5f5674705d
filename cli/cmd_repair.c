/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace repair: closes the files of processes that died, with what their spools hold.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmdline.h"
#include "cli/progress.h"
#include "core/spool.h"
#include "readers/chrome/reader.h"
#include "recover/complete.h"
#include "recover/lock.h"
#include "recover/mend.h"
#include "recover/recover.h"
#include "recover/rejoin.h"
#include "recover/repair.h"
#include "recover/writer_of.h"
#include "trace/file_name.h"
#include "trace/first_block.h"
#include "writers/owner.h"

static const struct gt_cmdline_option options[] = {
	{"quiet", NULL, NULL, "print nothing about repaired or closed files"},
	{"begun", NULL, NULL,
	 "only create the traces of processes that were killed before they had a file"},
	{NULL, NULL, NULL, NULL},
};

struct repair_request {
	const char *folder; /* whose traces are asked for */
	bool quiet;
	int failures;
};

static void complain_about(const struct gt_left_spool *spool, const char *why)
{
	char line[PATH_MAX + 512];

	snprintf(line, sizeof(line), "%s: not recovered: %s", spool->path, why);
	gt_cmdline_complain(line);
}

/* ---- whose trace it is ---- */

/* What the beginning of a file tells. */
struct beginning {
	bool is_open;     /* not closed by its process, or that cannot be told */
	int64_t pid;      /* 0: not known */
	char host[80];    /* empty: not known */
	char spool[1024]; /* empty: none */
};

static int stop_reading(const struct gt_trace_event *record, const struct gt_header *header,
			void *data)
{
	(void)record;
	(void)header;
	(void)data;
	return -ECANCELED;
}

static bool begins_as_object(const char *path)
{
	FILE *file = fopen(path, "rb");
	int first = file ? fgetc(file) : EOF;

	if (file)
		fclose(file);
	return first == '{';
}

static void look(const char *path, struct beginning *ret_beginning)
{
	struct gt_file_name name;
	struct gt_reading reading;

	*ret_beginning = (struct beginning){0};
	ret_beginning->is_open = !begins_as_object(path) || gt_first_block_file_is_torn(path);
	if (!ret_beginning->is_open)
		return;
	gt_file_name_parse(path, &name);
	gt_reader_read(path, stop_reading, NULL, &reading);
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
static bool belongs(const struct gt_left_spool *spool, const char *path)
{
	struct stat mine, reported;

	if (stat(path, &mine))
		return false;
	if (!*spool->trace)
		return is_begun(spool, path, &mine);
	if (!stat(spool->trace, &reported))
		return mine.st_ino == reported.st_ino && mine.st_dev == reported.st_dev;
	return !strcmp(base_name(spool->trace), base_name(path));
}

struct repair_search {
	const char *path;
	struct gt_left_spool *spool;
	bool is_found;
};

static void see_spool(const struct gt_left_spool *spool, void *context)
{
	struct repair_search *search = context;

	if (search->is_found || !belongs(spool, search->path))
		return;
	*search->spool = *spool;
	search->is_found = true;
}

/* The header may name it; it may be torn. */
static bool find_spool(const char *path, const struct beginning *beginning,
		       struct gt_left_spool *ret_spool)
{
	struct repair_search search = {.path = path, .spool = ret_spool};

	if (*beginning->spool == '/' && gt_spool_inspect(beginning->spool, ret_spool) &&
	    belongs(ret_spool, path))
		return true;
	gt_spools_each(see_spool, &search);
	return search.is_found;
}

/* ---- one file ---- */

struct work {
	const char *path;
	struct gt_left_spool spool;
	bool has_spool, is_joined;
	char folder[PATH_MAX], recovered[PATH_MAX]; /* what the spool holds, as a trace */
	struct gt_mend mend;
	struct gt_rejoin rejoin;
	struct gt_repair repair;
};

static bool is_written(const struct work *w, const struct beginning *beginning)
{
	if (w->has_spool && w->spool.running)
		return true;
	return beginning->is_open && beginning->pid > 0 &&
	       gt_writer_is_alive(w->path, beginning->pid);
}

static void complain_of_writer(const char *path, int64_t pid)
{
	char line[PATH_MAX + 128];

	snprintf(line, sizeof(line), "%s: process %" PRId64 " still writes it: not touched", path,
		 pid);
	gt_cmdline_complain(line);
}

/* A spool that is here tells of a process that was. */
static bool may_be_written_elsewhere(const struct work *w, const struct beginning *beginning)
{
	return beginning->is_open && beginning->pid > 0 && !w->has_spool &&
	       !gt_complete_is_due(w->path) && gt_writer_may_be_elsewhere(w->path, beginning->host);
}

static void complain_of_host(const char *path, const char *host)
{
	char line[PATH_MAX + 256];

	snprintf(line, sizeof(line),
		 "%s: written on %s a moment ago: not touched; repair it there, or in a minute",
		 path, *host ? host : "another host");
	gt_cmdline_complain(line);
}

/* A failure is said; of a spool that can never be read the trace is then closed without. What
 * failed for want of room may be done another time: a negative errno, for a closed trace is given
 * nothing more. */
static int get_recovered(struct work *w)
{
	char why[256] = "";
	int rc = gt_recover(&w->spool, w->folder, w->recovered, why, sizeof(why));

	w->is_joined = rc == 0;
	if (rc)
		complain_about(&w->spool, why);
	return rc == -EBADMSG ? 0 : rc;
}

static bool is_want_of_room(int rc)
{
	return rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG || rc == -EIO || rc == -ENOMEM;
}

/* Puts what the spool holds into its trace. As get_recovered(). */
static int join(struct work *w)
{
	int rc = gt_rejoin(w->path, w->recovered, &w->rejoin);

	w->is_joined = rc == 0 || rc == -EALREADY;
	if (!w->is_joined)
		gt_cmdline_complain(w->rejoin.error);
	return is_want_of_room(rc) ? rc : 0;
}

static void print(const struct work *w)
{
	const struct gt_repair *repair = &w->repair;

	gt_progress_hide();
	if (repair->was_closed) {
		printf("%s: closed already\n", w->path);
		return;
	}
	if (w->mend.was_torn)
		printf("%s: %s when its process was killed; rebuilt\n", w->path,
		       w->mend.was_empty ? "nothing had been written" : "its header was cut");
	printf("%s: closed (%s); %" PRIu64 " events kept, %" PRIu64 " bytes cut\n", w->path,
	       repair->why, repair->events, repair->cut);
	if (w->rejoin.events)
		printf("%s: %" PRIu64 " calls and %" PRIu64
		       " GPU operations recovered that the process had not written\n",
		       w->path, w->rejoin.calls, w->rejoin.operations);
}

static int close_file(struct work *w, bool quiet)
{
	struct gt_repair_added added = {.calls = w->rejoin.calls,
					.operations = w->rejoin.operations,
					.in_flight = w->rejoin.in_flight,
					.ledger = w->rejoin.ledger};
	int rc = gt_repair_file(w->path, w->rejoin.ledger ? &added : NULL, &w->repair);

	if (rc < 0)
		gt_cmdline_complain(w->repair.error);
	else if (!quiet)
		print(w);
	return rc;
}

/* Killed behind the last byte: the spool has nothing that the file lacks. */
static bool is_complete(const struct work *w)
{
	return w->is_joined || (w->repair.was_closed && w->repair.has_ledger);
}

static int repair_work(struct work *w, bool is_open, bool quiet)
{
	int rc = w->has_spool && is_open ? get_recovered(w) : 0;

	if (rc)
		return rc;
	rc = gt_mend_file(w->path, *w->recovered ? w->recovered : NULL, &w->mend);
	if (rc < 0) {
		gt_cmdline_complain(w->mend.error);
		return rc;
	}
	rc = *w->recovered ? join(w) : 0;
	if (rc)
		return rc;
	rc = close_file(w, quiet);
	if (rc >= 0 && w->has_spool && is_complete(w))
		unlink(w->spool.path);
	return rc;
}

/* ---- one file of the other form ---- */

static void print_completed(const char *path, const struct gt_complete *complete)
{
	gt_progress_hide();
	if (complete->was_closed) {
		printf("%s: closed already\n", path);
		return;
	}
	if (complete->was_torn)
		printf("%s: its header was cut when its process was killed; rebuilt\n", path);
	printf("%s: closed; %" PRIu64 " events kept, %" PRIu64 " bytes cut\n", path,
	       complete->events, complete->cut);
	printf("%s: %" PRIu64 " calls and %" PRIu64
	       " GPU operations recovered that the process had not written\n",
	       path, complete->calls, complete->operations);
}

/* Without a spool there is nothing to add, but perhaps a header. */
static int complete_alone(const char *path, bool quiet)
{
	struct gt_complete complete;
	int rc = gt_complete_without_spool(path, &complete);

	if (rc)
		gt_cmdline_complain(complete.error);
	else if (!quiet && (complete.was_closed || complete.was_torn))
		print_completed(path, &complete);
	else if (!quiet)
		printf("%s: readable as it is, nothing to add\n", path);
	return rc;
}

static int complete_work(struct work *w, bool quiet)
{
	struct gt_complete complete;
	int rc = w->has_spool ? get_recovered(w) : 0;

	if (rc)
		return rc;
	if (!*w->recovered)
		return complete_alone(w->path, quiet);
	rc = gt_complete(w->path, w->recovered, w->spool.path, &complete);
	if (rc)
		gt_cmdline_complain(complete.error);
	else if (!quiet)
		print_completed(w->path, &complete);
	if (!rc)
		unlink(w->spool.path);
	return rc;
}

/* ---- any file ---- */

/* Who opens a pipe may wait for ever, and nothing in it can be written anew. */
static bool can_be_rewritten(const char *path)
{
	char line[PATH_MAX + 128];
	struct stat st;

	if (strcmp(path, "-") != 0 && (stat(path, &st) || S_ISREG(st.st_mode)))
		return true;
	snprintf(line, sizeof(line), "%s: not a regular file: a pipe cannot be repaired", path);
	gt_cmdline_complain(line);
	return false;
}

static void complain_of_holder(const char *path, const char *holder)
{
	char line[PATH_MAX + 512];

	snprintf(line, sizeof(line), "%s: %s is repairing it: not touched", path, holder);
	gt_cmdline_complain(line);
}

static int repair_with_spool(struct work *w, const struct beginning *beginning, bool quiet)
{
	if (is_written(w, beginning)) {
		complain_of_writer(w->path, w->has_spool ? w->spool.pid : beginning->pid);
		return -EBUSY;
	}
	if (may_be_written_elsewhere(w, beginning)) {
		complain_of_host(w->path, beginning->host);
		return -EBUSY;
	}
	return gt_complete_is_due(w->path) ? complete_work(w, quiet)
					   : repair_work(w, beginning->is_open, quiet);
}

static int repair_locked(const char *path, bool quiet)
{
	struct gt_repair_lock lock = {.fd = -1}; /* the spool may be found without the file, too */
	static struct work w;
	struct beginning beginning;
	char holder[320];
	int rc;

	w = (struct work){.path = path};
	look(path, &beginning);
	w.has_spool = find_spool(path, &beginning, &w.spool);
	if (w.has_spool &&
	    gt_repair_lock(&lock, w.spool.folder, w.spool.path, holder, sizeof(holder)) == -EBUSY) {
		complain_of_holder(path, holder);
		return -EBUSY;
	}
	rc = repair_with_spool(&w, &beginning, quiet);
	gt_repair_unlock(&lock);
	gt_recover_forget(w.folder);
	free(w.rejoin.ledger);
	return rc;
}

/* A closed file is only read. Where no lock can be had - a folder that is not ours to write - there
 * is none. */
static int repair_one(const char *path, bool quiet)
{
	struct gt_repair_lock lock = {.fd = -1};
	struct beginning beginning;
	char holder[320];
	int rc = 0;

	if (!can_be_rewritten(path))
		return -ESPIPE;
	look(path, &beginning);
	if (beginning.is_open)
		rc = gt_repair_lock(&lock, NULL, path, holder, sizeof(holder));
	if (rc == -EBUSY) {
		complain_of_holder(path, holder);
		return rc;
	}
	rc = repair_locked(path, quiet);
	gt_repair_unlock(&lock);
	return rc;
}

/* ---- traces that were never begun ---- */

static bool is_below(const char *path, const char *folder)
{
	char real[PATH_MAX];
	size_t length;

	if (!realpath(folder, real))
		return false;
	length = strlen(real);
	return !strncmp(path, real, length) && (path[length] == 0 || path[length] == '/');
}

/* By copy where the folders lie on different file systems. What the process had created of its file
 * is empty. */
static int move_file(const char *from, const char *to)
{
	char buffer[65536];
	struct stat st;
	FILE *in, *out;
	size_t n;
	int rc;

	if (!lstat(to, &st) && st.st_size)
		return -EEXIST;
	if (!rename(from, to))
		return 0;
	unlink(to);
	in = fopen(from, "rb");
	out = in ? fopen(to, "wbx") : NULL;
	rc = out ? fchmod(fileno(out), 0600) : -errno;
	while (out && !rc && (n = fread(buffer, 1, sizeof(buffer), in)))
		rc = fwrite(buffer, 1, n, out) == n ? 0 : -EIO;
	if (out && fclose(out) && !rc)
		rc = -errno;
	if (in)
		fclose(in);
	return rc;
}

struct repair_place {
	char path[PATH_MAX + 1100], aside[PATH_MAX + 1100], owner[32];
	int folder;      /* -1: none */
	bool is_claimed; /* the trace will be the one of its rank in the folder itself */
};

/* As a process names them: in the folder, or in one named like the file up to its first dot. */
static void name_places(const struct gt_left_spool *spool, const char *name,
			struct repair_place *ret_place)
{
	struct gt_file_name parts;

	gt_file_name_parse(name, &parts);
	snprintf(ret_place->owner, sizeof(ret_place->owner), "rank%" PRId64,
		 parts.has_rank ? parts.rank : 0);
	snprintf(ret_place->path, sizeof(ret_place->path), "%s/%s", spool->folder, name);
	snprintf(ret_place->aside, sizeof(ret_place->aside), "%s/%.*s", spool->folder,
		 (int)strcspn(name, "."), name);
}

/* Where the process had created its file, else where it would have: readers take every trace of a
 * folder itself as a rank of its own. */
static int choose_place(const struct gt_left_spool *spool, const char *name,
			struct repair_place *ret_place)
{
	struct stat st;
	size_t length;

	*ret_place = (struct repair_place){.folder = -1};
	name_places(spool, name, ret_place);
	if (!lstat(ret_place->path, &st))
		return 0;
	ret_place->folder = open(spool->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret_place->folder < 0)
		return -errno;
	length = strlen(ret_place->aside);
	snprintf(ret_place->aside + length, sizeof(ret_place->aside) - length, "/%s", name);
	ret_place->is_claimed =
		lstat(ret_place->aside, &st) && gt_owner_claim(ret_place->folder, ret_place->owner);
	if (ret_place->is_claimed)
		return 0;
	memcpy(ret_place->path, ret_place->aside, sizeof(ret_place->path));
	ret_place->aside[length] = 0;
	return mkdir(ret_place->aside, 0775) && errno != EEXIST ? -errno : 0;
}

/* Into the folder of its process. */
static int put_trace(const struct gt_left_spool *spool, const char *recovered,
		     struct repair_place *ret_place)
{
	const char *name = base_name(recovered);
	int rc = choose_place(spool, name, ret_place);

	if (!rc)
		rc = move_file(recovered, ret_place->path);
	if (!rc && ret_place->is_claimed)
		gt_owner_set_trace(ret_place->folder, ret_place->owner, name);
	if (ret_place->folder >= 0)
		close(ret_place->folder);
	return rc;
}

static int make_locked(const struct gt_left_spool *spool, bool quiet)
{
	static struct repair_place place;
	char folder[PATH_MAX], recovered[PATH_MAX], why[256] = "";
	int rc = gt_recover(spool, folder, recovered, why, sizeof(why));

	if (rc)
		complain_about(spool, why);
	if (!rc && *recovered) {
		rc = put_trace(spool, recovered, &place);
		if (rc)
			complain_about(spool, strerror(-rc));
		else if (!quiet)
			printf("%s: recovered from the spool of a process that was killed\n",
			       place.path);
	}
	gt_recover_forget(folder);
	if (!rc)
		unlink(spool->path);
	return rc;
}

static int make_trace(const struct gt_left_spool *spool, bool quiet)
{
	struct gt_repair_lock lock;
	char why[400], holder[320];
	int rc = gt_repair_lock(&lock, spool->folder, spool->path, holder, sizeof(holder));

	if (rc == -EBUSY) {
		snprintf(why, sizeof(why), "%s is repairing it", holder);
		complain_about(spool, why);
		return rc;
	}
	rc = access(spool->path, F_OK) ? 0 : make_locked(spool, quiet); /* done meanwhile */
	gt_repair_unlock(&lock);
	return rc;
}

static void see_begun(const struct gt_left_spool *spool, void *context)
{
	struct repair_request *request = context;

	if (spool->running || *spool->trace || !is_below(spool->folder, request->folder))
		return;
	request->failures += make_trace(spool, request->quiet) != 0;
}

/* A folder's processes may have been killed before they had a file. */
static int finish_begun(char *const *inputs, size_t count, bool quiet)
{
	int failures = 0;

	for (size_t i = 0; i < count; i++) {
		struct repair_request request = {.folder = inputs[i], .quiet = quiet};
		struct stat st;

		if (!stat(inputs[i], &st) && S_ISDIR(st.st_mode))
			gt_spools_each(see_begun, &request);
		failures += request.failures;
	}
	return failures;
}

static int run_repair(const struct gt_cmdline *args)
{
	bool quiet = gt_cmdline_get(args, "quiet");
	int failures = finish_begun(args->inputs, args->input_count, quiet);
	struct gt_job job;

	if (gt_cmdline_get(args, "begun"))
		return failures ? GT_EXIT_FAILED : GT_EXIT_OK;
	gt_progress_start("repairing");
	failures += gt_job_find(&job, args->inputs, args->input_count, gt_cmdline_complain) < 0;
	for (size_t i = 0; i < job.paths.count; i++)
		failures += repair_one(job.paths.at[i], quiet) < 0;
	gt_progress_stop();
	gt_job_fini(&job);
	return failures ? GT_EXIT_FAILED : GT_EXIT_OK;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_repair,
	.details = "The file of a killed process is an array without an end, which Perfetto opens "
		   "and other readers reject. Repair turns it into the closed object, in place: it "
		   "drops an event that was cut in the middle and adds what the process had not "
		   "written, recovered from its spool (--spool), which is then removed. A header "
		   "that was cut is rebuilt from what can be read, from the spool and from the "
		   "file's name; header_unknown lists what could not be recovered. A .pftrace is "
		   "readable as it is and gets the events of its spool. Closed files are left "
		   "alone. Not touched (exit status 1): a file that its process still writes, and "
		   "one with wrong JSON in the middle, NaN or text that is not UTF-8.",
	.example = "gputrace repair gputrace-out/run",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.run = run_repair,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_repair = {
	.name = "repair",
	.arguments = "FILE|FOLDER...",
	.help = "close and complete the trace of a process that was killed",
	.run = run,
};
