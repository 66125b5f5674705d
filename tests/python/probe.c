/* SPDX-License-Identifier: Apache-2.0
 *
 * A C library for Python programs to call through ctypes: captures the caller's stack the way a
 * CUDA call does, makes frames of it the way the drain thread does, and gives them back as text.
 * One thread at a time.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collectors/python/codes.h"
#include "collectors/python/frames.h"
#include "collectors/python/layout.h"
#include "collectors/python/lines.h"
#include "collectors/python/merge.h"
#include "collectors/python/python.h"
#include "collectors/python/runtime.h"
#include "collectors/symbols/demangle.h"
#include "collectors/symbols/modules.h"
#include "collectors/symbols/symbols.h"
#include "collectors/unwind/unwind.h"
#include "core/intern.h"
#include "core/stack.h"

#define EXPORT __attribute__((visibility("default")))
#define DEPTH  256

static struct {
	struct gt_intern *strings;
	struct gt_modules *modules;
	struct gt_symbols *symbols;
	struct gt_stacks *stacks;
	struct gt_python_frames *python;
} probe;

static __thread struct gt_unwind_thread *unwind;
static __thread struct gt_python_thread *python;

/* Of the calling thread. Too large for what dlopen has left for thread-local variables. */
static struct gt_python_thread *own_python(void)
{
	if (!python)
		python = calloc(1, sizeof(*python));
	return python;
}

/* Returns what gt_python_start does: NULL, or why not. */
EXPORT const char *probe_start(void)
{
	struct gt_demangle *demangle;

	probe.strings = gt_intern_new(16u << 20);
	probe.modules = gt_modules_new(probe.strings, NULL, NULL);
	demangle = gt_demangle_new(probe.strings);
	probe.symbols = gt_symbols_new(probe.modules, demangle, 256u << 20);
	probe.stacks = gt_stacks_new(gt_symbols_find_frame, probe.symbols, 64u << 20);
	probe.python = gt_python_frames_new(probe.strings, 16u << 20);
	return gt_python_start();
}

EXPORT uint32_t probe_version(void)
{
	return gt_python_version();
}

static const char *text_of(const struct gt_string *string)
{
	return string ? string->text : "";
}

