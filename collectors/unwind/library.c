/* SPDX-License-Identifier: Apache-2.0
 *
 * libunwind's remote interface on a symbolic machine, see the header. Opening: session start.
 * Stepping: application threads, at first sight of an address; writes only to the caller's stack.
 */
#include "collectors/unwind/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "collectors/unwind/arch.h"

#define STRING_(x)     #x
#define STRING(x)      STRING_(x)

/* Not declared in libunwind's headers, though its remote clients need it. */
#define TABLE_SEARCH   STRING(UNW_OBJ(dwarf_search_unwind_table))

#define SYMBOL_READ(n) (0x4000000000000000u + ((uint64_t)(n) << 40))
#define SYMBOL_OTHER   0x3000000000000000u

#define MACHINE_READS  8
#define PAGE_BYTES     4096u
#define STUBS_MAX      8

/* The symbolic machine behind libunwind's accessors. */
struct machine {
	const struct gt_unwind_library *library;
	const struct gt_unwind_module *module;
	uint64_t ip;
	bool no_info; /* the module's tables do not cover ip */
	uint64_t function;
	uint32_t reads;
	uint64_t read_at[MACHINE_READS]; /* addresses on the stack that were read */
};

bool gt_symbol_is_near(uint64_t value, uint64_t symbol, int64_t *ret_offset)
{
	int64_t offset = (int64_t)(value - symbol);

	if (offset < INT32_MIN || offset > INT32_MAX)
		return false;
	*ret_offset = offset;
	return true;
}

/* The read whose answer @value is derived from; -1: none. */
static int find_read(const struct machine *machine, uint64_t value, int64_t *ret_offset)
{
	for (uint32_t i = 0; i < machine->reads; i++)
		if (gt_symbol_is_near(value, SYMBOL_READ(i), ret_offset))
			return (int)i;
	return -1;
}

static int read_stack(struct machine *machine, uint64_t address, unw_word_t *ret_word)
{
	uint32_t i = 0;

	while (i < machine->reads && machine->read_at[i] != address)
		i++;
	if (i == MACHINE_READS)
		return -UNW_EINVAL;
	if (i == machine->reads)
		machine->read_at[machine->reads++] = address;
	*ret_word = SYMBOL_READ(i);
	return 0;
}

static int access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *word, int write,
		      void *arg)
{
	struct machine *machine = arg;

	if (write)
		return -UNW_EINVAL;
	if (address >> 60)
		return read_stack(machine, address, word);
	return gt_unwind_module_read(machine->module, address, word) ? 0 : -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t reg, unw_word_t *word, int write,
		      void *arg)
{
	const struct machine *machine = arg;

	if (write)
		return -UNW_EREADONLYREG;
	if (reg == UNW_REG_IP)
		*word = machine->ip;
	else if (reg == UNW_REG_SP)
		*word = GT_SYMBOL_SP;
	else if (reg == GT_UNWIND_FP_REGNUM)
		*word = GT_SYMBOL_FP;
	else
		*word = SYMBOL_OTHER;
	return 0;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t reg, unw_fpreg_t *value, int write,
			void *arg)
{
	return -UNW_EBADREG;
}

/* The header of .eh_frame_hdr in the only form that linkers write: a sorted table of 32-bit
 * pairs. */
struct eh_frame_hdr {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
	uint32_t padding;
};

static bool read_hdr(const struct gt_unwind_module *module, struct eh_frame_hdr *ret_hdr)
{
	uint64_t words[2] = {0, 0};

	if (!gt_unwind_module_read(module, module->eh_frame_hdr, &words[0]) ||
	    !gt_unwind_module_read(module, module->eh_frame_hdr + 8, &words[1]))
		return false;
	memcpy(ret_hdr, words, sizeof(words));
	/* pcrel sdata4, udata4, datarel sdata4 */
	return ret_hdr->version == 1 && (ret_hdr->frame_encoding & 0x0f) == 0x0b &&
	       ret_hdr->count_encoding == 0x03 && ret_hdr->table_encoding == 0x3b;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info,
			  int need_unwind_info, void *arg)
{
	struct machine *machine = arg;
	uint64_t start = machine->module->eh_frame_hdr;
	struct eh_frame_hdr hdr;
	unw_dyn_info_t table = {.start_ip = 0, .end_ip = UINT64_MAX};
	int error = -UNW_ENOINFO;

	if (read_hdr(machine->module, &hdr)) {
		table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
		table.u.rti.segbase = start;
		table.u.rti.table_data = start + offsetof(struct eh_frame_hdr, padding);
		table.u.rti.table_len = hdr.count;
		error = machine->library->search_table(space, ip, &table, info, need_unwind_info,
						       arg);
	}
	/* libunwind now tries its own heuristics; ours are used instead */
	machine->no_info |= error < 0;
	if (error >= 0)
		machine->function = info->start_ip;
	return error;
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *arg)
{
}

