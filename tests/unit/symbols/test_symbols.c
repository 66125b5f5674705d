/* SPDX-License-Identifier: Apache-2.0
 *
 * From address to name: modules that are loaded and unloaded, symbol tables in every possible
 * place, damaged files, demangling, and functions of the toolkit.
 */
#include "collectors/symbols/symbols.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collectors/symbols/elf_image.h"
#include "collectors/symbols/table.h"
#include "core/guest/memory.h"

static struct {
	struct gt_intern *pool;
	struct gt_modules *modules;
	struct gt_demangle *demangle;
	struct gt_symbols *symbols;
	const struct gt_module *gone;
	int gone_count;
} names;

static void on_gone(void *context, const struct gt_module *module)
{
	cr_assert_eq(context, &names);
	names.gone = module;
	names.gone_count++;
}

static void start(size_t max_bytes)
{
	names.pool = gt_intern_new(0);
	names.modules = gt_modules_new(names.pool, on_gone, &names);
	names.demangle = gt_demangle_new(names.pool);
	names.symbols = gt_symbols_new(names.modules, names.demangle, max_bytes);
	cr_assert_not_null(names.symbols);
	gt_modules_refresh(names.modules);
}

static void stop(void)
{
	gt_symbols_free(names.symbols);
	gt_demangle_free(names.demangle);
	gt_modules_free(names.modules);
	gt_intern_free(names.pool);
}

static const struct gt_stack_frame *frame_of(const void *code)
{
	return gt_symbols_find_frame(names.symbols, (uint64_t)code + 2); /* a return address */
}

static const char *name_of(const void *code)
{
	const struct gt_stack_frame *frame = frame_of(code);

	return frame->function ? frame->function->text : NULL;
}

enum {
	PUBLIC,
	LOCAL,
	CPP,
	KERNEL,
	STUB,
	OVERLOAD,
	TEMPLATE,
	TEMPLATE_STUB,
	C_KERNEL,
	C_STUB,
	C_LOOKALIKE,
	RUNTIME,
	LOOKALIKE,
	TEMPLATE_CALL,
	TEMPLATE_LOOKALIKE,
	LAUNCH,
};

static void *(*open_plugin(const char *variable, void **ret_handle))(int)
{
	void *handle = dlopen(getenv(variable), RTLD_NOW | RTLD_LOCAL);

	cr_assert_not_null(handle, "%s", dlerror());
	gt_modules_refresh(names.modules);
	if (ret_handle)
		*ret_handle = handle;
	return (void *(*)(int))dlsym(handle, "plugin_function");
}

static bool ends_with(const struct gt_string *text, const char *end)
{
	size_t length = strlen(end);

	return text->length >= length && !strcmp(text->text + text->length - length, end);
}

static int code_here(void)
{
	return 1;
}

Test(symbols, functions_of_the_program_and_of_libc)
{
	const struct gt_stack_frame *frame;

	start(64 << 20);
	cr_assert_str_eq(name_of((void *)code_here), "code_here");
	frame = frame_of((void *)code_here);
	cr_assert_eq(frame->kind, GT_FRAME_NATIVE);
	cr_assert(ends_with(frame->module, "/test_symbols"));
	cr_assert_not(frame->ours);
	frame = frame_of(dlsym(RTLD_DEFAULT, "getppid"));
	cr_assert_str_eq(frame->function->text, "getppid");
	cr_assert(strstr(frame->module->text, "/libc"));
	stop();
}

/* Bytes of the image that a write may change, which may cost memory though none is written. */
static size_t writable_bytes(const struct gt_elf_image *elf)
{
	uint64_t low = (uint64_t)elf->data, high = low + elf->size, start, end;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096], can_write;
	size_t sum = 0;

	cr_assert_not_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx r%c", &start, &end, &can_write) == 3 &&
		    can_write == 'w' && start < high && end > low)
			sum += (end < high ? end : high) - (start > low ? start : low);
	fclose(maps);
	return sum;
}

Test(symbols, of_a_large_file_little_is_in_memory)
{
	char path[] = "/tmp/gputrace-test-symbols-XXXXXX", command[9000];
	struct gt_elf_image elf;

	cr_assert_geq(mkstemp(path), 0);
	snprintf(command, sizeof(command), "cp '%s' %s", getenv("GT_TEST_NAMED_PLUGIN"), path);
	cr_assert_eq(system(command), 0);
	cr_assert_eq(truncate(path, 256 << 20), 0);
	cr_assert_eq(gt_elf_image_open(&elf, path), 0);
	unlink(path);
	cr_assert_eq(elf.size, 256u << 20);
	cr_assert_not_null(gt_elf_image_find_type(&elf, SHT_SYMTAB));
	cr_assert_lt(writable_bytes(&elf), 1u << 20);
	gt_elf_image_close(&elf);
}

