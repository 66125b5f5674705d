/* SPDX-License-Identifier: Apache-2.0
 *
 * Program headers by libelf; "#!" lines by hand, four deep like the kernel.
 */
#include "cli/run/target.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MAX_SCRIPTS 4
#define LINE_BYTES  256

static bool is_runnable(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* The file that execvp would run. */
static int find_in_path(const char *command, char *ret_path)
{
	const char *path = getenv("PATH");
	size_t size = strlen(command) + 1;
	char candidate[PATH_MAX];

	if (size > PATH_MAX)
		return -ENAMETOOLONG;
	if (strchr(command, '/')) {
		memcpy(ret_path, command, size);
		if (access(command, F_OK) < 0)
			return -errno;
		return is_runnable(command) ? 0 : -EACCES;
	}
	for (path = path ? path : "/bin:/usr/bin"; *path; path += *path == ':') {
		int length = (int)strcspn(path, ":");

		if (snprintf(candidate, sizeof(candidate), "%.*s%s%s", length, path,
			     length ? "/" : "", command) < PATH_MAX &&
		    is_runnable(candidate)) {
			memcpy(ret_path, candidate, PATH_MAX);
			return 0;
		}
		path += length;
	}
	return -ENOENT;
}

/* "#!/usr/bin/env -S VAR=1 python3 -u": the word that env will run. */
static char *env_program(char *words)
{
	char *rest = words, *word;

	while ((word = strtok_r(rest, " \t", &rest))) {
		if (*word != '-' && !strchr(word, '='))
			return word;
	}
	return NULL;
}

/* The interpreter of the script at @path. 0 with *ret_name set, -ENOEXEC: no "#!" line. */
static int read_interpreter(const char *path, char *ret_name, size_t size)
{
	char line[LINE_BYTES] = "", *words = line + 2, *name, *program;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);

	if (fd >= 0)
		close(fd);
	if (n < 2 || line[0] != '#' || line[1] != '!')
		return -ENOEXEC;
	line[strcspn(line, "\n")] = 0;
	name = strtok_r(words, " \t", &words);
	if (!name)
		return -ENOEXEC;
	program = strrchr(name, '/');
	if (!strcmp(program ? program + 1 : name, "env") && (program = env_program(words)))
		name = program;
	snprintf(ret_name, size, "%s", name);
	return 0;
}

static void inspect_mode(const char *path, struct gt_target *target)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return;
	target->is_privileged =
		((status.st_mode & S_ISUID) && status.st_uid != geteuid()) ||
		((status.st_mode & S_ISGID) && status.st_gid != getegid()) ||
		(geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

/* Offset in the file of the address @vaddr, or -1. */
static int64_t file_offset(Elf *elf, size_t count, GElf_Addr vaddr)
{
	GElf_Phdr header;

	for (size_t i = 0; i < count; i++) {
		if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD &&
		    vaddr >= header.p_vaddr && vaddr - header.p_vaddr < header.p_filesz)
			return (int64_t)(vaddr - header.p_vaddr + header.p_offset);
	}
	return -1;
}

static GElf_Xword find_dynamic(Elf_Data *data, GElf_Sxword tag)
{
	GElf_Dyn entry;

	for (int i = 0; gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
		if (entry.d_tag == tag)
			return entry.d_un.d_val;
	}
	return 0;
}

static bool is_sanitizer(const char *library)
{
	return !strncmp(library, "libasan.so", 10) || !strncmp(library, "libtsan.so", 10) ||
	       !strncmp(library, "libclang_rt.asan", 16) ||
	       !strncmp(library, "libclang_rt.tsan", 16);
}

/* Looks through DT_NEEDED. Elf_Data ends its strings within the chunk: the size is DT_STRSZ. */
static void inspect_dynamic(Elf *elf, size_t count, const GElf_Phdr *header,
			    struct gt_target *target)
{
	Elf_Data *data =
		elf_getdata_rawchunk(elf, (int64_t)header->p_offset, header->p_filesz, ELF_T_DYN);
	int64_t offset = data ? file_offset(elf, count, find_dynamic(data, DT_STRTAB)) : -1;
	GElf_Xword size = data ? find_dynamic(data, DT_STRSZ) : 0;
	Elf_Data *strings = offset < 0 ? NULL : elf_getdata_rawchunk(elf, offset, size, ELF_T_BYTE);
	GElf_Dyn entry;

	if (!strings || size == 0 || ((const char *)strings->d_buf)[size - 1])
		return;
	for (int i = 0; gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
		if (entry.d_tag == DT_NEEDED && entry.d_un.d_val < size &&
		    is_sanitizer((const char *)strings->d_buf + entry.d_un.d_val))
			target->has_sanitizer = true;
	}
}