static int get_dyn_info_list_addr(unw_addr_space_t space, unw_word_t *address, void *arg)
{
	return -UNW_ENOINFO;
}

static int resume(unw_addr_space_t space, unw_cursor_t *cursor, void *arg)
{
	return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t space, unw_word_t ip, char *buffer, size_t size,
			 unw_word_t *offset, void *arg)
{
	return -UNW_ENOINFO;
}

static unw_accessors_t accessors = {
	.find_proc_info = find_proc_info,
	.put_unwind_info = put_unwind_info,
	.get_dyn_info_list_addr = get_dyn_info_list_addr,
	.access_mem = access_mem,
	.access_reg = access_reg,
	.access_fpreg = access_fpreg,
	.resume = resume,
	.get_proc_name = get_proc_name,
};

static bool read_effect(const struct machine *machine, unw_cursor_t *cursor,
			struct gt_unwind_effect *ret_effect)
{
	const struct gt_unwind_library *library = machine->library;
	struct gt_unwind_effect effect = {.function = machine->function};
	uint64_t ra, fp;
	int64_t offset;
	int read;

	if (library->get_reg(cursor, UNW_REG_SP, &effect.cfa) < 0 ||
	    library->get_reg(cursor, UNW_REG_IP, &ra) < 0)
		return false;
	read = find_read(machine, effect.cfa, &effect.cfa_add);
	if (read >= 0)
		effect.cfa_from = machine->read_at[read];
	read = find_read(machine, ra, &offset);
	if (read < 0 || offset != 0)
		return false;
	effect.ra_at = machine->read_at[read];
	/* libunwind cannot return an undefined register; outer frames do not need it */
	if (library->get_reg(cursor, GT_UNWIND_FP_REGNUM, &fp) == 0 && fp != GT_SYMBOL_FP) {
		read = find_read(machine, fp, &offset);
		if (read < 0 || offset != 0)
			return false;
		effect.fp_at = machine->read_at[read];
	}
	*ret_effect = effect;
	return true;
}

bool gt_unwind_library_step(const struct gt_unwind_library *library,
			    const struct gt_unwind_module *module, uint64_t ip,
			    struct gt_unwind_effect *ret_effect)
{
	struct machine machine = {.library = library, .module = module, .ip = ip};
	unw_cursor_t cursor;
	int result;

	if (library->init_remote(&cursor, library->space, &machine) < 0)
		return false;
	result = library->step(&cursor);
	if (machine.no_info || result < 0)
		return false;
	if (result == 0) {
		*ret_effect = (struct gt_unwind_effect){.is_end = true};
		return true;
	}
	return read_effect(&machine, &cursor, ret_effect);
}

/* ---- opening ---- */

/*
 * When libunwind initializes itself, it opens a pipe and calls mincore, for walks of the own
 * process. The pipe would take descriptors that the program counts on, a seccomp filter may kill
 * for either, and neither is ever used here. So for that time these two entries of its table of
 * imported functions are replaced by functions that fail; the program may use the same libunwind.
 */
static int no_pipe(int ends[2], int flags)
{
	errno = EMFILE;
	return -1;
}

static int no_mincore(void *address, size_t size, unsigned char *pages)
{
	errno = ENOSYS;
	return -1;
}

/* pipe is pipe2 without an argument. */
static void *stub_of(const char *name)
{
	if (!strcmp(name, "pipe2") || !strcmp(name, "pipe"))
		return (void *)(uintptr_t)no_pipe;
	return strcmp(name, "mincore") ? NULL : (void *)(uintptr_t)no_mincore;
}

/* Of a loaded library; relocations with symbols that have a table of their own, and all others. */
struct imports {
	uintptr_t bias;
	const ElfW(Sym) *symbols;
	const char *strings;
	const ElfW(Rela) *table[2];
	size_t count[2];
	struct { /* what was replaced */
		uintptr_t at;
		void *function;
	} own[STUBS_MAX];
	int replaced;
};

