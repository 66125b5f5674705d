/* SPDX-License-Identifier: Apache-2.0
 *
 * One run: the workload as a process of its own, with the tracer of the level, its figures from
 * what it prints and from the files that are left. The environment is this process's without any
 * tracer.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/bench/bench.h"
#include "core/schema/library_sink.h"
#include "core/schema/os_call.h"
#include "readers/events.h"

#define DEPTH         "30" /* with main, the thread's start and the launch itself: 40 frames */
#define MAX_WORDS     32
#define PATIENCE_S    300
#define RATE_PART_S   10 /* a part lasts one such part of a second */
#define QUICK_DIVISOR 5
#define TAIL_BYTES    16384

/* Ten functions, each calling the next, and below them the workload. */
#define PYTHON_WORK                                                                                \
	"import ctypes, sys\n"                                                                     \
	"library = ctypes.CDLL(sys.argv[1])\n"                                                     \
	"words = [word.encode() for word in sys.argv[1:6]]\n"                                      \
	"words = (ctypes.c_char_p * len(words))(*words)\n"                                         \
	"def f9(): return library.gt_bench_workload(len(words), words)\n"                          \
	"exec(''.join(f'def f{i}(): return f{i + 1}()\\n' for i in range(9)))\n"

static const char python_work[] = PYTHON_WORK "sys.exit(f0())\n";

static const char torch_work[] =
	PYTHON_WORK "import torch\n"
		    "from torch.profiler import profile, ProfilerActivity\n"
		    "torch.cuda.init()\n"
		    "with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],\n"
		    "             with_stack=sys.argv[6] == 'True') as profiler:\n"
		    "    status = f0()\n"
		    "profiler.export_chrome_trace(sys.argv[7])\n"
		    "sys.exit(status)\n";

struct run_words {
	const char *word[MAX_WORDS + 1];
	size_t count;
};

static void add(struct run_words *words, const char *word)
{
	if (words->count < MAX_WORDS)
		words->word[words->count++] = word;
}

/* ---- what is started ---- */

/* The texts that the words of a run point at. */
struct texts {
	char program[PATH_MAX], library[PATH_MAX], floor[PATH_MAX];
	char parts[16], launches[16], output[PATH_MAX + 16], report[PATH_MAX + 32];
};

static void fill(const struct gt_bench *bench, const struct gt_bench_workload *workload,
		 struct texts *t)
{
	uint32_t parts = workload->parts;
	uint32_t launches = workload->rate ? workload->rate / RATE_PART_S : workload->launches;

	if (bench->quick && workload->rate < 10000)
		parts = parts / QUICK_DIVISOR ? parts / QUICK_DIVISOR : 1;
	snprintf(t->parts, sizeof(t->parts), "%u", parts);
	snprintf(t->launches, sizeof(t->launches), "%u", launches);
	snprintf(t->program, sizeof(t->program), "%s/gputrace-workload", bench->parts);
	snprintf(t->library, sizeof(t->library), "%s/libgputrace-workload.so", bench->parts);
	snprintf(t->floor, sizeof(t->floor), "%s/libgputrace-floor.so", bench->parts);
	snprintf(t->output, sizeof(t->output), "%s/out", bench->folder);
	snprintf(t->report, sizeof(t->report), "%s/out/report", bench->folder);
}

static void add_nsys(struct run_words *words, const struct gt_bench_level *level, struct texts *t)
{
	static const char *const fixed[] = {"nsys", "profile", "--trace=cuda", "--cpuctxsw=none",
					    NULL};

	for (const char *const *word = fixed; *word; word++)
		add(words, *word);
	for (const char *const *word = level->settings; *word; word++)
		add(words, *word);
	add(words, "--output");
	add(words, t->report);
}

static void compose(const struct gt_bench_workload *workload, const struct gt_bench_level *level,
		    struct texts *t, struct run_words *words)
{
	if (level->way == GT_BENCH_NSYS)
		add_nsys(words, level, t);
	if (level->python) {
		add(words, "python3");
		add(words, "-c");
		add(words, level->way == GT_BENCH_TORCH ? torch_work : python_work);
	}
	add(words, level->python ? t->library : t->program);
	add(words, workload->name);
	add(words, t->parts);
	add(words, t->launches);
	add(words, DEPTH);
	if (level->way == GT_BENCH_TORCH) {
		add(words, level->settings[0]);
		add(words, t->report);
	}
}

