/* SPDX-License-Identifier: Apache-2.0
 *
 * See shares.h. The first process finds the files, reads their heads and hands them out by rank, so
 * that what is said of a rank's traces together needs no other process. Answers go up a tree: after
 * log2(n) steps the first process has all, and none ever holds more than two.
 */
#include "cli/reduce/shares.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/reduce/link.h"
#include "cli/reduce/window.h"
#include "trace/file/header.h"
#include "trace/file/origins.h"

/* What is known of the shares themselves: names of groups, whose first tag is summed. */
#define STATUS "status" /* that something could not be read */
#define TRACES "traces"
#define WORK   "GPU work"     /* traces that have some */
#define OTHER  "unknown work" /* slices */
#define RANK   "rank "        /* and its number: shares that have it */

struct share_file {
	size_t process; /* in the order of the folder */
	int64_t rank;
	struct gt_reading head;
};

bool gt_shares_are_many(const struct gt_cmdline *args)
{
	return gt_cmdline_get(args, "mpi");
}

int gt_shares_refuse(const struct gt_cmdline *args, const char *line)
{
	return gt_link_rank() ? GT_EXIT_USAGE : gt_cmdline_wrong(args, "%s", line);
}

static int refuse_inputs(const struct gt_cmdline *args)
{
	for (size_t i = 0; i < args->input_count; i++)
		if (!strcmp(args->inputs[i], "-"))
			return gt_shares_refuse(args, "standard input: not with --mpi, whose "
						      "processes each read files");
	return 0;
}

int gt_shares_start(const struct gt_cmdline *args)
{
	if (!gt_shares_are_many(args))
		return 0;
	if (!gt_link_start())
		return gt_cmdline_wrong(args, "--mpi: this gputrace is built without MPI (meson "
					      "configure BUILD -Dmpi=true)");
	return refuse_inputs(args);
}

void gt_shares_end(void)
{
	gt_link_end();
}