/* The C library's, which is long enough. */
static struct gt_module *large_module(void)
{
	for (uint32_t i = 0; i < gt_modules_count(names.modules); i++) {
		struct gt_module *module = gt_modules_at(names.modules, i);

		if (strstr(module->path->text, "libc.so"))
			return module;
	}
	cr_assert_fail("the C library was not found");
	return NULL;
}

Test(symbols, a_table_keeps_only_what_is_asked_for)
{
	struct gt_symbol_table whole, thin;
	uint64_t before, opened, asked;
	struct gt_module *module;
	uint32_t named = 0;

	start(64 << 20);
	module = large_module();
	cr_assert_eq(gt_symbol_table_open(&whole, module, 64 << 20), 0);
	before = gt_memory_count().now;
	cr_assert_eq(gt_symbol_table_open(&thin, module, 64 << 20), 0);
	opened = gt_memory_count().now - before;
	gt_symbol_table_thin(&thin);
	cr_assert_lt(gt_symbol_table_memory(&thin), gt_symbol_table_memory(&whole) / 2);
	cr_assert_lt(gt_memory_count().now - before, opened / 2);
	cr_assert_not_null(gt_symbol_table_find(&thin, whole.sorted[whole.count / 2] >> 28));
	asked = gt_memory_count().now - before;
	cr_assert_lt(asked, opened / 2 + (64 << 10));
	for (uint32_t i = 0; i < whole.count; i += 7) {
		const char *expected = gt_symbol_table_find(&whole, whole.sorted[i] >> 28);
		const char *found = gt_symbol_table_find(&thin, whole.sorted[i] >> 28);

		cr_assert_eq(!found, !expected);
		cr_assert(!expected || !strcmp(found, expected));
		named += expected != NULL;
	}
	cr_assert_gt(named, 100);
	gt_symbol_table_close(&thin);
	cr_assert_eq(gt_memory_count().now, before);
	gt_symbol_table_close(&whole);
	stop();
}

Test(symbols, of_a_file_that_was_replaced_nothing_is_read_again)
{
	char path[] = "/tmp/gputrace-test-symbols-XXXXXX", command[9000];
	const Elf64_Shdr *table, *strings;
	struct gt_elf_image elf;

	start(64 << 20);
	cr_assert_geq(mkstemp(path), 0);
	snprintf(command, sizeof(command), "cp '%s' %s", large_module()->path->text, path);
	cr_assert_eq(system(command), 0);
	cr_assert_eq(gt_elf_image_open(&elf, path), 0);
	table = gt_elf_image_find_type(&elf, SHT_DYNSYM);
	strings = gt_elf_image_find_strings(&elf, table);
	cr_assert_not_null(gt_elf_image_string(&elf, strings, 8192));
	gt_elf_image_thin(&elf, strings);
	cr_assert_not_null(gt_elf_image_string(&elf, strings, 8192));
	snprintf(command, sizeof(command), "cp '%s' %s.new && mv %s.new %s", path, path, path,
		 path);
	cr_assert_eq(system(command), 0);
	cr_assert_not_null(gt_elf_image_string(&elf, strings, 8192)); /* is there */
	cr_assert_null(gt_elf_image_string(&elf, strings, 16384));
	unlink(path);
	gt_elf_image_close(&elf);
	stop();
}

Test(symbols, a_library_that_was_loaded_by_a_relative_path)
{
	const char *path = getenv("GT_TEST_NAMED_PLUGIN");
	char folder[4096], name[4096];
	const struct gt_stack_frame *frame;
	void *handle;

	cr_assert_not_null(path);
	snprintf(folder, sizeof(folder), "%s", path);
	*strrchr(folder, '/') = 0;
	snprintf(name, sizeof(name), ".%s", strrchr(path, '/'));
	start(64 << 20);
	cr_assert_eq(chdir(folder), 0);
	handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	cr_assert_not_null(handle, "%s", dlerror());
	cr_assert_eq(chdir("/"), 0);
	gt_modules_refresh(names.modules);
	frame = frame_of(((void *(*)(int))dlsym(handle, "plugin_function"))(LOCAL));
	cr_assert_eq(frame->module->text[0], '/');
	cr_assert(ends_with(frame->module, strrchr(path, '/')));
	cr_assert_not_null(frame->function);
	stop();
}