/* No tracer but the one that is asked for. */
static void forget_tracers(void)
{
	static const char *const others[] = {"LD_PRELOAD", "CUDA_INJECTION64_PATH",
					     "NVTX_INJECTION64_PATH"};
	char name[64];

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		unsetenv(others[i]);
	for (char **variable = environ; *variable;) {
		if (strncmp(*variable, "GPUTRACE_", 9) != 0) {
			variable++;
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*variable, "="), *variable);
		unsetenv(name);
	}
}

/* Options that need another library, beside ours. */
static const struct {
	const char *setting, *library;
} second_libraries[] = {
	{"GPUTRACE_OSRT=", GT_OS_LIBRARY},
	{"GPUTRACE_LIBRARIES=cublas", GT_LIBRARY_CUBLAS},
	{"GPUTRACE_LIBRARIES=cufft", GT_LIBRARY_CUFFT},
	{"GPUTRACE_LIBRARIES=cudnn", GT_LIBRARY_CUDNN},
	{"GPUTRACE_LIBRARIES=cusparse", GT_LIBRARY_CUSPARSE},
	{"GPUTRACE_LIBRARIES=cusolver", GT_LIBRARY_CUSOLVER},
};

static const char *library_of(const char *setting)
{
	for (size_t i = 0; i < sizeof(second_libraries) / sizeof(second_libraries[0]); i++)
		if (!strncmp(setting, second_libraries[i].setting,
			     strlen(second_libraries[i].setting)))
			return second_libraries[i].library;
	return NULL;
}

/* Its path, "" for the levels that need none. */
static const char *second_library(const struct gt_bench *bench, const struct gt_bench_level *level,
				  char *ret_path, size_t size)
{
	const char *slash = strrchr(bench->library, '/');
	int folder = slash ? (int)(slash + 1 - bench->library) : 0;
	const char *wanted = NULL;

	for (const char *const *setting = level->settings; !wanted && *setting; setting++)
		wanted = library_of(*setting);
	snprintf(ret_path, size, "%.*s%s", wanted ? folder : 0, bench->library,
		 wanted ? wanted : "");
	return ret_path;
}

static void set_preload(const struct gt_bench *bench, const struct gt_bench_level *level)
{
	char second[PATH_MAX], both[2 * PATH_MAX + 1];

	second_library(bench, level, second, sizeof(second));
	snprintf(both, sizeof(both), "%s%s%s", bench->library, *second ? ":" : "", second);
	setenv("LD_PRELOAD", both, 1);
}

static void set_environment(const struct gt_bench *bench, const struct gt_bench_level *level,
			    const struct texts *t)
{
	forget_tracers();
	if (level->way == GT_BENCH_TORCH || level->way == GT_BENCH_NSYS)
		return;
	for (const char *const *setting = level->settings; *setting; setting++)
		putenv((char *)*setting);
	if (level->way == GT_BENCH_FLOOR)
		setenv("CUDA_INJECTION64_PATH", t->floor, 1);
	if (level->way != GT_BENCH_PRELOAD && level->way != GT_BENCH_INJECT)
		return;
	set_preload(bench, level);
	if (level->way == GT_BENCH_INJECT)
		setenv("CUDA_INJECTION64_PATH", bench->library, 1);
	setenv("GPUTRACE_OUTPUT", t->output, 1);
	setenv("GPUTRACE_QUIET", "1", 1);
}

/* The child: what it says goes into the pipe, its complaints into a file. */
static _Noreturn void become(const struct gt_bench *bench, const struct gt_bench_level *level,
			     const struct texts *t, const struct run_words *words, int out)
{
	char path[PATH_MAX + 16];
	int errors;

	snprintf(path, sizeof(path), "%s/errors", bench->folder);
	errors = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	dup2(out, STDOUT_FILENO);
	if (errors >= 0)
		dup2(errors, STDERR_FILENO);
	set_environment(bench, level, t);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	alarm(PATIENCE_S);
	execvp(words->word[0], (char *const *)words->word);
	_exit(127);
}

static size_t read_all(int fd, char *text, size_t size)
{
	size_t length = 0;
	ssize_t n;

	while (length + 1 < size && (n = read(fd, text + length, size - 1 - length)) != 0) {
		if (n < 0 && errno != EINTR)
			break;
		length += n > 0 ? (size_t)n : 0;
	}
	text[length] = 0;
	return length;
}

