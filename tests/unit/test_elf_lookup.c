/* SPDX-License-Identifier: Apache-2.0
 *
 * core/elf/elf_lookup.c compared with the dynamic loader for the libraries of this process, and
 * on damaged images of them.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <criterion/criterion.h>

#include "core/elf/elf_lookup.h"

struct query {
	const char *soname;
	struct gt_elf elf;
	bool found;
};

static int match(struct dl_phdr_info *info, size_t size, void *context)
{
	struct query *query = context;
	struct gt_elf elf;

	if (gt_elf_open(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, &elf) ||
	    strcmp(elf.soname, query->soname))
		return 0;
	query->elf = elf;
	query->found = true;
	return 1;
}

/* The object with that soname ("": the program itself). */
static struct gt_elf object_called(const char *soname)
{
	struct query query = {.soname = soname};

	dl_iterate_phdr(match, &query);
	cr_assert(query.found, "%s is not loaded", soname);
	return query.elf;
}

static void *open_plugin(const char *variable)
{
	const char *path = getenv(variable);
	void *plugin = dlopen(path ? path : variable, RTLD_NOW | RTLD_LOCAL);

	cr_assert_not_null(plugin, "%s: run this test through meson", variable);
	return plugin;
}

/* libc's own definition: a sanitizer's would come first in the program's scope. */
static uintptr_t loader_says(const char *name, const char *version)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	void *found = version ? dlvsym(libc, name, version) : dlsym(libc, name);

	dlclose(libc);
	return (uintptr_t)found;
}

/* plugin_answer has versions 1 (old, hidden) and 2; plugin_question is imported. */
static void check_plugin(const struct gt_elf *elf, void *plugin)
{
	uintptr_t one = (uintptr_t)dlvsym(plugin, "plugin_answer", "PLUGIN_1");
	uintptr_t two = (uintptr_t)dlvsym(plugin, "plugin_answer", "PLUGIN_2");

	cr_assert(one && two && one != two);
	cr_assert_eq(gt_elf_find(elf, "plugin_answer", "PLUGIN_1"), one);
	cr_assert_eq(gt_elf_find(elf, "plugin_answer", "PLUGIN_2"), two);
	cr_assert_eq(gt_elf_find(elf, "plugin_answer", NULL), two);
	cr_assert_eq(gt_elf_find(elf, "plugin_answer", "PLUGIN_3"), 0);
	cr_assert_eq(gt_elf_find(elf, "plugin_question", NULL), 0);
	cr_assert(gt_elf_defines_version(elf, "PLUGIN_1"));
	cr_assert_not(gt_elf_defines_version(elf, "PLUGIN_3"));
}

Test(elf_lookup, finds_what_dlsym_finds)
{
	static const char *const names[] = {
		"dlopen",  "dlsym",          "pthread_create", "write", "pthread_key_create",
		"environ", "dl_iterate_phdr"};
	struct gt_elf libc = object_called("libc.so.6");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uintptr_t found = gt_elf_find(&libc, names[i], NULL);

		cr_assert_eq(found, loader_says(names[i], NULL), "%s", names[i]);
		cr_assert(gt_elf_contains(&libc, found), "%s", names[i]);
	}
}

Test(elf_lookup, versions_decide)
{
	struct gt_elf libc = object_called("libc.so.6");
	uintptr_t fresh = gt_elf_find(&libc, "pthread_create", "GLIBC_2.34");

	cr_assert_eq(gt_elf_find(&libc, "memcpy", "GLIBC_1.0"), 0);
	cr_assert_eq(gt_elf_find(&libc, "realpath", "GLIBC_2.2.5"),
		     loader_says("realpath", "GLIBC_2.2.5"));
	cr_assert_eq(gt_elf_find(&libc, "realpath", "GLIBC_2.3"),
		     loader_says("realpath", "GLIBC_2.3"));
	cr_assert_eq(gt_elf_find(&libc, "realpath", NULL), loader_says("realpath", NULL));
	if (fresh)
		cr_assert_eq(fresh, loader_says("pthread_create", NULL));
}

Test(elf_lookup, absent_symbols_are_absent)
{
	struct gt_elf libc = object_called("libc.so.6");
	struct gt_elf self = object_called("");

	cr_assert_eq(gt_elf_find(&libc, "cudaLaunchKernel", NULL), 0);
	cr_assert_eq(gt_elf_find(&libc, "", NULL), 0);
	/* imported, not defined */
	cr_assert_eq(gt_elf_find(&self, "dl_iterate_phdr", NULL), 0);
	/* thread-local */
	cr_assert_eq(gt_elf_find(&libc, "errno", "GLIBC_PRIVATE"), 0);
}