static void inspect_headers(Elf *elf, struct gt_target *target)
{
	GElf_Phdr header;
	size_t count = 0, size;
	const char *image = elf_rawfile(elf, &size);

	elf_getphdrnum(elf, &count);
	target->is_static = true;
	for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &header); i++) {
		if (header.p_type == PT_INTERP && image && header.p_offset < size &&
		    memchr(image + header.p_offset, 0, size - header.p_offset)) {
			snprintf(target->loader, sizeof(target->loader), "%s",
				 image + header.p_offset);
			target->is_static = false;
			target->is_musl = strstr(target->loader, "ld-musl") != NULL;
		}
		if (header.p_type == PT_DYNAMIC)
			inspect_dynamic(elf, count, &header, target);
	}
}

/* Opens @path as an ELF file; the caller ends with elf_end and close. NULL: it is none. */
static Elf *open_elf(const char *path, int *ret_fd, GElf_Ehdr *ret_header)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);

	if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, ret_header)) {
		*ret_fd = fd;
		return elf;
	}
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return NULL;
}

/* True when this program itself is for another processor than @header's. */
static bool is_foreign(const GElf_Ehdr *header)
{
	GElf_Ehdr own;
	int fd;
	Elf *elf = open_elf("/proc/self/exe", &fd, &own);

	if (!elf)
		return false;
	elf_end(elf);
	close(fd);
	return own.e_machine != header->e_machine ||
	       own.e_ident[EI_CLASS] != header->e_ident[EI_CLASS];
}

static int inspect_elf(const char *path, struct gt_target *target)
{
	GElf_Ehdr header;
	int fd;
	Elf *elf = open_elf(path, &fd, &header);

	if (!elf)
		return -ENOEXEC;
	inspect_headers(elf, target);
	target->is_foreign = is_foreign(&header);
	elf_end(elf);
	close(fd);
	return 0;
}

static int inspect(const char *command, struct gt_target *ret_target)
{
	struct gt_target target = {0};
	char name[PATH_MAX];
	int error;

	elf_version(EV_CURRENT);
	snprintf(name, sizeof(name), "%s", command);
	for (int depth = 0; depth <= MAX_SCRIPTS; depth++) {
		error = find_in_path(name, target.path);
		if (error)
			return error;
		if (inspect_elf(target.path, &target) == 0) {
			inspect_mode(target.path, &target);
			*ret_target = target;
			return 0;
		}
		error = read_interpreter(target.path, name, sizeof(name));
		if (error)
			return error;
		target.is_script = true;
	}
	return -ELOOP;
}

/* Result of the child, in shared memory. */
struct target_answer {
	int error;
	struct gt_target target;
};

static int ask_child(const char *command, struct target_answer *answer)
{
	int status = -1;
	pid_t child;

	child = fork();
	if (child < 0)
		return -errno;
	if (child == 0) {
		answer->error = inspect(command, &answer->target);
		_exit(EXIT_SUCCESS);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS ? answer->error : -EIO;
}

int gt_target_inspect(const char *command, struct gt_target *ret_target)
{
	struct target_answer *answer = mmap(NULL, sizeof(*answer), PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int error = -ENOMEM;

	memset(ret_target, 0, sizeof(*ret_target));
	if (answer == MAP_FAILED)
		return error;
	error = ask_child(command, answer);
	if (!error)
		*ret_target = answer->target;
	munmap(answer, sizeof(*answer));
	return error;
}

/* The interpreter of a script, or the loader of a program. False: it has none. */
static bool find_runner(const char *command, char *ret_name, const char **ret_kind)
{
	char path[PATH_MAX];
	struct gt_target target;

	if (find_in_path(command, path))
		return false;
	*ret_kind = "interpreter";
	if (!read_interpreter(path, ret_name, PATH_MAX))
		return true;
	*ret_kind = "loader";
	if (gt_target_inspect(command, &target))
		return false;
	memcpy(ret_name, target.loader, PATH_MAX);
	return *ret_name;
}

void gt_target_explain(const char *command, int error, char *ret_text, size_t size)
{
	char name[PATH_MAX];
	struct stat status;
	const char *kind;

	if (error == EACCES && !stat(command, &status) && S_ISDIR(status.st_mode))
		error = EISDIR;
	if (error == ENOENT && find_runner(command, name, &kind) && access(name, F_OK))
		snprintf(ret_text, size, "its %s '%s' is not there", kind, name);
	else
		snprintf(ret_text, size, "%s", strerror(error));
}
