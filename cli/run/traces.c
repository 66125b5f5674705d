/* SPDX-License-Identifier: Apache-2.0
 *
 * See traces.h. The name of a file has its start time and host, the first block its run.
 */
#include "cli/run/traces.h"

#include <dirent.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/pattern.h"
#include "readers/input.h"
#include "readers/utf8.h"
#include "trace/file_name.h"
#include "trace/first_block.h"

#define RUN_NAME "gputrace-run-" /* how every name of a run begins */

/* ---- by its name ---- */

static bool is_named_here(const struct gt_metadata *process, const char *name)
{
	char host[GT_PATTERN_VALUE + 2], rank[32];

	if (!process->has_rank)
		return true;
	gt_pattern_clean(process->host, host);
	strcpy(host + strcspn(host, "."), "_");
	snprintf(rank, sizeof(rank), "rank%" PRId32 "_", process->rank);
	return strstr(name, host) || !strncmp(name, rank, strlen(rank));
}

static bool may_be_wanted(const struct gt_traces_wanted *wanted, const char *name)
{
	struct gt_file_name parts;

	if (fnmatch("*.pt.trace.json*", name, 0) && fnmatch("*.pftrace*", name, 0))
		return false;
	gt_file_name_parse(name, &parts);
	return parts.started >= (int64_t)wanted->began && is_named_here(wanted->process, name);
}

/* ---- by its first block ---- */

static bool read_packed(const char *path, struct gt_first_block *block)
{
	struct gt_input in;

	if (gt_input_open(&in, path))
		return false;
	while (in.size < GT_FIRST_BLOCK && gt_input_more(&in) > 0)
		continue;
	block->size = in.size < GT_FIRST_BLOCK ? in.size : GT_FIRST_BLOCK;
	memcpy(block->text, in.data, block->size);
	gt_input_close(&in);
	return true;
}

static bool read_block(const char *path, struct gt_first_block *block)
{
	const char *ending = strrchr(path, '.');

	memset(block, 0, sizeof(*block));
	return ending && !strcmp(ending, ".gz") ? read_packed(path, block)
						: !gt_first_block_read(block, path);
}

static bool is_of_another_rank(const struct gt_traces_wanted *wanted, const char *path)
{
	struct gt_file_name name;

	gt_file_name_parse(path, &name);
	return wanted->process->has_rank && name.has_rank && name.rank != wanted->process->rank;
}

/* A trace without the name of a run counts too: a launcher may pass on GPUTRACE_OUTPUT without
 * GPUTRACE_RUN. One that is only being begun has none yet: another rank's has its own wrapper. */
static bool is_of_run(const struct gt_first_block *block, const struct gt_traces_wanted *wanted,
		      const char *path)
{
	if (gt_first_block_find(block, block->text, wanted->run))
		return true;
	return !gt_first_block_find(block, block->text, RUN_NAME) &&
	       !(gt_first_block_is_torn(block) && is_of_another_rank(wanted, path));
}

/* Writes one character of @text as a trace holds it. Returns its length in @text. */
static size_t put_character(const char *text, bool is_json, char **at)
{
	size_t length = gt_utf8_length((const unsigned char *)text, strlen(text));

	if (!length)
		*at = stpcpy(*at, "\xef\xbf\xbd");
	else if (is_json && (unsigned char)*text < ' ')
		*at += sprintf(*at, "\\u%04x", (unsigned int)*text);
	else
		*at += sprintf(*at, "%s%.*s", is_json && strchr("\\\"", *text) ? "\\" : "",
			       (int)length, text);
	return length ? length : 1;
}

/* "output=..." as in the options of a trace. */
static char *options_text(const char *output, bool is_json)
{
	char *text = malloc(sizeof("output=") + 6 * strlen(output)), *at = text;

	if (!text)
		return NULL;
	at = stpcpy(at, "output=");
	while (*output)
		output += put_character(output, is_json, &at);
	return text;
}

/* The trace has @output as its option. */
static bool is_meant_for(const struct gt_first_block *block, const char *output)
{
	char *text = options_text(output, strchr("[{", block->text[0]));
	const char *found = text ? gt_first_block_find(block, block->text, text) : NULL;
	size_t length = text ? strlen(text) : 0;

	while (found && !strchr(" \"", found[length]))
		found = gt_first_block_find(block, found + 1, text);
	free(text);
	return found;
}

/* ---- the folders ---- */