static size_t print_frame(const struct gt_stack_frame *frame, char *out, size_t size)
{
	bool is_python = frame->kind == GT_FRAME_PYTHON;
	int n = snprintf(out, size, "%s\t%s\t%s\t%u\n", is_python ? "python" : "native",
			 text_of(frame->function), text_of(is_python ? frame->file : frame->module),
			 frame->line);

	return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

static uint32_t make_python(const uint64_t *words, uint32_t count, struct gt_python_frame *frames)
{
	for (uint32_t i = 0; i < count; i++)
		frames[i] = (struct gt_python_frame){
			.frame = gt_python_frames_find(probe.python, words[i]),
			.is_entry = gt_python_is_entry(words[i]),
		};
	return count;
}

static const struct gt_string *find_interpreter(void)
{
	const struct gt_module *module = gt_modules_find(probe.modules, gt_python_address());

	return module ? module->path : NULL;
}

static uint32_t make_native(const uint64_t *pcs, uint32_t count,
			    const struct gt_stack_frame **frames)
{
	gt_modules_refresh(probe.modules);
	for (uint32_t i = 0; i < count; i++)
		frames[i] = gt_stacks_find_frame(probe.stacks, pcs[i]);
	return count;
}

static uint64_t differences;

/* The same stack, walked by a thread that knows none of its frames. */
static void compare_unknown(const uint64_t *words, uint32_t count, uint64_t key, uint32_t depth)
{
	static __thread struct gt_python_thread *fresh;
	const uint64_t *again;
	uint64_t again_key = 0;
	uint32_t again_count;

	if (!fresh)
		fresh = malloc(sizeof(*fresh));
	memset(fresh, 0, sizeof(*fresh));
	again_count = gt_python_capture(fresh, depth, &again, &again_key);
	if (again_count != count ||
	    (count && (key != again_key || memcmp(words, again, count * sizeof(words[0])))))
		__atomic_add_fetch(&differences, 1, __ATOMIC_RELAXED);
}

/* How many stacks looked different when no frame was known. */
EXPORT uint64_t probe_differences(void)
{
	return differences;
}

/* At most @depth frames of each kind. One line a frame: kind, function, file or module, line.
 * Returns the number of Python words that were captured. */
EXPORT int probe_capture(char *out, size_t size, uint32_t depth)
{
	const struct gt_stack_frame *native[DEPTH], *merged[2 * DEPTH];
	struct gt_python_frame frames[DEPTH];
	const uint64_t *pcs, *words;
	uint32_t pc_count, word_count, count;
	uint64_t key;

	if (!unwind) {
		unwind = calloc(1, sizeof(*unwind));
		gt_unwind_thread_init(unwind);
	}
	pc_count = gt_unwind_capture(unwind, depth, &pcs, &key);
	word_count = gt_python_capture(own_python(), depth, &words, &key);
	compare_unknown(words, word_count, key, depth);
	count = gt_python_merge(
		&(struct gt_python_stacks){
			.native = native,
			.native_count = make_native(pcs, pc_count, native),
			.native_cut = pc_count == depth,
			.python = frames,
			.python_count = make_python(words, word_count, frames),
			.python_cut = word_count == depth,
			.interpreter = find_interpreter(),
		},
		2 * DEPTH, merged);
	*out = 0;
	for (uint32_t i = 0; i < count; i++) {
		size_t n = print_frame(merged[i], out, size);

		out += n;
		size -= n;
	}
	return (int)word_count;
}

/* How many evaluation loops stand on the native stack and how many groups of Python frames there
 * are: @ret_loops, @ret_groups. */
EXPORT void probe_count(uint32_t *ret_loops, uint32_t *ret_groups)
{
	const struct gt_stack_frame *native[DEPTH];
	const uint64_t *pcs, *words;
	uint32_t pc_count, word_count;
	uint64_t key;

	pc_count = make_native(pcs, gt_unwind_capture(unwind, DEPTH, &pcs, &key), native);
	word_count = gt_python_capture(own_python(), DEPTH, &words, &key);
	*ret_loops = *ret_groups = 0;
	for (uint32_t i = 0; i < pc_count; i++)
		*ret_loops += !strcmp(text_of(native[i]->function), "_PyEval_EvalFrameDefault");
	for (uint32_t i = 0; i < word_count; i++)
		*ret_groups += gt_python_is_entry(words[i]);
}

/* What the @counts of the collector are: broken, foreign, refused, code objects. */
EXPORT void probe_counts(uint64_t *ret_counts)
{
	struct gt_python_counts counts = gt_python_get_counts();
	struct gt_python_code_counts codes = gt_python_codes_count();

	ret_counts[0] = counts.broken;
	ret_counts[1] = counts.foreign;
	ret_counts[2] = codes.refused;
	ret_counts[3] = codes.seen;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Nanoseconds that one of @times captures of the Python stack takes; *ret_frames of how many
 * frames. */
EXPORT double probe_cost(uint32_t times, uint32_t *ret_frames)
{
	const uint64_t *words;
	uint64_t start, key;

	*ret_frames = gt_python_capture(own_python(), DEPTH, &words, &key);
	start = now();
	for (uint32_t i = 0; i < times; i++)
		gt_python_capture(own_python(), DEPTH, &words, &key);
	return (double)(now() - start) / times;
}

/* Calls @callback, as a C library does that Python gave a function to. */
EXPORT int probe_call(int (*callback)(void))
{
	int result = callback();

	__asm__ volatile("" : : : "memory"); /* stay on the stack meanwhile */
	return result;
}

/* A thread of C: captures into @out, a buffer of 1 MiB. */
EXPORT void *probe_thread(void *out)
{
	probe_capture(out, 1u << 20, DEPTH);
	return NULL;
}

/* The lines of the instructions 0, 2, 4 .. of a line table. */
EXPORT void probe_lines(const uint8_t *table, size_t size, int32_t first_line, uint32_t count,
			uint32_t *ret_lines)
{
	struct gt_python_layout layout;

	layout.table = GT_PYTHON_LOCATIONS; /* what describes itself has these */
	gt_python_layout_find(gt_python_version(), NULL, &layout);
	for (uint32_t i = 0; i < count; i++)
		ret_lines[i] =
			gt_python_line(layout.table, table, size, first_line, (int32_t)(2 * i));
}

/* Captures over and over for @ms milliseconds; returns how many of the stacks had Python frames. */
EXPORT uint32_t probe_spin(uint32_t ms)
{
	uint64_t end = now() + (uint64_t)ms * 1000000u, key;
	const uint64_t *words;
	uint32_t found = 0;

	while (now() < end)
		found += gt_python_capture(own_python(), DEPTH, &words, &key) > 0;
	return found;
}

/* Captures @times times where every system call but exit ends the process: in a child, of which the
 * status is returned; an exit with 77: the kernel does not offer that. */
EXPORT int probe_without_system_calls(uint32_t times)
{
	const uint64_t *words;
	uint64_t key;
	int status = -1;
	pid_t child;

	gt_python_capture(own_python(), DEPTH, &words, &key);
	child = fork();
	if (child == 0) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
			_exit(77);
		for (uint32_t i = 0; i < times; i++)
			gt_python_capture(own_python(), DEPTH, &words, &key);
		syscall(SYS_exit, 0);
	}
	waitpid(child, &status, 0);
	return status;
}

/* From now on process_vm_readv answers EPERM, as in old containers. Not 0: the kernel does not
 * offer that. */
EXPORT int probe_refuse_reads(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* The layout in use, one "field value" a line. */
EXPORT const char *probe_layout(void)
{
#define FIELD(name)                                                                                \
	{                                                                                          \
#name, offsetof(struct gt_python_layout, name)                                     \
	}
	static const struct {
		const char *name;
		size_t offset;
	} fields[] = {
		FIELD(version),        FIELD(thread_frame),      FIELD(cframe_frame),
		FIELD(thread_id),      FIELD(frame_previous),    FIELD(frame_code),
		FIELD(frame_entry),    FIELD(frame_instruction), FIELD(frame_owner),
		FIELD(code_filename),  FIELD(code_name),         FIELD(code_first_line),
		FIELD(code_table),     FIELD(code_bytes),        FIELD(code_adaptive),
		FIELD(object_type),    FIELD(bytes_size),        FIELD(bytes_data),
		FIELD(string_length),  FIELD(string_state),      FIELD(string_ascii),
		FIELD(string_compact),
	};
#undef FIELD
	static char text[2048];
	struct gt_python_runtime runtime;
	size_t used = 0;
	uint16_t value;

	if (gt_python_runtime_find(&runtime))
		return "";
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		memcpy(&value, (char *)&runtime.layout + fields[i].offset, sizeof(value));
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %u\n",
					 fields[i].name, value);
	}
	return text;
}