Test(elf_lookup, dependencies_and_versions_needed)
{
	void *plugin = open_plugin("GT_TEST_GNU_PLUGIN");
	struct gt_elf elf = object_called("libgnu_plugin.so.1");
	bool libc = false;

	for (size_t i = 0; gt_elf_needed(&elf, i); i++)
		libc |= !strcmp(gt_elf_needed(&elf, i), "libc.so.6");
	cr_assert(libc);
	cr_assert_null(gt_elf_needed(&elf, 1000));
	cr_assert_not_null(gt_elf_version_needed(&elf, "GLIBC_", 0));
	cr_assert_null(gt_elf_version_needed(&elf, "libcudart.so", 0));
	cr_assert_null(gt_elf_version_needed(&elf, "GLIBC_", 1000));
	cr_assert_not_null(gt_elf_reference_version(&elf, "puts"));
	cr_assert_eq(strncmp(gt_elf_reference_version(&elf, "puts"), "GLIBC_2.", 8), 0);
	cr_assert_null(gt_elf_reference_version(&elf, "plugin_question"));
	cr_assert_null(gt_elf_reference_version(&elf, "no_such_symbol"));
	dlclose(plugin);
}

Test(elf_lookup, definitions_of_versions)
{
	struct gt_elf libc = object_called("libc.so.6");

	cr_assert(gt_elf_defines_version(&libc, "GLIBC_2.17"));
	cr_assert_not(gt_elf_defines_version(&libc, "GLIBC_2"));
	cr_assert_not(gt_elf_defines_version(&libc, "libcudart.so.13"));
	/* the base definition is the name of the file, not a version */
	cr_assert_not(gt_elf_defines_version(&libc, "libc.so.6"));
}

Test(elf_lookup, reads_the_old_hash_table)
{
	void *plugin = open_plugin("GT_TEST_SYSV_PLUGIN");
	struct gt_elf elf = object_called("libsysv_plugin.so.1");

	cr_assert_eq(elf.gnu_hash_room, 0);
	cr_assert_gt(elf.sysv_hash_room, 0);
	check_plugin(&elf, plugin);
	dlclose(plugin);
}

Test(elf_lookup, reads_the_gnu_hash_table)
{
	void *plugin = open_plugin("GT_TEST_GNU_PLUGIN");
	struct gt_elf elf = object_called("libgnu_plugin.so.1");

	cr_assert_eq(elf.sysv_hash_room, 0);
	cr_assert_gt(elf.gnu_hash_room, 0);
	check_plugin(&elf, plugin);
	dlclose(plugin);
}

Test(elf_lookup, unversioned_symbols_satisfy_every_version)
{
	void *plugin = open_plugin("GT_TEST_PLAIN_PLUGIN");
	struct gt_elf elf = object_called("libplain_plugin.so.1");
	uintptr_t answer = (uintptr_t)dlsym(plugin, "plugin_answer");

	cr_assert_neq(answer, 0);
	cr_assert_eq(gt_elf_find(&elf, "plugin_answer", NULL), answer);
	cr_assert_eq(gt_elf_find(&elf, "plugin_answer", "libcudart.so.13"), answer);
	dlclose(plugin);
}

Test(elf_lookup, finds_among_all_that_is_loaded)
{
	void *plugin = open_plugin("GT_TEST_GNU_PLUGIN");

	cr_assert_eq(gt_elf_find_loaded("libc.so.6", "dlsym", NULL), loader_says("dlsym", NULL));
	cr_assert_eq(gt_elf_find_loaded(NULL, "plugin_answer", NULL),
		     (uintptr_t)dlsym(plugin, "plugin_answer"));
	cr_assert_eq(gt_elf_find_loaded("libnothing.so.1", "dlsym", NULL), 0);
	cr_assert_eq(gt_elf_find_loaded(NULL, "no_such_symbol_anywhere", NULL), 0);
	dlclose(plugin);
}

/* A copy of a loaded object, segment by segment, nothing readable around and between them. */
struct image {
	unsigned char *memory;
	size_t size;
	uintptr_t bias;
};