static void note_table(struct imports *imports, const ElfW(Dyn) *entry)
{
	uintptr_t address = entry->d_un.d_ptr;
	size_t count = entry->d_un.d_val / sizeof(ElfW(Rela));

	if (address < imports->bias) /* ld.so has added it where it could */
		address += imports->bias;
	if (entry->d_tag == DT_SYMTAB)
		imports->symbols = (const void *)address;
	else if (entry->d_tag == DT_STRTAB)
		imports->strings = (const void *)address;
	else if (entry->d_tag == DT_JMPREL || entry->d_tag == DT_RELA)
		imports->table[entry->d_tag == DT_RELA] = (const void *)address;
	else if (entry->d_tag == DT_PLTRELSZ || entry->d_tag == DT_RELASZ)
		imports->count[entry->d_tag == DT_RELASZ] = count;
}

/* Pages that are read-only after relocation (RELRO). */
static const ElfW(Phdr) *find_relro(uintptr_t bias)
{
	const ElfW(Ehdr) *header = (const void *)bias;
	const ElfW(Phdr) *segments = (const void *)(bias + header->e_phoff);

	for (int i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_GNU_RELRO)
			return &segments[i];
	return NULL;
}

static void put(uintptr_t bias, uintptr_t at, void *function)
{
	const ElfW(Phdr) *relro = find_relro(bias);
	void *page = (void *)(at & ~(uintptr_t)(PAGE_BYTES - 1));
	bool locked = relro && at - bias - relro->p_vaddr < relro->p_memsz;

	if (locked && mprotect(page, PAGE_BYTES, PROT_READ | PROT_WRITE))
		return;
	memcpy((void *)at, &function, sizeof(function));
	if (locked)
		mprotect(page, PAGE_BYTES, PROT_READ);
}

static void replace(struct imports *imports, uintptr_t at, void *stub)
{
	if (imports->replaced == STUBS_MAX)
		return;
	imports->own[imports->replaced].at = at;
	memcpy(&imports->own[imports->replaced++].function, (const void *)at, sizeof(stub));
	put(imports->bias, at, stub);
}

static void restore(const struct imports *imports)
{
	for (int i = 0; i < imports->replaced; i++)
		put(imports->bias, imports->own[i].at, imports->own[i].function);
}

static void silence_start(void *handle, struct imports *imports)
{
	struct link_map *map;

	memset(imports, 0, sizeof(*imports));
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map))
		return;
	imports->bias = map->l_addr;
	if (memcmp((const void *)imports->bias, ELFMAG, SELFMAG) != 0)
		return;
	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
		note_table(imports, entry);
	for (int i = 0; i < 2 && imports->symbols && imports->strings; i++) {
		for (size_t j = 0; imports->table[i] && j < imports->count[i]; j++) {
			const ElfW(Rela) *entry = &imports->table[i][j];
			const ElfW(Sym) *symbol = &imports->symbols[ELF64_R_SYM(entry->r_info)];
			void *stub = stub_of(imports->strings + symbol->st_name);

			if (stub)
				replace(imports, imports->bias + entry->r_offset, stub);
		}
	}
}

/* The first step initializes libunwind. */
static void initialize(struct gt_unwind_library *library, void *handle)
{
	unw_addr_space_t (*create)(unw_accessors_t *, int) =
		dlsym(handle, STRING(unw_create_addr_space));
	int (*set_caching)(unw_addr_space_t, unw_caching_policy_t) =
		dlsym(handle, STRING(unw_set_caching_policy));
	struct gt_unwind_module nothing = {0};
	struct gt_unwind_effect effect;
	struct imports imports;

	if (!create || !set_caching)
		return;
	silence_start(handle, &imports);
	library->space = create(&accessors, 0);
	if (library->space) {
		set_caching(library->space, UNW_CACHE_NONE);
		gt_unwind_library_step(library, &nothing, 0, &effect);
	}
	restore(&imports);
}

int gt_unwind_library_open(struct gt_unwind_library *library)
{
	const char *soname = "libunwind-" STRING(UNW_TARGET) ".so.8";
	void *handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return -ENOENT;
	library->init_remote = dlsym(handle, STRING(unw_init_remote));
	library->step = dlsym(handle, STRING(unw_step));
	library->get_reg = dlsym(handle, STRING(unw_get_reg));
	library->search_table = dlsym(handle, TABLE_SEARCH);
	if (!library->init_remote || !library->step || !library->get_reg || !library->search_table)
		return -ENOENT; /* the handle stays open: a guest closes no library */
	initialize(library, handle);
	return library->space ? 0 : -ENOENT;
}
