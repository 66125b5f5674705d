/* SPDX-License-Identifier: Apache-2.0
 *
 * dlopen. The C library asks from where it is called: a name without '/' is searched along the
 * RUNPATH or RPATH of the caller's object, "$ORIGIN" is the caller's folder, and the library comes
 * into the caller's namespace. Of a path without '$' that is opened from the first namespace all
 * this does not matter, nor later: what has been opened does not know by whom (__RTLD_CALLMAP in
 * glibc's dl-load.c).
 *
 * So the function that is exported decides, and jumps: to the C library's, which sees the program's
 * return address, or to ours, which calls the C library's and takes the time.
 */
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/elf/elf_lookup.h"
#include "preload/osrt/interpose.h"

#define AUDIT         0x6ffffefc
#define DEPENDS_AUDIT 0x6ffffefb
#define OURS          "/libgputrace"

enum { OF_PROGRAM = 1, OF_OURS };

typedef void *opener(const char *file, int mode);

/* Called by the code below: what @caller's call is to go on with. */
void *os_dlopen_way(const char *file, int mode, uintptr_t caller);

#if defined(__x86_64__)
__asm__(".text\n"
	".globl dlopen\n"
	".hidden os_dlopen_way\n"
	".type dlopen, @function\n"
	"dlopen:\n"
	".cfi_startproc\n"
	"endbr64\n"
	"push %rdi\n"
	".cfi_adjust_cfa_offset 8\n"
	"push %rsi\n"
	".cfi_adjust_cfa_offset 8\n"
	"sub $8, %rsp\n" /* 16 bytes at the call */
	".cfi_adjust_cfa_offset 8\n"
	"mov 24(%rsp), %rdx\n"
	"call os_dlopen_way\n"
	"mov %rax, %r11\n"
	"add $8, %rsp\n"
	".cfi_adjust_cfa_offset -8\n"
	"pop %rsi\n"
	".cfi_adjust_cfa_offset -8\n"
	"pop %rdi\n"
	".cfi_adjust_cfa_offset -8\n"
	"jmp *%r11\n"
	".cfi_endproc\n"
	".size dlopen, .-dlopen\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl dlopen\n"
	".hidden os_dlopen_way\n"
	".type dlopen, %function\n"
	"dlopen:\n"
	".cfi_startproc\n"
	"hint #34\n" /* bti c */
	"stp x29, x30, [sp, #-32]!\n"
	".cfi_adjust_cfa_offset 32\n"
	".cfi_rel_offset x29, 0\n"
	".cfi_rel_offset x30, 8\n"
	"mov x29, sp\n"
	"stp x0, x1, [sp, #16]\n"
	"mov x2, x30\n"
	"bl os_dlopen_way\n"
	"mov x16, x0\n"
	"ldp x0, x1, [sp, #16]\n"
	"ldp x29, x30, [sp], #32\n"
	".cfi_adjust_cfa_offset -32\n"
	".cfi_restore x29\n"
	".cfi_restore x30\n"
	"br x16\n"
	".cfi_endproc\n"
	".size dlopen, .-dlopen\n");
#else
#error "dlopen needs a jump here"
#endif

/* ---- which calls ---- */

static _Atomic bool is_ready; /* calls may be made by us */

static void *real_dlopen(void)
{
	static void *_Atomic of_libdl; /* before glibc 2.34 it may be there for some objects only */
	void *real = os_real(OS_REAL_dlopen);

	if (real)
		return real;
	real = atomic_load_explicit(&of_libdl, memory_order_relaxed);
	if (!real) {
		real = (void *)gt_elf_find_loaded("libdl.so.2", "dlopen", NULL);
		atomic_store_explicit(&of_libdl, real, memory_order_relaxed);
	}
	return real;
}

/* While the objects are looked at that are there at the start. */
struct survey {
	uintptr_t real;
	uint32_t seen;
	bool is_audited, is_libc;
};

static bool has(const struct gt_elf *elf, ElfW(Sxword) tag)
{
	for (size_t i = 0; i < elf->dynamic_count && elf->dynamic[i].d_tag != DT_NULL; i++)
		if (elf->dynamic[i].d_tag == tag)
			return true;
	return false;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *data)
{
	struct survey *survey = data;
	bool is_program = survey->seen++ == 0;
	struct gt_elf elf;

	(void)size;
	if (gt_elf_open(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, &elf))
		return 0;
	if (is_program)
		survey->is_audited = has(&elf, AUDIT) || has(&elf, DEPENDS_AUDIT);
	if (gt_elf_contains(&elf, survey->real))
		survey->is_libc =
			!strcmp(elf.soname, "libc.so.6") || !strcmp(elf.soname, "libdl.so.2");
	return 0;
}

/* An auditor learns who calls; so does another library between us and the C library. */
__attribute__((constructor)) static void begin(void)
{
	struct survey survey = {.real = (uintptr_t)real_dlopen()};
	const char *audit = secure_getenv("LD_AUDIT");

	if (!survey.real || (audit && *audit))
		return;
	dl_iterate_phdr(look_at, &survey);
	atomic_store_explicit(&is_ready, survey.is_libc && !survey.is_audited,
			      memory_order_relaxed);
}

static bool is_path(const char *file)
{
	return file && strchr(file, '/') && !strchr(file, '$');
}

/* The objects of our namespace, which is the first one, are those that we are shown. What other
 * libraries of ours open for themselves is not the program's. */
static int is_of(struct dl_phdr_info *info, size_t size, void *data)
{
	uintptr_t address = *(const uintptr_t *)data - info->dlpi_addr;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    address - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz)
			return strstr(info->dlpi_name, OURS) ? OF_OURS : OF_PROGRAM;
	return 0;
}

/* ---- the call ---- */

/* The path is copied before: it is the program's, and constructors run. */
static void *timed(const char *file, int mode)
{
	opener *real = (opener *)real_dlopen();
	const struct gt_os_sink *sink = os_sink();
	struct gt_os_call call = {.function = GT_OS_DLOPEN, .descriptor = NONE};
	char path[GT_OS_PATH];
	size_t length;
	void *result;

	if (!sink)
		return real(file, mode);
	length = strnlen(file, sizeof(path) - 1);
	memcpy(path, file, length);
	path[length] = 0;
	call.start = gt_clock_now_by(sink->clock);
	result = real(file, mode);
	call.result = result ? 0 : -1;
	call.path = path;
	call.frame = __builtin_frame_address(0);
	os_tell(sink, &call);
	return result;
}

/* There is no dlopen, which no program that calls it can have. */
static void *absent(const char *file, int mode)
{
	(void)file;
	(void)mode;
	return NULL;
}

__attribute__((used)) void *os_dlopen_way(const char *file, int mode, uintptr_t caller)
{
	void *real = real_dlopen();

	(void)mode;
	if (!real)
		return (void *)absent;
	if (!os_sink() || !atomic_load_explicit(&is_ready, memory_order_relaxed) || !is_path(file))
		return real;
	return dl_iterate_phdr(is_of, &caller) == OF_PROGRAM ? (void *)timed : real;
}