static void add(struct gt_traces *traces, const char *path)
{
	char **more = reallocarray(traces->path, traces->count + 1, sizeof(*more));

	if (!more)
		return;
	traces->path = more;
	traces->path[traces->count] = strdup(path);
	traces->count += traces->path[traces->count] != NULL;
}

/* In the folder for temporary files there may be traces of other output folders and users. */
static bool is_wanted(const struct gt_traces_wanted *wanted, const char *path, bool is_elsewhere)
{
	struct gt_first_block *block;
	struct stat st;
	bool found;

	if (lstat(path, &st) || !S_ISREG(st.st_mode) || (is_elsewhere && st.st_uid != geteuid()))
		return false;
	block = malloc(sizeof(*block));
	found = block && read_block(path, block) && is_of_run(block, wanted, path) &&
		(!is_elsewhere || is_meant_for(block, wanted->output));
	free(block);
	return found;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What is done with each name in a folder. @name: the end of @path. */
typedef void gt_entry_fn(const struct gt_traces_wanted *wanted, const char *path, const char *name,
			 struct gt_traces *traces);

static void each_entry(const char *folder, gt_entry_fn *entry_fn,
		       const struct gt_traces_wanted *wanted, struct gt_traces *traces)
{
	DIR *dir = opendir(folder);
	int length = (int)strlen(folder);
	struct dirent *entry;
	char path[PATH_MAX];

	while (length && folder[length - 1] == '/')
		length--;
	while (dir && (entry = readdir(dir))) {
		if (*entry->d_name != '.' && snprintf(path, sizeof(path), "%.*s/%s", length, folder,
						      entry->d_name) < (int)sizeof(path))
			entry_fn(wanted, path, strrchr(path, '/') + 1, traces);
	}
	if (dir)
		closedir(dir);
}

static void take_trace(const struct gt_traces_wanted *wanted, const char *path, const char *name,
		       struct gt_traces *traces)
{
	if (may_be_wanted(wanted, name) && is_wanted(wanted, path, false))
		add(traces, path);
}

static void take_trace_elsewhere(const struct gt_traces_wanted *wanted, const char *path,
				 const char *name, struct gt_traces *traces)
{
	if (may_be_wanted(wanted, name) && is_wanted(wanted, path, true))
		add(traces, path);
}

/* "rank0_host_PID": further processes of a rank have a folder each (writers/owner.h). */
static bool is_of_process(const char *folder)
{
	const char *pid = strrchr(folder, '_');

	return pid && pid[1] && pid[1 + strspn(pid + 1, "0123456789")] == '\0';
}

/* The trace in a folder that is named like it. */
static void take_namesake(const struct gt_traces_wanted *wanted, const char *path, const char *name,
			  struct gt_traces *traces)
{
	const char *slash = memrchr(path, '/', (size_t)(name - 1 - path)), *folder = slash + 1;
	size_t length = (size_t)(name - 1 - folder);

	if (!strncmp(folder, name, length) && name[length] == '.')
		take_trace(wanted, path, name, traces);
}

/* What lies deeper is of others. */
static void take_entry(const struct gt_traces_wanted *wanted, const char *path, const char *name,
		       struct gt_traces *traces)
{
	struct stat st;

	take_trace(wanted, path, name, traces);
	if (is_of_process(name) && !lstat(path, &st) && S_ISDIR(st.st_mode))
		each_entry(path, take_namesake, wanted, traces);
}

/* Adds those in @folder, sorted. */
static void search(const char *folder, gt_entry_fn *entry_fn, const struct gt_traces_wanted *wanted,
		   struct gt_traces *traces)
{
	size_t before = traces->count;

	each_entry(folder, entry_fn, wanted, traces);
	if (traces->count > before)
		qsort(traces->path + before, traces->count - before, sizeof(*traces->path),
		      compare);
}

void gt_traces_find(const struct gt_traces_wanted *wanted, struct gt_traces *ret_traces)
{
	const struct gt_folder *folder = wanted->folder;
	size_t in_folder;

	*ret_traces = (struct gt_traces){.path = NULL};
	search(folder->path, take_entry, wanted, ret_traces);
	in_folder = ret_traces->count;
	if (strcmp(folder->fallback, folder->path) != 0)
		search(folder->fallback, take_trace_elsewhere, wanted, ret_traces);
	ret_traces->elsewhere = ret_traces->count - in_folder;
}

void gt_traces_fini(struct gt_traces *traces)
{
	for (size_t i = 0; i < traces->count; i++)
		free(traces->path[i]);
	free(traces->path);
	*traces = (struct gt_traces){.path = NULL};
}