/* Runs it; what it said into @said. Its wait status, or -1. */
static int start(const struct gt_bench *bench, const struct gt_bench_level *level,
		 const struct texts *t, const struct run_words *words, char *said, size_t size)
{
	int pipes[2], status = -1;
	pid_t child;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -1;
	child = fork();
	if (child == 0)
		become(bench, level, t, words, pipes[1]);
	close(pipes[1]);
	*said = 0;
	if (child > 0) {
		read_all(pipes[0], said, size);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(pipes[0]);
	return status;
}

/* ---- what is left ---- */

/* What is not in the file: lost, or left out by rule. */
struct absent {
	double lost, left_out;
};

static const struct {
	enum gt_ledger_key key;
	bool by_rule;
} counted[] = {
	{GT_LEDGER_CALLS_LOST_RING, false},    {GT_LEDGER_CALLS_LOST_THREAD, false},
	{GT_LEDGER_RECORDS_DROPPED, false},    {GT_LEDGER_BUFFERS_DISCARDED, false},
	{GT_LEDGER_RANGES_LOST, false},        {GT_LEDGER_EVENTS_LOST_DISK, false},
	{GT_LEDGER_EVENTS_LOST_MEMORY, false}, {GT_LEDGER_CALLS_THINNED, true},
	{GT_LEDGER_CALLS_THINNED_LATER, true}, {GT_LEDGER_RANGES_THINNED, true},
};
#define COUNTED (sizeof(counted) / sizeof(counted[0]))

static const struct absent unknown = {NAN, NAN}; /* the file is not closed */

static void count_absent(struct absent *absent, size_t row, double n)
{
	*(counted[row].by_rule ? &absent->left_out : &absent->lost) += n;
}

/* The ledger stands at the end of a closed JSON file. */
static struct absent absent_in_json(const char *path)
{
	char tail[TAIL_BYTES], key[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct absent absent = {0};
	const char *totals;

	if (fd < 0)
		return unknown;
	if (lseek(fd, -(off_t)sizeof(tail) + 1, SEEK_END) < 0)
		lseek(fd, 0, SEEK_SET);
	read_all(fd, tail, sizeof(tail));
	close(fd);
	totals = strstr(tail, "\"ledger\": {");
	for (size_t i = 0; totals && i < COUNTED; i++) {
		snprintf(key, sizeof(key), "\"%s\": ", gt_ledger_rows[counted[i].key].json);
		if (strstr(totals, key))
			count_absent(&absent, i, strtod(strstr(totals, key) + strlen(key), NULL));
	}
	return totals ? absent : unknown;
}

static int ignore_metadata(const struct gt_metadata *metadata, void *data)
{
	return 0;
}

static int ignore_event(const struct gt_event *event, void *data)
{
	return 0;
}

static struct absent absent_in_pftrace(const char *path)
{
	struct gt_events events = {.take_metadata = ignore_metadata, .take_event = ignore_event};
	struct absent absent = {0};
	int error = gt_events_init(&events);

	if (!error)
		error = gt_events_read_pftrace(&events, path);
	for (size_t i = 0; i < COUNTED; i++)
		count_absent(&absent, i, (double)events.ledger.count[counted[i].key]);
	gt_events_fini(&events);
	return error || !events.closed ? unknown : absent;
}

/* ftw gives its callback no argument. */
static struct {
	double bytes;
	struct absent absent;
} left;

static void add_absent(struct absent absent)
{
	left.absent.lost += absent.lost;
	left.absent.left_out += absent.left_out;
}

static int look_at(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	size_t length = strlen(path);

	if (kind == FTW_F) {
		left.bytes += (double)status->st_size;
		if (length > 5 && !strcmp(path + length - 5, ".json"))
			add_absent(absent_in_json(path));
		else if (length > 8 && !strcmp(path + length - 8, ".pftrace"))
			add_absent(absent_in_pftrace(path));
	}
	return remove(path) && errno != ENOENT;
}

/* ---- figures ---- */

/* The number behind "key " at the beginning of a line. */
static double reported(const char *said, const char *key)
{
	size_t length = strlen(key);

	for (const char *line = said; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, length) && line[length] == ' ')
			return strtod(line + length, NULL);
	}
	return NAN;
}

static void take_line(const char *said, const char *key, char *ret_text, size_t size)
{
	const char *at = strstr(said, key);

	if (at)
		snprintf(ret_text, size, "%.*s", (int)strcspn(at + strlen(key), "\n"),
			 at + strlen(key));
}

