/* SPDX-License-Identifier: Apache-2.0
 *
 * Which files are the traces of a job, see job.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "readers/progress.h"
#include "readers/shell_word.h"
#include "trace/file/copies.h"
#include "trace/file/header.h"
#include "trace/file/merged.h"
#include "trace/file/runs.h"
#include "trace/file/same.h"
#include "trace/file_name.h"
#include "trace/first_block.h"
#include "trace/job.h"
#include "trace/segment_files.h"

static int by_name(const void *a, const void *b)
{
	return gt_segment_compare(*(char *const *)a, *(char *const *)b);
}

static int add_path(struct gt_job *job, const char *folder, const char *name)
{
	char *path = NULL;

	bool parted = !*folder || folder[strlen(folder) - 1] == '/';

	if (asprintf(&path, "%s%s%s", folder, parted ? "" : "/", name) < 0)
		return -ENOMEM;
	if (gt_vec_push(&job->paths, path))
		return 0;
	free(path);
	return -ENOMEM;
}

/* Endings of traces; in a folder that holds one trace in two forms the first of them counts. */
static const char *const endings[] = {".json", ".json.gz", ".pftrace", ".pftrace.gz"};

/* The number of the ending of @name, or -1; *ret_stem bytes stand before it and before
 * ".pt.trace". */
static int ending_of(const char *name, size_t *ret_stem)
{
	size_t n = strlen(name);

	for (int i = 0; i < 4; i++) {
		size_t m = strlen(endings[i]);

		if (n < m || strcmp(name + n - m, endings[i]))
			continue;
		n -= m;
		*ret_stem = n > 9 && !memcmp(name + n - 9, ".pt.trace", 9) ? n - 9 : n;
		return i;
	}
	return -1;
}

/* The manifest is what an unpacked zip of gputrace merge leaves beside the traces. */
static bool is_trace(const char *name)
{
	size_t stem;

	return name[0] != '.' && ending_of(name, &stem) >= 0 &&
	       strcmp(name, "perfetto_manifest.json") != 0;
}

static int add_traces(struct gt_job *job, const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int rc = 0;

	if (!dir)
		return -errno;
	while (!rc && (entry = readdir(dir)))
		if (is_trace(entry->d_name))
			rc = add_path(job, folder, entry->d_name);
	closedir(dir);
	return rc;
}

/* Further processes of a rank have a folder each below that of the first (writers/owner.h). */
static int add_asides(struct gt_job *job, const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	struct stat st;
	char path[4096];
	int rc = 0;

	if (!dir)
		return -errno;
	while (!rc && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || (size_t)snprintf(path, sizeof(path), "%s/%s", folder,
								entry->d_name) >= sizeof(path))
			continue;
		if (!lstat(path, &st) && S_ISDIR(st.st_mode))
			rc = add_traces(job, path);
	}
	closedir(dir);
	return rc == -EACCES ? 0 : rc;
}

/* Does @path hold the trace of @other once more, in a later form? An equal name alone may be
 * chance.
 */
static bool repeats(const char *path, const char *other)
{
	size_t stem, other_stem;
	int form = ending_of(path, &stem), other_form = ending_of(other, &other_stem);

	return form > other_form && stem == other_stem && !memcmp(path, other, stem) &&
	       gt_is_same_trace(path, other);
}

static void drop(struct gt_job *job, size_t i)
{
	free(job->paths.at[i]);
	job->paths.at[i] = NULL;
}

static void close_gaps(struct gt_job *job, size_t first)
{
	size_t kept = first;

	for (size_t i = first; i < job->paths.count; i++)
		if (job->paths.at[i])
			job->paths.at[kept++] = job->paths.at[i];
	job->paths.count = kept;
}

/* `gputrace convert` leaves both forms of a trace beside each other: its sums are not to be
 * doubled. */