static struct image copy_image(const struct gt_elf *elf)
{
	const uintptr_t page = 4096;
	const uintptr_t base = elf->start & -page;
	struct image image = {.size = ((elf->end + page - 1) & -page) - base};

	image.memory = mmap(NULL, image.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(image.memory, MAP_FAILED);
	image.bias = (uintptr_t)image.memory - (base - elf->bias);
	for (size_t i = 0; i < elf->segment_count; i++) {
		const ElfW(Phdr) *segment = &elf->segments[i];
		uintptr_t to = image.bias + segment->p_vaddr;
		uintptr_t low = to & -page, high = (to + segment->p_memsz + page - 1) & -page;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_R))
			continue;
		mprotect((void *)low, high - low, PROT_READ | PROT_WRITE);
		memcpy((void *)to, (void *)(elf->bias + segment->p_vaddr), segment->p_memsz);
	}
	return image;
}

/* In the copy the addresses of the dynamic section become offsets again, as they are in the
 * file. */
static void unrelocate(const struct image *image, const struct gt_elf *elf)
{
	ElfW(Dyn) *dynamic = (void *)((uintptr_t)elf->dynamic - elf->bias + image->bias);

	for (size_t i = 0; i < elf->dynamic_count; i++) {
		if (dynamic[i].d_un.d_ptr >= elf->start && dynamic[i].d_un.d_ptr < elf->end)
			dynamic[i].d_un.d_ptr -= elf->bias;
	}
}

static uintptr_t look_everywhere(const struct image *image, const struct gt_elf *original)
{
	struct gt_elf elf;

	if (gt_elf_open(image->bias, original->segments, original->segment_count, &elf))
		return 0;
	for (size_t i = 0; i < 8; i++) {
		gt_elf_needed(&elf, i);
		gt_elf_version_needed(&elf, "GLIBC", i);
	}
	gt_elf_reference_version(&elf, "puts");
	gt_elf_defines_version(&elf, "PLUGIN_2");
	gt_elf_find(&elf, "plugin_question", NULL);
	gt_elf_find(&elf, "plugin_answer", "PLUGIN_1");
	return gt_elf_find(&elf, "plugin_answer", "PLUGIN_2");
}

/* What look_everywhere reads is in the first segments and the dynamic section. */
static void damage(const struct image *image, const struct gt_elf *elf, unsigned int *seed)
{
	unsigned char *dynamic =
		(unsigned char *)((uintptr_t)elf->dynamic - elf->bias + image->bias);
	size_t head = elf->segments[0].p_memsz < 4096 ? elf->segments[0].p_memsz : 4096;

	for (int i = rand_r(seed) % 8; i >= 0; i--) {
		if (rand_r(seed) % 2)
			dynamic[(size_t)rand_r(seed) % (elf->dynamic_count * sizeof(ElfW(Dyn)))] =
				(unsigned char)rand_r(seed);
		else
			image->memory[(size_t)rand_r(seed) % head] = (unsigned char)rand_r(seed);
	}
}

static void survive_damage(const char *variable, const char *soname)
{
	void *plugin = open_plugin(variable);
	struct gt_elf elf = object_called(soname);
	struct image image = copy_image(&elf);
	unsigned int seed = 1, differs = 0;

	unrelocate(&image, &elf);
	cr_assert_eq(look_everywhere(&image, &elf) - image.bias,
		     (uintptr_t)dlvsym(plugin, "plugin_answer", "PLUGIN_2") - elf.bias);
	for (int round = 0; round < 3000; round++) {
		struct image copy = copy_image(&elf);

		unrelocate(&copy, &elf);
		damage(&copy, &elf, &seed);
		differs += look_everywhere(&copy, &elf) - copy.bias !=
			   (uintptr_t)dlvsym(plugin, "plugin_answer", "PLUGIN_2") - elf.bias;
		munmap(copy.memory, copy.size);
	}
	/* the damage did hit what is read */
	cr_assert_gt(differs, 100);
	munmap(image.memory, image.size);
	dlclose(plugin);
}

Test(elf_lookup, survives_damaged_gnu_tables)
{
	survive_damage("GT_TEST_GNU_PLUGIN", "libgnu_plugin.so.1");
}

Test(elf_lookup, survives_damaged_sysv_tables)
{
	survive_damage("GT_TEST_SYSV_PLUGIN", "libsysv_plugin.so.1");
}
