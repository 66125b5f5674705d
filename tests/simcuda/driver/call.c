/* SPDX-License-Identifier: Apache-2.0
 *
 * Announces API calls and what happens inside them to the CUPTI client and to the truth file.
 * Any thread. A call made inside another one shares the outer one's correlation id, as a driver
 * call made by the runtime does.
 */
#include "driver/driver.h"

#include <string.h>
#include <unistd.h>

__thread struct sim_thread sim_self;
_Atomic unsigned int sim_watching;
const struct sim_client *_Atomic sim_client;

static _Atomic uint32_t last_correlation;
static _Atomic bool times_wanted;

static const struct sim_client *client_here(void)
{
	return sim_self.in_client ? NULL : atomic_load_explicit(&sim_client, memory_order_acquire);
}

void sim_call_enter(struct sim_call *call)
{
	const struct sim_client *client = client_here();

	call->outer = sim_self.call;
	call->correlation =
		call->outer ? call->outer->correlation : atomic_fetch_add(&last_correlation, 1) + 1;
	sim_self.call = call;
	call->announced = client != NULL;
	if (client) {
		sim_self.in_client = true;
		client->call_enter(call);
		sim_self.in_client = false;
	}
	if (times_wanted)
		call->start = sim_now();
}

int sim_call_exit(struct sim_call *call, int result)
{
	const struct sim_client *client = client_here();

	if (call->start)
		call->end = sim_now();
	call->result = result;
	if (client && call->announced) {
		sim_self.in_client = true;
		client->call_exit(call);
		sim_self.in_client = false;
	}
	sim_self.call = call->outer;
	if (sim_truth_on)
		sim_truth_call(call);
	return result;
}

uint32_t sim_current_correlation(void)
{
	return sim_self.call ? sim_self.call->correlation : 0;
}

/* The clock is read twice a call from then on: for API records and for the truth file. */
void sim_want_call_times(void)
{
	times_wanted = true;
}

/* A client that comes before cuInit is notified when it is done; one that comes during it as well.
 */
void sim_set_client(const struct sim_client *client)
{
	atomic_store_explicit(&sim_client, client, memory_order_release);
	if (client)
		sim_watching |= 2;
}

#define TELL(member_, argument_)                                                                   \
	do {                                                                                       \
		const struct sim_client *client = client_here();                                   \
		if (!client)                                                                       \
			break;                                                                     \
		sim_self.in_client = true;                                                         \
		client->member_(argument_);                                                        \
		sim_self.in_client = false;                                                        \
	} while (0)

void sim_client_resource(const struct sim_resource *what)
{
	TELL(resource, what);
}

void sim_client_operation(const struct sim_op *op)
{
	TELL(operation, op);
}

void sim_client_synchronized(const struct sim_sync *sync)
{
	TELL(synchronized, sync);
}

void sim_client_host_function(const struct sim_host_function *function)
{
	TELL(host_function, function);
}

void sim_client_event(const struct sim_event_recorded *event)
{
	TELL(event_recorded, event);
}

void sim_client_memory(const struct sim_memory *memory)
{
	if (!memory->is_pool && memory->operation != SIM_MEMORY_PREFETCH)
		sim_truth_memory(memory);
	TELL(memory, memory);
}

const char *sim_symbol_of(const void *function)
{
	const struct CUfunc_st *kernel = function;

	return kernel && kernel->magic == SIM_FUNCTION_MAGIC ? kernel->name : NULL;
}

/* Says once per function that it is not simulated. */
int sim_missing(const char *name)
{
	static const char *_Atomic said[256];
	static _Atomic int count;
	char line[160] = "simcuda: ";

	for (int i = 0; i < count && i < 256; i++)
		if (said[i] == name)
			return CUDA_ERROR_NOT_SUPPORTED;
	int slot = atomic_fetch_add(&count, 1);
	if (slot < 256)
		said[slot] = name;
	strncat(line, name, 100);
	strcat(line, " is not simulated\n");
	sim_log(line);
	if (write(STDERR_FILENO, line, strlen(line)) < 0)
		return CUDA_ERROR_NOT_SUPPORTED;
	return CUDA_ERROR_NOT_SUPPORTED;
}