Test(symbols, functions_of_the_vdso)
{
	start(64 << 20);
	for (uint32_t i = 0; i < gt_modules_count(names.modules); i++) {
		struct gt_symbol_table table;
		struct gt_module *module = gt_modules_at(names.modules, i);

		if (!module->is_vdso)
			continue;
		cr_assert_eq(gt_symbol_table_open(&table, module, 1 << 20), 0);
		cr_assert_gt(table.count, 2);
		gt_symbol_table_close(&table);
		stop();
		return;
	}
	cr_assert_eq(getauxval(AT_SYSINFO_EHDR), 0, "there is a vDSO and it was not found");
}

static void expect_all_names(const char *variable)
{
	void *(*function)(int) = open_plugin(variable, NULL);

	cr_assert_str_eq(name_of(function(PUBLIC)), "plugin_function");
	cr_assert_str_eq(name_of(function(LOCAL)), "plugin_local");
	cr_assert_str_eq(name_of(function(CPP)), "app::work(int)");
}

Test(symbols, local_names_come_from_the_symbol_table)
{
	start(64 << 20);
	expect_all_names("GT_TEST_NAMED_PLUGIN");
	stop();
}

Test(symbols, or_from_the_debug_file_beside)
{
	start(64 << 20);
	expect_all_names("GT_TEST_LINKED_PLUGIN");
	stop();
}

Test(symbols, a_stripped_library_has_its_public_names)
{
	void *(*function)(int);
	const struct gt_stack_frame *frame;

	start(64 << 20);
	function = open_plugin("GT_TEST_STRIPPED_PLUGIN", NULL);
	cr_assert_str_eq(name_of(function(PUBLIC)), "plugin_function");
	frame = frame_of(function(LOCAL));
	cr_assert_null(frame->function);
	cr_assert(ends_with(frame->module, "/libgt_stripped_plugin.so"));
	cr_assert_eq(frame->offset,
		     (uint64_t)function(LOCAL) + 1 -
			     gt_modules_find(names.modules, (uint64_t)function(LOCAL))->bias);
	stop();
}

Test(symbols, what_the_toolkit_made_is_ours)
{
	void *(*function)(int);

	start(64 << 20);
	function = open_plugin("GT_TEST_NAMED_PLUGIN", NULL);
	cr_assert_str_eq(name_of(function(KERNEL)), "scale(float*, int)");
	cr_assert(frame_of(function(KERNEL))->ours);
	cr_assert(frame_of(function(STUB))->ours);
	cr_assert(frame_of(function(TEMPLATE))->ours);
	cr_assert(frame_of(function(TEMPLATE_STUB))->ours);
	cr_assert(frame_of(function(C_KERNEL))->ours);
	cr_assert(frame_of(function(C_STUB))->ours);
	cr_assert_not(frame_of(function(C_LOOKALIKE))->ours, "the kernel of that name is C++");
	cr_assert(frame_of(function(RUNTIME))->ours);
	cr_assert(frame_of(function(LAUNCH))->ours);
	cr_assert(frame_of(function(TEMPLATE_CALL))->ours);
	cr_assert_not(frame_of(function(TEMPLATE_LOOKALIKE))->ours);
	cr_assert_str_eq(name_of(function(OVERLOAD)), "scale(float*)");
	cr_assert_not(frame_of(function(OVERLOAD))->ours, "its parameters are not the kernel's");
	cr_assert_not(frame_of(function(LOOKALIKE))->ours);
	cr_assert_not(frame_of(function(CPP))->ours);
	stop();
}

Test(symbols, an_address_outside_of_everything_is_jit_code)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct gt_stack_frame *frame;

	start(64 << 20);
	frame = frame_of(page);
	cr_assert_eq(frame->kind, GT_FRAME_JIT);
	cr_assert_null(frame->module);
	cr_assert_eq(frame->offset, (uint64_t)page + 1);
	stop();
}

Test(symbols, without_memory_there_are_no_names_but_modules)
{
	start(260 << 10); /* a block for frames, and less than libc's table needs */
	cr_assert_null(name_of(dlsym(RTLD_DEFAULT, "getppid")));
	cr_assert(strstr(frame_of(dlsym(RTLD_DEFAULT, "getppid"))->module->text, "/libc"));
	stop();
}

