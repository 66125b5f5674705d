/* SPDX-License-Identifier: Apache-2.0
 *
 * See job.h. One reading is one thread's work from end to end; the threads share only the counter
 * that hands out files.
 */
#include "trace/job.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/file/origins.h"
#include "trace/job_compare.h"
#include "trace/job_twins.h"
#include "trace/segment_files.h"

#define MAX_THREADS 16

struct job_pool {
	struct gt_job *job;
	size_t *first;            /* path of each process, and behind them their count */
	size_t count;             /* processes */
	struct gt_models *loaded; /* of each process */
	int *results;
	atomic_size_t next;
};

static void *work(void *data)
{
	struct job_pool *pool = data;
	size_t i;

	while ((i = atomic_fetch_add(&pool->next, 1)) < pool->count)
		pool->results[i] =
			gt_model_load(&pool->job->paths.at[pool->first[i]],
				      pool->first[i + 1] - pool->first[i], &pool->loaded[i]);
	return NULL;
}

static void run_pool(struct job_pool *pool)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t wanted = pool->count, started = 0;
	pthread_t threads[MAX_THREADS];

	if (cores > 0 && wanted > (size_t)cores)
		wanted = (size_t)cores;
	if (wanted > MAX_THREADS)
		wanted = MAX_THREADS;
	while (started + 1 < wanted && !pthread_create(&threads[started], NULL, work, pool))
		started++;
	work(pool);
	while (started)
		pthread_join(threads[--started], NULL);
}

int gt_job_compare_models(const struct gt_model *a, const struct gt_model *b)
{
	return a->rank != b->rank ? (a->rank < b->rank ? -1 : 1) : strcmp(a->path, b->path);
}

static int by_rank(const void *a, const void *b)
{
	return gt_job_compare_models(a, b);
}

/* Takes over what could be read. */
static int take_models(struct gt_job *job, struct gt_models *loaded)
{
	size_t count = job->count + loaded->count;
	struct gt_model *models = realloc(job->models, count * sizeof(*models));

	if (!models)
		return -ENOMEM;
	memcpy(models + job->count, loaded->at, loaded->count * sizeof(*models));
	job->models = models;
	job->count = count;
	gt_vec_free(loaded);
	return 0;
}

static void complain_of(const struct gt_models *loaded, int rc, void (*complain)(const char *line))
{
	const char *error = loaded->count ? loaded->at[0].reading.error : "";

	complain(*error ? error : strerror(-rc));
}

/* Drops what could not be read, orders the rest. */
static size_t keep_good(struct gt_job *job, const struct job_pool *pool,
			void (*complain)(const char *line))
{
	size_t failures = 0;

	for (size_t i = 0; i < pool->count; i++) {
		int rc = pool->results[i];

		if (!rc)
			rc = take_models(job, &pool->loaded[i]);
		if (rc < 0) {
			complain_of(&pool->loaded[i], rc, complain);
			failures++;
		}
		gt_models_fini(&pool->loaded[i]);
	}
	if (job->count)
		qsort(job->models, job->count, sizeof(*job->models), by_rank);
	return failures;
}

static int by_name(const void *a, const void *b)
{
	return gt_segment_compare(*(char *const *)a, *(char *const *)b);
}

/* Files of one process become one model. The order is that of the inputs unless there are such. */
size_t gt_job_find_processes(struct gt_job *job, size_t *ret_first)
{
	char *const *paths = job->paths.at;
	size_t count = job->paths.count, processes = 0;
	bool has_parts = false;

	for (size_t i = 0; i < count; i++)
		has_parts |= gt_segment_number(paths[i]) > 1;
	if (has_parts)
		qsort(job->paths.at, count, sizeof(char *), by_name);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || !gt_segments_are_of_one(paths[i - 1], paths[i]))
			ret_first[processes++] = i;
	ret_first[processes] = count;
	return processes;
}

/* Whether they can be of one job. */
static void judge(const struct gt_job *job, void (*complain)(const char *line))
{
	struct gt_job_origins origins = {0};

	for (size_t f = 0; f < job->count; f++)
		gt_job_origins_see(&origins, &job->models[f].reading.header, job->models[f].path);
	gt_job_origins_judge(&origins, complain);
}

/* Tables are of all traces together. */
static bool can_be_added_up(const struct gt_job *job)
{
	struct gt_trace_sums sums = {0};

	for (size_t f = 0; job->count > 1 && f < job->count; f++) /* each one was looked at */
		gt_trace_sums_add(&sums, &job->models[f]);
	return gt_trace_sums_fit(&sums);
}

/* What is wrong with all of them is wrong with each. */
static void drop_models(struct gt_job *job)
{
	while (job->count)
		gt_model_fini(&job->models[--job->count]);
}

/* -EOVERFLOW: nothing is left. */
static int compare(struct gt_job *job, void (*complain)(const char *line))
{
	if (!job->count)
		return -EBADMSG;
	if (can_be_added_up(job))
		return gt_job_compare(job);
	complain("the durations or sizes of all traces add up to more than 64 bits hold: no table");
	drop_models(job);
	return -EOVERFLOW;
}

int gt_job_load_found(struct gt_job *job, void (*complain)(const char *line), size_t *ret_failures)
{
	struct job_pool pool = {.job = job};
	int rc = -ENOMEM;

	pool.loaded = calloc(job->paths.count + 1, sizeof(*pool.loaded));
	pool.results = calloc(job->paths.count + 1, sizeof(*pool.results));
	pool.first = calloc(job->paths.count + 1, sizeof(*pool.first));
	if (pool.loaded && pool.results && pool.first) {
		pool.count = gt_job_find_processes(job, pool.first);
		run_pool(&pool);
		*ret_failures = keep_good(job, &pool, complain);
		rc = compare(job, complain);
		gt_job_name_twins(job);
	}
	free(pool.first);
	free(pool.results);
	free(pool.loaded);
	return rc;
}

int gt_job_load(struct gt_job *job, char *const *inputs, size_t count,
		void (*complain)(const char *line), size_t *ret_failures)
{
	int rc = gt_job_find_readable(job, inputs, count, complain);

	if (rc >= 0)
		rc = gt_job_load_found(job, complain, ret_failures);
	judge(job, complain);
	return rc;
}

void gt_job_fini(struct gt_job *job)
{
	for (size_t i = 0; i < job->count; i++)
		gt_model_fini(&job->models[i]);
	for (size_t i = 0; i < job->paths.count; i++)
		free(job->paths.at[i]);
	gt_vec_free(&job->paths);
	free(job->models);
	gt_clocks_fini(&job->clocks);
	*job = (struct gt_job){0};
}