static int by_rank(const void *a, const void *b)
{
	const struct share_file *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

/* Puts the files of one process behind those of its share. */
static void give(const struct gt_job *job, const size_t *first, size_t process,
		 struct gt_pack *share)
{
	for (size_t i = first[process]; i < first[process + 1]; i++)
		gt_pack_put_text(share, job->paths.at[i], strlen(job->paths.at[i]));
}

/* The traces of one rank go to one share, each rank to the next one. */
static void hand_out(const struct gt_job *job, const size_t *first, size_t count,
		     struct share_file *files, struct gt_pack *shares)
{
	struct gt_job_origins origins = {0};
	size_t ranks = 0;

	for (size_t i = 0; i < count; i++) {
		files[i].process = i;
		gt_file_header(job->paths.at[first[i]], &files[i].head);
		files[i].rank = files[i].head.header.has_rank ? files[i].head.header.rank : 0;
	}
	qsort(files, count, sizeof(*files), by_rank);
	for (size_t i = 0; i < count; i++) {
		ranks += i && files[i].rank != files[i - 1].rank;
		give(job, first, files[i].process, &shares[ranks % gt_link_size()]);
		gt_job_origins_see(&origins, &files[i].head.header,
				   job->paths.at[first[files[i].process]]);
	}
	gt_job_origins_judge(&origins, gt_cmdline_complain);
	for (size_t i = 0; i < count; i++)
		gt_reading_fini(&files[i].head);
}

/* Finds the files, and tells each process which are its own: none where they cannot be found. */
static int find_files(const struct gt_cmdline *args, struct gt_pack *shares)
{
	struct share_file *files = NULL;
	struct gt_job job = {0};
	size_t *first = NULL;
	int rc = gt_job_find_readable(&job, args->inputs, args->input_count, gt_cmdline_complain);

	if (rc >= 0) {
		first = calloc(job.paths.count + 1, sizeof(*first));
		files = calloc(job.paths.count + 1, sizeof(*files));
		rc = first && files ? 0 : -ENOMEM;
	}
	if (!rc)
		hand_out(&job, first, gt_job_find_processes(&job, first), files, shares);
	free(files);
	free(first);
	gt_job_fini(&job);
	return rc;
}

static int take_files(const void *bytes, size_t size, struct gt_job *job)
{
	struct gt_pack_in in = {bytes, (const uint8_t *)bytes + size, false};

	while (in.at < in.end) {
		size_t length;
		const char *text = gt_pack_take_text(&in, &length);
		char *path = length ? strndup(text, length) : NULL;

		if (!path || !gt_vec_push(&job->paths, path)) {
			free(path);
			return in.bad || !length ? -EBADMSG : -ENOMEM;
		}
	}
	return 0;
}

/* The first process: its own files stay. */
static int send_files(const struct gt_cmdline *args, struct gt_job *job)
{
	size_t size = gt_link_size();
	struct gt_pack *shares = calloc(size, sizeof(*shares));
	int rc = shares ? find_files(args, shares) : -ENOMEM;

	for (size_t i = 0; i < size; i++) {
		struct gt_pack none = {0}, *share = rc ? &none : &shares[i];

		if (i)
			gt_link_send(i, share->bytes.at, share->bytes.count);
		else if (!rc)
			rc = take_files(share->bytes.at, share->bytes.count, job);
	}
	for (size_t i = 0; shares && i < size; i++)
		gt_pack_fini(&shares[i]);
	free(shares);
	return rc;
}

static int receive_files(struct gt_job *job)
{
	size_t size;
	void *bytes = gt_link_receive(0, &size);
	int rc = bytes ? take_files(bytes, size, job) : -ENOMEM;

	free(bytes);
	return rc;
}

int gt_shares_load(const struct gt_cmdline *args, struct gt_job *job)
{
	int rc;

	if (!gt_shares_are_many(args))
		return gt_cmdline_load(args, job);
	rc = gt_link_rank() ? receive_files(job) : send_files(args, job);
	if (rc)
		rc = GT_EXIT_FAILED;
	else if (job->paths.count)
		rc = gt_cmdline_load_found(args, job);
	if (gt_window_is_asked(args) && gt_window_place(job))
		rc = GT_EXIT_FAILED;
	return rc;
}

static int add(struct gt_groups *groups, const char *name, uint64_t count)
{
	struct gt_group *group = gt_groups_get(groups, name);

	if (!group)
		return -ENOMEM;
	group->tag[0] += (int64_t)count;
	return 0;
}

static int describe_share(const struct gt_job *job, int status, struct gt_groups *groups)
{
	int rc = add(groups, STATUS, status != GT_EXIT_OK);
	char text[32];

	if (!rc)
		rc = add(groups, TRACES, job->count);
	for (size_t f = 0; !rc && f < job->count; f++) {
		const struct gt_model *model = &job->models[f];

		rc = add(groups, WORK, model->ops.count > 0);
		if (!rc)
			rc = add(groups, OTHER, model->odd.unknown_work);
		snprintf(text, sizeof(text), RANK "%d", model->rank);
		if (!rc && (!f || model->rank != job->models[f - 1].rank))
			rc = add(groups, text, 1);
	}
	return rc;
}

static int64_t told(struct gt_groups *groups, const char *name)
{
	const struct gt_group *group = gt_groups_get(groups, name);

	return group ? group->tag[0] : 0;
}

/* A rank in two shares, whose files do not tell it in their heads: neither knows of the other. */
static bool is_torn(const struct gt_cmdline *args, const struct gt_groups *groups)
{
	char line[160];

	for (size_t i = 0; i < groups->list.count; i++) {
		const char *name = gt_group_name(groups, &groups->list.at[i]);

		if (strncmp(name, RANK, sizeof(RANK) - 1) || groups->list.at[i].tag[0] < 2)
			continue;
		snprintf(line, sizeof(line),
			 "--mpi: %.40s is in several files, which only their ends tell; run it "
			 "without --mpi",
			 name);
		gt_shares_refuse(args, line);
		return true;
	}
	return false;
}

/* Of all shares. */
static int judge(const struct gt_cmdline *args, struct gt_groups *groups, bool *ret_prints)
{
	int rc = told(groups, STATUS) ? GT_EXIT_FAILED : GT_EXIT_OK;

	*ret_prints = told(groups, TRACES) > 0 && !is_torn(args, groups);
	if (!*ret_prints)
		return GT_EXIT_FAILED;
	return told(groups, WORK) ? rc : gt_cmdline_check_work(args, told(groups, OTHER)) | rc;
}

static int merge_from(size_t from, struct gt_group_set *sets, size_t count)
{
	size_t size;
	void *bytes = gt_link_receive(from, &size);
	int rc = bytes ? gt_group_sets_merge(sets, count, bytes, size) : -ENOMEM;

	free(bytes);
	return rc;
}

static void send_to(size_t to, struct gt_group_set *sets, size_t count, int rc)
{
	struct gt_pack out = {0};

	if (!rc)
		gt_group_sets_write(sets, count, &out);
	if (out.failed) /* then the other side says that it is none */
		out.bytes.count = 0;
	gt_link_send(to, out.bytes.at, out.bytes.count);
	gt_pack_fini(&out);
}

/* An error goes up as an empty message: who gets one waits for no other, but for those that send
 * to it. */
static int reduce(struct gt_group_set *sets, size_t count)
{
	size_t rank = gt_link_rank(), size = gt_link_size();
	int rc = 0, got;

	for (size_t step = 1; step < size; step *= 2) {
		if (rank & step) {
			send_to(rank - step, sets, count, rc);
			return rc;
		}
		if (rank + step >= size)
			continue;
		got = merge_from(rank + step, sets, count);
		rc = rc ? rc : got;
	}
	for (size_t i = 0; !rc && i < count; i++)
		rc = gt_groups_settle(&sets[i].groups) ? 0 : -ENOMEM;
	return rc;
}

int gt_shares_no_memory(const char *what)
{
	char line[160];

	snprintf(line, sizeof(line),
		 "no memory for %s: give the process more, or traces of a "
		 "window (gputrace run --delay, --duration)",
		 what);
	gt_cmdline_complain(line);
	return GT_EXIT_FAILED;
}

static int say_not_taken(int rc)
{
	char line[128];

	if (rc == -ENOMEM)
		return gt_shares_no_memory("the answers of all processes");
	snprintf(line, sizeof(line), "--mpi: the answer of a process cannot be taken: %s",
		 strerror(-rc));
	gt_cmdline_complain(line);
	return GT_EXIT_FAILED;
}

/* The sets and, as the last one, what is known of the shares. */
static int reduce_all(const struct gt_cmdline *args, struct gt_group_set *sets, size_t count,
		      bool *ret_prints)
{
	int rc = reduce(sets, count);

	if (gt_link_rank())
		return GT_EXIT_OK;
	return rc ? say_not_taken(rc) : judge(args, &sets[count - 1].groups, ret_prints);
}

int gt_shares_reduce(const struct gt_cmdline *args, const struct gt_job *job, int status,
		     struct gt_group_set *sets, size_t count, bool *ret_prints)
{
	struct gt_group_set *all;
	int rc;

	*ret_prints = job->count > 0;
	if (!gt_shares_are_many(args))
		return status;
	*ret_prints = false;
	all = calloc(count + 1, sizeof(*all));
	if (!all)
		gt_link_abort(); /* the others would wait for ever */
	if (count)
		memcpy(all, sets, count * sizeof(*all));
	all[count] = (struct gt_group_set){.name = "shares", .joins = {GT_TAG_SUM}};
	if (gt_groups_init(&all[count].groups) || describe_share(job, status, &all[count].groups))
		gt_link_abort();
	rc = reduce_all(args, all, count + 1, ret_prints);
	gt_groups_fini(&all[count].groups);
	if (count)
		memcpy(sets, all, count * sizeof(*all));
	free(all);
	return rc;
}

/* Each message is taken, whatever was wrong with one before: its sender waits for that. */
int gt_shares_gather(const struct gt_pack *mine, int rc,
		     int (*take)(const void *bytes, size_t size, void *data), void *data)
{
	bool is_made = !rc && !mine->failed;

	if (gt_link_rank()) {
		gt_link_send(0, mine->bytes.at, is_made ? mine->bytes.count : 0);
		return GT_EXIT_OK;
	}
	rc = is_made ? take(mine->bytes.at, mine->bytes.count, data) : -ENOMEM;
	for (size_t i = 1; i < gt_link_size(); i++) {
		size_t size;
		void *bytes = gt_link_receive(i, &size);

		if (!rc)
			rc = bytes ? take(bytes, size, data) : -ENOMEM;
		free(bytes);
	}
	return rc ? say_not_taken(rc) : GT_EXIT_OK;
}