Test(modules, come_go_and_come_again)
{
	struct gt_module *module;
	void *(*function)(int);
	void *handle;
	uint64_t address;
	uint32_t count;

	start(64 << 20);
	cr_assert_not(gt_modules_refresh(names.modules), "nothing has changed");
	function = open_plugin("GT_TEST_NAMED_PLUGIN", &handle);
	address = (uint64_t)function(LOCAL);
	count = gt_modules_count(names.modules);
	module = gt_modules_find(names.modules, address);
	cr_assert(module && module->is_loaded);
	cr_assert_eq(module->build_id_size, 20);
	cr_assert_eq(names.gone_count, 0);

	dlclose(handle);
	cr_assert(gt_modules_refresh(names.modules));
	cr_assert_eq(names.gone_count, 1);
	cr_assert_eq(names.gone, module);
	cr_assert_not(module->is_loaded);
	cr_assert_eq(gt_modules_find(names.modules, address), module, "it is remembered");
	cr_assert_str_eq(name_of((void *)address), "plugin_local", "with its names");

	for (int i = 0; i < 5; i++) {
		function = open_plugin("GT_TEST_NAMED_PLUGIN", &handle);
		cr_assert(gt_modules_find(names.modules, (uint64_t)function(LOCAL))->is_loaded);
		dlclose(handle);
		gt_modules_refresh(names.modules);
	}
	cr_assert_leq(gt_modules_count(names.modules), count + 5);
	cr_assert_eq(names.gone_count, 6);
	stop();
}

Test(modules, the_driver_and_the_runtime_are_ours)
{
	struct gt_module *module;
	char path[] = "/tmp/gt_test_XXXXXX", file[64];
	char command[4096];

	start(64 << 20);
	cr_assert_not_null(mkdtemp(path));
	snprintf(file, sizeof(file), "%s/libcudart.so.13", path);
	snprintf(command, sizeof(command), "cp '%s' %s", getenv("GT_TEST_NAMED_PLUGIN"), file);
	cr_assert_eq(system(command), 0);
	setenv("GT_TEST_COPY", file, 1);
	module = gt_modules_find(names.modules, (uint64_t)open_plugin("GT_TEST_COPY", NULL)(LOCAL));
	cr_assert(ends_with(module->path, "/libcudart.so.13"));
	cr_assert(module->ours);
	cr_assert(frame_of(open_plugin("GT_TEST_COPY", NULL)(LOCAL))->ours);

	/* the file is replaced by another, whose names would be wrong */
	snprintf(command, sizeof(command), "rm %s && cp /proc/%d/exe %s", file, (int)getpid(),
		 file);
	cr_assert_eq(system(command), 0);
	module->symbols = NULL;
	cr_assert_null(name_of(open_plugin("GT_TEST_COPY", NULL)(LOCAL)));
	unlink(file);
	rmdir(path);
	stop();
}

static size_t read_file(const char *path, uint8_t **ret_bytes)
{
	int fd = open(path, O_RDONLY);
	off_t size = lseek(fd, 0, SEEK_END);

	*ret_bytes = malloc((size_t)size);
	cr_assert_eq(pread(fd, *ret_bytes, (size_t)size, 0), size);
	close(fd);
	return (size_t)size;
}

