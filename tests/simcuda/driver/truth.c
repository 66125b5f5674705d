/* SPDX-License-Identifier: Apache-2.0
 *
 * The truth file: what really happened, one JSON object a line, to be compared with a trace. One
 * write(2) a line on a descriptor opened O_APPEND and kept high, so that nothing is lost by
 * _exit or SIGKILL and that a program which closes and reuses low descriptors does not hit it.
 * Opened again when somebody closed it, also when its number is another file's by then. Any thread.
 */
#include "driver/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Atomic bool sim_truth_on;

static char path[1024];
static _Atomic int truth_fd = -1;
static dev_t truth_device;
static ino_t truth_inode;

static int open_high(void)
{
	int low = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	int high = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, 900);

	if (high >= 0)
		close(low);
	return high >= 0 ? high : low;
}

static bool remember(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	truth_device = st.st_dev;
	truth_inode = st.st_ino;
	return true;
}

/* SIMCUDA_TRUTH=path; %p in it is the process id. */
void sim_truth_open(void)
{
	const char *name = getenv("SIMCUDA_TRUTH");
	const char *mark = name ? strstr(name, "%p") : NULL;

	if (!name || !*name)
		return;
	if (mark)
		snprintf(path, sizeof(path), "%.*s%d%s", (int)(mark - name), name, (int)getpid(),
			 mark + 2);
	else
		snprintf(path, sizeof(path), "%s", name);
	truth_fd = open_high();
	sim_truth_on = truth_fd >= 0 && remember(truth_fd);
	if (!sim_truth_on)
		return;
	sim_watching |= 1;
	sim_want_call_times();
	sim_truth("{\"truth\":\"process\",\"pid\":%d,\"start\":%llu,\"virtual\":%s}\n",
		  (int)getpid(), (unsigned long long)sim_now(),
		  sim_options.virtual_time ? "true" : "false");
}

/* A program that closes all descriptors and takes the numbers for itself has files there that
 * nobody may write. */
static bool is_ours(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_ino == truth_inode && st.st_dev == truth_device;
}

static void put(const char *line, size_t length)
{
	if (!is_ours(truth_fd))
		truth_fd = open_high();
	if (write(truth_fd, line, length) < 0)
		sim_truth_on = false;
}

void sim_truth(const char *format, ...)
{
	char line[2048];
	va_list list;
	int saved = errno;

	if (!sim_truth_on)
		return;
	va_start(list, format);
	int length = vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	if (length > 0 && (size_t)length < sizeof(line))
		put(line, (size_t)length);
	errno = saved;
}

void sim_truth_call(const struct sim_call *call)
{
	sim_truth("{\"truth\":\"call\",\"name\":\"%s\",\"domain\":\"%s\",\"cbid\":%u,\"pid\":%d,"
		  "\"tid\":%u,\"start\":%llu,\"end\":%llu,\"correlation\":%u,\"nested\":%s,"
		  "\"result\":%d}\n",
		  call->name, call->domain == SIM_DRIVER ? "driver" : "runtime", call->cbid,
		  (int)getpid(), sim_tid(), (unsigned long long)call->start,
		  (unsigned long long)call->end, call->correlation, call->outer ? "true" : "false",
		  call->result);
}

void sim_truth_memory(const struct sim_memory *memory)
{
	sim_truth("{\"truth\":\"memory\",\"operation\":%u,\"kind\":%u,\"pid\":%d,\"device\":%u,"
		  "\"context\":%u,\"address\":%llu,\"bytes\":%llu,\"time\":%llu,\"correlation\":%u,"
		  "\"pool\":%llu}\n",
		  memory->operation, memory->memory_kind, (int)getpid(), memory->device,
		  memory->context, (unsigned long long)memory->address,
		  (unsigned long long)memory->bytes, (unsigned long long)memory->timestamp,
		  memory->correlation, (unsigned long long)memory->pool);
}

static int write_common(char *at, size_t room, const struct sim_op *op, const char *kind)
{
	return snprintf(at, room,
			"\"truth\":\"op\",\"kind\":\"%s\",\"pid\":%d,\"device\":%u,\"context\":%u,"
			"\"stream\":%u,\"start\":%llu,\"end\":%llu,\"correlation\":%u,\"graph\":%u,"
			"\"node\":%llu",
			kind, (int)getpid(), op->device, op->context, op->stream,
			(unsigned long long)op->start, (unsigned long long)op->end, op->correlation,
			op->graph, (unsigned long long)op->node);
}

static void write_kernel(const char *common, const struct sim_kernel_facts *kernel)
{
	sim_truth("{%s,\"name\":\"%s\",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],"
		  "\"registers\":%u,\"static_shared\":%u,\"dynamic_shared\":%u,\"launch_type\":%u,"
		  "\"grid_id\":%llu}\n",
		  common, kernel->name, kernel->grid[0], kernel->grid[1], kernel->grid[2],
		  kernel->block[0], kernel->block[1], kernel->block[2], kernel->registers,
		  kernel->static_shared, kernel->dynamic_shared, kernel->launch_type,
		  (unsigned long long)kernel->grid_id);
}

void sim_truth_operation(const struct sim_op *op)
{
	static const char *const kinds[] = {"kernel", "memcpy", "memset", "graph"};
	char common[512];

	write_common(common, sizeof(common), op, kinds[op->kind]);
	if (op->kind == SIM_OP_KERNEL)
		write_kernel(common, &op->kernel);
	else if (op->kind == SIM_OP_MEMCPY)
		sim_truth("{%s,\"bytes\":%llu,\"copy_kind\":%u,\"src_kind\":%u,\"dst_kind\":%u,"
			  "\"async\":%s,\"peer\":%s}\n",
			  common, (unsigned long long)op->copy.bytes, op->copy.copy_kind,
			  op->copy.src_kind, op->copy.dst_kind, op->copy.async ? "true" : "false",
			  op->copy.peer ? "true" : "false");
	else if (op->kind == SIM_OP_MEMSET)
		sim_truth("{%s,\"bytes\":%llu,\"value\":%u,\"memory_kind\":%u}\n", common,
			  (unsigned long long)op->set.bytes, op->set.value, op->set.memory_kind);
	else
		sim_truth("{%s}\n", common);
}
