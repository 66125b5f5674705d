/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of the annotating threads, see the header. Claimed and released by one flag each.
 */
#include "collectors/nvtx/self.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "core/guest/memory.h"

__thread struct gt_nvtx_self *gt_nvtx_self_known;

static struct self_pool {
	pthread_key_t key; /* its destructor runs when a thread ends */
	_Atomic uint32_t hint;
	struct gt_nvtx_self blocks[GT_NVTX_THREADS];
} * _Atomic pool;

static void release_block(void *block)
{
	struct gt_nvtx_self *self = block;

	if (gt_nvtx_self_known == self)
		gt_nvtx_self_known = NULL;
	atomic_store_explicit(&self->in_use, false, memory_order_release);
}

int gt_nvtx_self_start(void)
{
	struct self_pool *expected = NULL;
	struct self_pool *fresh;

	if (atomic_load(&pool))
		return 0;
	fresh = gt_memory_map(sizeof(*fresh));
	if (!fresh)
		return -ENOMEM;
	if (pthread_key_create(&fresh->key, release_block)) {
		gt_memory_unmap(fresh, sizeof(*fresh));
		return -ENOMEM;
	}
	if (!atomic_compare_exchange_strong(&pool, &expected,
					    fresh)) { /* another thread was first */
		pthread_key_delete(fresh->key);
		gt_memory_unmap(fresh, sizeof(*fresh));
	}
	return 0;
}

static struct gt_nvtx_self *claim_block(struct self_pool *p)
{
	uint32_t hint = atomic_fetch_add_explicit(&p->hint, 1, memory_order_relaxed);

	for (uint32_t i = 0; i < GT_NVTX_THREADS; i++) {
		struct gt_nvtx_self *self = &p->blocks[(hint + i) % GT_NVTX_THREADS];
		bool expected = false;

		if (!atomic_load_explicit(&self->in_use, memory_order_relaxed) &&
		    atomic_compare_exchange_strong(&self->in_use, &expected, true))
			return self;
	}
	return NULL;
}

struct gt_nvtx_self *gt_nvtx_self_first_sight(void)
{
	struct self_pool *p = atomic_load_explicit(&pool, memory_order_acquire);
	struct gt_nvtx_self *self = p ? claim_block(p) : NULL;
	int saved = errno;

	if (!self)
		return NULL;
	self->busy = false;
	self->tid = self->generation = self->last = 0;
	memset(self->stacks, 0, sizeof(self->stacks));
	pthread_setspecific(p->key, self);
	gt_nvtx_self_known = self;
	errno = saved;
	return self;
}

struct gt_nvtx_stack *gt_nvtx_self_search(struct gt_nvtx_self *self, uint32_t domain)
{
	uint32_t unused = GT_NVTX_STACKS;

	for (uint32_t i = 0; i < GT_NVTX_STACKS; i++) {
		if (self->stacks[i].depth && self->stacks[i].domain == domain) {
			self->last = i;
			return &self->stacks[i];
		}
		if (!self->stacks[i].depth && unused == GT_NVTX_STACKS)
			unused = i;
	}
	if (unused == GT_NVTX_STACKS)
		return NULL;
	self->stacks[unused].domain = domain;
	self->last = unused;
	return &self->stacks[unused];
}