/* Any byte may be wrong, and the file may end anywhere: nothing may be read outside of it. */
Test(symbols, damaged_files_do_no_harm)
{
	uint8_t *whole, *page;
	size_t size = read_file(getenv("GT_TEST_NAMED_PLUGIN"), &whole);
	uint64_t random = 41;
	int opened = 0;

	for (int i = 0; i < 4000; i++) {
		size_t length = i % 2 ? size : 64 + random % (size - 64);
		size_t pages = (length + 4095) & ~(size_t)4095;
		struct gt_module module = {.is_vdso = true};
		struct gt_symbol_table table;

		/* ends where no memory follows */
		page = mmap(NULL, pages + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
		mprotect(page + pages, 4096, PROT_NONE);
		module.start = (uint64_t)(page + ((pages - length) & ~(size_t)7));
		module.end = module.start + length;
		memcpy((void *)module.start, whole, length);
		for (int k = 0; k < 1 + i % 20; k++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			/* the headers and the section table matter most */
			((uint8_t *)module.start)[(random >> 20) % (k % 2 ? 64 : length)] =
				(uint8_t)(random >> 50);
		}
		if (gt_symbol_table_open(&table, &module, 1 << 20) == 0) {
			opened++;
			for (uint64_t address = 0; address < 8192; address += 37)
				gt_symbol_table_find(&table, address);
		}
		gt_symbol_table_close(&table);
		munmap(page, pages + 4096);
	}
	cr_assert_gt(opened, 100);
	free(whole);
}

Test(symbols, what_is_no_elf_file_is_refused)
{
	struct gt_elf_image elf = {0};

	cr_assert_lt(gt_elf_image_open(&elf, "/proc/self/status"), 0);
	cr_assert_lt(gt_elf_image_open(&elf, "/nowhere"), 0);
	cr_assert_lt(gt_elf_image_open(&elf, "/tmp"), 0);
	cr_assert_lt(gt_elf_image_init(&elf, "short", 5), 0);
	cr_assert_eq(gt_elf_image_open(&elf, "/proc/self/exe"), 0);
	cr_assert_not_null(gt_elf_image_find_name(&elf, ".text"));
	cr_assert_null(gt_elf_image_find_name(&elf, ".nothing"));
	gt_elf_image_close(&elf);
}

/* An object at the address of a note of 24 bytes: name, and eight bytes of build-id. */
static uint32_t loaded_build_id(uint32_t flags, uint64_t loaded, uint64_t place, uint64_t size)
{
	static const struct {
		Elf64_Nhdr head;
		char name[4], id[8];
	} note = {{4, 8, NT_GNU_BUILD_ID}, "GNU", "01234567"};
	const Elf64_Phdr segments[] = {
		{.p_type = PT_NOTE, .p_flags = PF_R, .p_vaddr = place, .p_memsz = size},
		{.p_type = PT_LOAD, .p_flags = flags, .p_memsz = loaded},
	};
	const struct dl_phdr_info info = {
		.dlpi_addr = (uintptr_t)&note, .dlpi_phdr = segments, .dlpi_phnum = 2};
	uint8_t id[GT_BUILD_ID_MAX];
	uint32_t found = gt_elf_image_loaded_build_id(&info, id);

	cr_assert(!found || memcmp(id, note.id, found) == 0);
	return found;
}

Test(symbols, notes_are_read_only_where_the_object_is_loaded)
{
	cr_assert_eq(loaded_build_id(PF_R, 24, 0, 24), 8);
	cr_assert_eq(loaded_build_id(PF_R, 24, 0, (uint64_t)1 << 40), 8);
	cr_assert_eq(loaded_build_id(PF_R, 23, 0, 24), 0);
	cr_assert_eq(loaded_build_id(PF_X, 24, 0, 24), 0);
	cr_assert_eq(loaded_build_id(PF_R, 24, (uint64_t)1 << 46, 24), 0);
	cr_assert_eq(loaded_build_id(PF_R, 24, (uint64_t)-8, 24), 0);
}

static const char *demangled(const char *name)
{
	return gt_demangle_get(names.demangle, name, strlen(name))->text;
}

Test(demangle, another_name_at_the_same_address_is_another_name)
{
	static const char *const texts[] = {"_ZN3app5scaleIfEEvPT_S1_", "main", "main2", "",
					    "_ZN3app5scaleIdEEvPT_S1_"};
	const struct gt_string *found, *mangled;
	char name[64];

	start(1 << 20);
	for (int i = 0; i < 50; i++) {
		const char *text = texts[i / 2 * 7 % 5]; /* each twice */

		strcpy(name, text);
		found = gt_demangle_at(names.demangle, name, &mangled);
		cr_assert_str_eq(found->text, demangled(text));
		cr_assert_eq(mangled != NULL, text[0] == '_');
		cr_assert(!mangled || !strcmp(mangled->text, text));
	}
}

Test(demangle, names_become_readable_once)
{
	char mangled[GT_DEMANGLE_MAX + 64];
	const char *first;

	start(1 << 20);
	first = demangled("_ZN3app5scaleIfEEvPT_S1_");
	cr_assert_str_eq(first, "void app::scale<float>(float*, float)");
	cr_assert_eq(demangled("_ZN3app5scaleIfEEvPT_S1_"), first);
	cr_assert_str_eq(demangled("main"), "main");
	cr_assert_str_eq(demangled(""), "");
	cr_assert_str_eq(demangled("_Z"), "_Z");
	cr_assert_str_eq(demangled("_Znonsense"), "_Znonsense");
	memset(mangled, 'x', sizeof(mangled));
	memcpy(mangled, "_Z2000", 6);
	mangled[sizeof(mangled) - 1] = 0;
	cr_assert_str_eq(demangled(mangled), mangled, "too long");
	for (int i = 0; i < 3000; i++) { /* the table of answers grows */
		char name[32], expected[32];

		snprintf(name, sizeof(name), "_Z5f%04di", i);
		snprintf(expected, sizeof(expected), "f%04d(int)", i);
		cr_assert_str_eq(demangled(name), expected);
	}
	stop();
}