static void drop_repeated(struct gt_job *job, size_t first, void (*complain)(const char *line))
{
	size_t stem;
	char line[8400];

	for (size_t i = first; i < job->paths.count; i++) {
		const char *same = NULL;

		if (ending_of(job->paths.at[i], &stem) == 0)
			continue;
		for (size_t j = first; !same && j < job->paths.count; j++)
			if (job->paths.at[j] && repeats(job->paths.at[i], job->paths.at[j]))
				same = job->paths.at[j];
		if (!same)
			continue;
		snprintf(line, sizeof(line), "%.4096s: left out, it is %.4096s in another form",
			 job->paths.at[i], same);
		complain(line);
		drop(job, i);
	}
	close_gaps(job, first);
}

static bool can_begin(const char *path)
{
	struct gt_reading reading;
	int rc = gt_file_header(path, &reading);

	gt_reading_fini(&reading);
	return rc >= 0;
}

/* What somebody put into the folder beside the traces: a pipe would be waited for. */
static void drop_other_kinds(struct gt_job *job, size_t first, void (*complain)(const char *line))
{
	struct stat st;
	char line[8400];

	for (size_t i = first; i < job->paths.count; i++) {
		if (stat(job->paths.at[i], &st) || S_ISREG(st.st_mode))
			continue;
		snprintf(line, sizeof(line), "%.4096s: left out, not a regular file",
			 job->paths.at[i]);
		complain(line);
		drop(job, i);
	}
	close_gaps(job, first);
}

/* A process that was killed as it began a file must not keep the others of its job from being
 * read. */
static int drop_unreadable(struct gt_job *job, const char *folder, size_t first,
			   void (*complain)(const char *line))
{
	struct stat st;
	char line[8400], *word = gt_shell_word(folder);

	for (size_t i = first; i < job->paths.count; i++) {
		const char *path = job->paths.at[i];
		bool is_torn, is_empty;

		if (stat(path, &st))
			continue;
		is_torn = gt_first_block_file_is_torn(path);
		is_empty = !st.st_size;
		if ((!is_torn && !is_empty) || can_begin(path))
			continue;
		snprintf(line, sizeof(line), "%.4096s: left out, %s%s%.4000s%s", path,
			 is_empty ? "it is empty" : "its process died in the first lines",
			 is_torn ? "; `gputrace repair " : "", is_torn && word ? word : "",
			 is_torn ? "` makes a trace of it" : "");
		complain(line);
		drop(job, i);
	}
	close_gaps(job, first);
	free(word);
	return job->paths.count > first ? 0 : -EBADMSG;
}

static int find_merged(char *const *paths, size_t count, size_t *ret_in)
{
	bool *is_own = calloc(count + 1, sizeof(*is_own));
	int rc = is_own ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < count; i++) {
		struct gt_file_name name;

		gt_file_name_parse(paths[i], &name);
		is_own[i] = name.is_ours;
	}
	if (!rc)
		rc = gt_job_merged(paths, is_own, count, ret_in);
	free(is_own);
	return rc;
}

/* Those that @find says are of others. One line, however many there are. */
static int drop_found(struct gt_job *job, size_t first, const char *words,
		      int (*find)(char *const *paths, size_t count, size_t *ret_of),
		      void (*complain)(const char *line))
{
	size_t count = job->paths.count - first, copies = 0, any = 0;
	size_t *copy_of = malloc((count + 1) * sizeof(*copy_of));
	char line[8400], more[64] = "";
	int rc = copy_of ? find(job->paths.at + first, count, copy_of) : -ENOMEM;

	for (size_t i = 0; !rc && i < count; i++)
		if (copy_of[i] != i && !copies++)
			any = i;
	if (copies > 1)
		snprintf(more, sizeof(more), " (and %zu more)", copies - 1);
	if (copies) {
		snprintf(line, sizeof(line), "%.4096s: left out, %s %.4096s%s",
			 job->paths.at[first + any], words, job->paths.at[first + copy_of[any]],
			 more);
		complain(line);
	}
	for (size_t i = 0; copies && i < count; i++)
		if (copy_of[i] != i)
			drop(job, first + i);
	close_gaps(job, first);
	free(copy_of);
	return rc;
}

