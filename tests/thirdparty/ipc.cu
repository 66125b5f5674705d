/* SPDX-License-Identifier: Apache-2.0
 *
 * Two processes share memory and an event: the child sees what the parent wrote, and answers.
 */
#include "program.h"

#include <sys/wait.h>
#include <unistd.h>

#define BYTES 4096

struct message {
	cudaIpcMemHandle_t memory;
	cudaIpcEventHandle_t event;
};

__global__ void step(int *data)
{
	*data = 1;
}

static int child(int in, int out)
{
	unsigned char back[BYTES];
	struct message message;
	cudaEvent_t event;
	void *data;

	REQUIRE(read(in, &message, sizeof(message)) == sizeof(message));
	CHECK(cudaIpcOpenMemHandle(&data, message.memory, cudaIpcMemLazyEnablePeerAccess));
	CHECK(cudaIpcOpenEventHandle(&event, message.event));
	CHECK(cudaStreamWaitEvent(0, event, 0));
	CHECK(cudaMemcpy(back, data, BYTES, cudaMemcpyDeviceToHost));
	REQUIRE(back[0] == 0x11 && back[BYTES - 1] == 0x11);
	CHECK(cudaMemset(data, 0x22, BYTES));
	step<<<1, 32>>>((int *)data);
	CHECK(cudaEventRecord(event, 0));
	CHECK(cudaEventSynchronize(event));
	CHECK(cudaIpcCloseMemHandle(data));
	REQUIRE(write(out, "x", 1) == 1);
	return 0;
}

static int parent(int out, int in, pid_t pid)
{
	unsigned char back[BYTES];
	struct message message;
	cudaEvent_t event;
	int status;
	char answer;
	void *data;

	CHECK(cudaMalloc(&data, BYTES));
	CHECK(cudaMemset(data, 0x11, BYTES));
	CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
	CHECK(cudaIpcGetMemHandle(&message.memory, data));
	CHECK(cudaIpcGetEventHandle(&message.event, event));
	CHECK(cudaEventRecord(event, 0));
	REQUIRE(write(out, &message, sizeof(message)) == sizeof(message));
	REQUIRE(read(in, &answer, 1) == 1);
	CHECK(cudaEventSynchronize(event));
	CHECK(cudaMemcpy(back, data, BYTES, cudaMemcpyDeviceToHost));
	REQUIRE(back[0] == 0x22 && back[BYTES - 1] == 0x22);
	REQUIRE(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
	CHECK(cudaFree(data));
	puts("shared");
	return 0;
}

/* The child is a new program: CUDA does not outlive a fork. */
int main(int argc, char **argv)
{
	int down[2], up[2];
	char in[16], out[16];

	if (argc == 3)
		return child(atoi(argv[1]), atoi(argv[2]));
	REQUIRE(!pipe(down) && !pipe(up));
	snprintf(in, sizeof(in), "%d", down[0]);
	snprintf(out, sizeof(out), "%d", up[1]);
	pid_t pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		execl("/proc/self/exe", argv[0], in, out, (char *)NULL);
		_exit(127);
	}
	close(down[0]);
	close(up[1]);
	return parent(down[1], up[0], pid);
}