static void take_figures(struct gt_bench *bench, const struct gt_bench_level *level,
			 struct gt_bench_runs *runs, const char *said)
{
	double launches = reported(said, "launches"), drain = reported(said, "drain_ns");
	bool is_peer = level->when == GT_BENCH_PEERS;
	double all[GT_BENCH_FIGURES_] = {
		[GT_BENCH_NS] = reported(said, bench->by_cpu ? "cpu_ns" : "ns"),
		[GT_BENCH_WALL] = reported(said, "ns"),
		[GT_BENCH_CPU] = reported(said, "cpu_ns"),
		[GT_BENCH_BYTES] = left.bytes / launches,
		[GT_BENCH_DROPS] = is_peer ? NAN : left.absent.lost,
		[GT_BENCH_LEFT] = is_peer ? NAN : left.absent.left_out,
		[GT_BENCH_DRAIN] = is_peer ? NAN : drain / launches,
		[GT_BENCH_SHARE] = is_peer ? NAN : drain * 100 / reported(said, "wall_ns"),
		[GT_BENCH_RSS] = reported(said, "rss_kib") / 1024,
		[GT_BENCH_CLOCK] = reported(said, "clock_ns")};

	for (int i = 0; i < GT_BENCH_FIGURES_; i++)
		runs->figure[i][runs->count] = all[i];
	runs->count++;
	bench->simulated = reported(said, "simulated") > 0;
	take_line(said, "device ", bench->device, sizeof(bench->device));
}

/* The last line of what it complained. */
static void say_why(const struct gt_bench *bench, int status, const char *said,
		    struct gt_bench_runs *runs)
{
	char path[PATH_MAX + 16], text[4096] = "", *line;
	int fd;

	take_line(said, "failed ", runs->missing, sizeof(runs->missing));
	if (runs->missing[0])
		return;
	snprintf(path, sizeof(path), "%s/errors", bench->folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		read_all(fd, text, sizeof(text));
		close(fd);
	}
	while (*text && text[strlen(text) - 1] == '\n')
		text[strlen(text) - 1] = 0;
	line = strrchr(text, '\n');
	if (WIFSIGNALED(status))
		snprintf(runs->missing, sizeof(runs->missing), "ended by signal %d",
			 WTERMSIG(status));
	else
		snprintf(runs->missing, sizeof(runs->missing), "exit status %d: %.200s",
			 WEXITSTATUS(status), line ? line + 1 : text);
}

void gt_bench_run(struct gt_bench *bench, size_t workload, size_t level)
{
	struct gt_bench_runs *runs = &bench->runs[workload][level];
	const struct gt_bench_level *how = &gt_bench_levels[level];
	struct run_words words = {0};
	struct texts t;
	char said[4096];
	int status;

	if (runs->missing[0] || runs->count == GT_BENCH_MAX_RUNS)
		return;
	fill(bench, &gt_bench_workloads[workload], &t);
	compose(&gt_bench_workloads[workload], how, &t, &words);
	mkdir(t.output, 0700);
	status = start(bench, how, &t, &words, said, sizeof(said));
	memset(&left, 0, sizeof(left));
	nftw(t.output, look_at, 16, FTW_DEPTH | FTW_PHYS);
	if (status == 0 && !isnan(reported(said, "ns")))
		take_figures(bench, how, runs, said);
	else
		say_why(bench, status, said, runs);
}

void gt_bench_clean(const struct gt_bench *bench)
{
	nftw(bench->folder, look_at, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- what there is on the machine ---- */

static bool runs_well(const char *command)
{
	int status = system(command);

	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

const char *gt_bench_obstacle(const struct gt_bench *bench, size_t level)
{
	const struct gt_bench_level *how = &gt_bench_levels[level];
	char second[PATH_MAX];

	if (*second_library(bench, how, second, sizeof(second)) && access(second, R_OK))
		return GT_OS_LIBRARY " is not beside libgputrace.so";
	if (how->way == GT_BENCH_NSYS && !runs_well("nsys --version >/dev/null 2>&1"))
		return "nsys is not on this machine";
	if (how->way == GT_BENCH_TORCH && !runs_well("python3 -c 'import torch' 2>/dev/null"))
		return "this machine's python3 has no torch";
	if (how->python && !runs_well("python3 -c 'import ctypes' 2>/dev/null"))
		return "there is no python3 with ctypes";
	return "";
}