/* The folder of one run, though its first process may have left no trace (writers/owner.h). */
static bool has_claim(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir)))
		found = !fnmatch(".rank*.owner", entry->d_name, 0);
	if (dir)
		closedir(dir);
	return found;
}

/* One line, and how the others can be read. */
static void report_runs(const char *folder, long runs, const char *left_out, size_t files,
			bool is_guess, void (*complain)(const char *line))
{
	char line[8400], more[64] = "";

	if (files > 1)
		snprintf(more, sizeof(more), " (and %zu more)", files - 1);
	snprintf(line, sizeof(line),
		 "%.4000s: %ld runs wrote into this folder, only the newest is taken; to read "
		 "%s, name its files: %.4000s%s",
		 folder, runs, runs == 2 ? "the other" : "another", left_out, more);
	complain(line);
	if (!is_guess)
		return;
	snprintf(line, sizeof(line),
		 "%.4000s: these runs were at the same time, and only when each rank began says "
		 "which it belongs to: that may be wrong; give each job an --output of its own",
		 folder);
	complain(line);
}

/* A folder that `gputrace run` was given twice: the sums of two runs are those of neither. */
static int drop_earlier_runs(struct gt_job *job, const char *folder, size_t first,
			     void (*complain)(const char *line))
{
	size_t count = job->paths.count - first, files = 0, any = 0;
	bool *left_out = calloc(count + 1, sizeof(*left_out)), is_guess = false;
	long runs;

	if (!left_out)
		return -ENOMEM;
	runs = count > 1 ? gt_job_runs_before(job->paths.at + first, count, left_out, &is_guess)
			 : 0;
	for (size_t i = 0; i < count; i++)
		if (left_out[i] && !files++)
			any = first + i;
	if (files)
		report_runs(folder, runs, job->paths.at[any], files, is_guess, complain);
	for (size_t i = 0; i < count; i++)
		if (left_out[i])
			drop(job, first + i);
	close_gaps(job, first);
	free(left_out);
	return runs < 0 ? (int)runs : 0;
}

static int add_folder(struct gt_job *job, const char *folder, bool readable,
		      void (*complain)(const char *line))
{
	size_t before = job->paths.count;
	int rc = add_traces(job, folder);

	if (!rc && (job->paths.count > before || has_claim(folder)))
		rc = add_asides(job, folder);
	if (!rc && job->paths.count == before)
		rc = -ENODATA;
	if (rc)
		return rc;
	qsort(job->paths.at + before, job->paths.count - before, sizeof(char *), by_name);
	drop_other_kinds(job, before, complain);
	drop_repeated(job, before, complain);
	if (job->paths.count == before)
		return -EBADMSG;
	rc = readable ? drop_unreadable(job, folder, before, complain) : 0;
	if (!rc && readable)
		rc = drop_found(job, before, "it is a copy of", gt_job_copies, complain);
	if (!rc && readable)
		rc = drop_found(job, before, "its processes are also in", find_merged, complain);
	return rc || !readable ? rc : drop_earlier_runs(job, folder, before, complain);
}

/* Into @ret what is wrong with a folder that holds no trace, and what to name instead. */
static void explain_no_trace(const char *folder, char *ret, size_t size)
{
	char pattern[4200];
	glob_t found;
	int rc = GLOB_NOMATCH;

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings) && rc; i++) {
		snprintf(pattern, sizeof(pattern), "%.4096s/*/*%s", folder, endings[i]);
		rc = glob(pattern, 0, NULL, &found);
		globfree(&found);
	}
	snprintf(ret, size, "no trace (*.json, *.json.gz, *.pftrace) in this folder%s",
		 rc ? "" : "; each folder in it is a run of its own: name one of them");
}

static void explain(const char *input, int rc, char *ret, size_t size)
{
	if (rc == -ENODATA)
		explain_no_trace(input, ret, size);
	else
		snprintf(ret, size, "%s",
			 rc == -EBADMSG ? "no readable trace in this folder" : strerror(-rc));
}

static int add_input(struct gt_job *job, const char *input, bool readable,
		     void (*complain)(const char *line))
{
	struct stat st;
	char line[4400], why[200];
	int rc;

	if (!strcmp(input, "-"))
		return add_path(job, "", input);
	if (!*input) {
		complain("'': an empty word is no file");
		return -ENOENT;
	}
	if (stat(input, &st))
		rc = -errno;
	else
		rc = S_ISDIR(st.st_mode) ? add_folder(job, input, readable, complain)
					 : add_path(job, "", input);
	if (rc < 0) {
		explain(input, rc, why, sizeof(why));
		snprintf(line, sizeof(line), "%.4096s: %s", input, why);
		complain(line);
	}
	return rc;
}

/* One line, however many there are. */
static void report_same(const char *path, const char *same, size_t others,
			void (*complain)(const char *line))
{
	char line[8400], more[64] = "";

	if (others)
		snprintf(more, sizeof(more), " (and %zu more)", others);
	if (strcmp(path, same))
		snprintf(line, sizeof(line), "%.4096s: the same file as %.4096s, taken once%s",
			 path, same, more);
	else
		snprintf(line, sizeof(line), "%.4096s: given twice, taken once%s", path, more);
	complain(line);
}

/* What is no file, as a pipe, is another one each time. */
static void look_at(const char *path, struct stat *ret_file)
{
	if (stat(path, ret_file) || !S_ISREG(ret_file->st_mode))
		*ret_file = (struct stat){0};
}

/* The first of the files 0 to @i that is the file @i. */
static size_t find_same(const struct stat *files, size_t i)
{
	size_t j = 0;

	while (files[i].st_ino &&
	       (files[j].st_ino != files[i].st_ino || files[j].st_dev != files[i].st_dev))
		j++;
	return files[i].st_ino ? j : i;
}

/* A folder and a file in it, or one file under two names: its sums are not to be doubled. */
static int drop_same(struct gt_job *job, void (*complain)(const char *line))
{
	size_t count = job->paths.count, left_out = 0, first = 0;
	struct stat *files = calloc(count + 1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		look_at(job->paths.at[i], &files[i]);
		if (find_same(files, i) != i && !left_out++)
			first = i;
	}
	if (left_out)
		report_same(job->paths.at[first], job->paths.at[find_same(files, first)],
			    left_out - 1, complain);
	for (size_t i = first; left_out && i < count; i++)
		if (find_same(files, i) != i)
			drop(job, i);
	close_gaps(job, 0);
	free(files);
	return 0;
}

static bool has_file(const struct gt_job *job, const struct stat *file)
{
	struct stat found;

	for (size_t i = 0; i < job->paths.count; i++) {
		look_at(job->paths.at[i], &found);
		if (found.st_ino == file->st_ino && found.st_dev == file->st_dev)
			return true;
	}
	return false;
}

bool gt_job_is_in(const struct gt_job *job, const struct gt_job *other)
{
	struct stat file;

	for (size_t i = 0; i < job->paths.count; i++) {
		look_at(job->paths.at[i], &file);
		if (!file.st_ino || !has_file(other, &file))
			return false;
	}
	return job->paths.count > 0;
}

static int find(struct gt_job *job, char *const *inputs, size_t count, bool readable,
		void (*complain)(const char *line))
{
	int rc = 0;

	*job = (struct gt_job){0};
	for (size_t i = 0; !rc && i < count; i++)
		rc = add_input(job, inputs[i], readable, complain);
	if (!rc)
		rc = drop_same(job, complain);
	for (size_t i = 0; !rc && i < job->paths.count; i++)
		gt_progress_expect_file(job->paths.at[i]);
	return rc;
}

int gt_job_find(struct gt_job *job, char *const *inputs, size_t count,
		void (*complain)(const char *line))
{
	return find(job, inputs, count, false, complain);
}

int gt_job_find_readable(struct gt_job *job, char *const *inputs, size_t count,
			 void (*complain)(const char *line))
{
	return find(job, inputs, count, true, complain);
}
