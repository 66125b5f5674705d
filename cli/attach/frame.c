/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. The form is that of struct rt_sigframe in the kernel's arch/x86, which is part of
 * its interface to programs.
 */
#include "cli/attach/frame.h"

#include <cpuid.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

/* Flags of the kernel's ucontext: the vector registers, and SS, are there. */
#define UC_FP_XSTATE         1u
#define UC_SIGCONTEXT_SS     2u
#define UC_STRICT_RESTORE_SS 4u

/* struct _fpx_sw_bytes, in the last bytes of the legacy area. */
#define SOFTWARE_OFFSET      464u
#define XSTATE_MAGIC1        0x46505853u
#define XSTATE_MAGIC2        0x46505845u
#define LEGACY_BYTES         576u                /* with the header */
#define TILES                ((uint64_t)3 << 17) /* AMX: 8 KiB, seldom in use */

struct software_bytes {
	uint32_t magic1, extended_bytes;
	uint64_t features;
	uint32_t bytes;
	uint32_t unused[7];
};

/* The end of the last of @features. */
static uint32_t bytes_of(uint64_t features)
{
	uint32_t end = LEGACY_BYTES, size, offset, c, d;

	for (unsigned i = 2; i < 63; i++)
		if (features >> i & 1 && __get_cpuid_count(0xd, i, &size, &offset, &c, &d) &&
		    offset + size > end)
			end = offset + size;
	return end;
}

/* Returns its size, with the magic behind it. */
static size_t put_xstate(const struct gt_context *context, unsigned char *ret_state)
{
	struct software_bytes software = {.magic1 = XSTATE_MAGIC1};
	uint64_t features, used;
	uint32_t magic2 = XSTATE_MAGIC2;

	memcpy(&features, context->xstate + SOFTWARE_OFFSET, sizeof(features));
	memcpy(&used, context->xstate + 512, sizeof(used));
	if (!(used & TILES))
		features &= ~TILES;
	software.features = features;
	software.bytes = bytes_of(features);
	if (software.bytes > context->xstate_bytes)
		software.bytes = (uint32_t)context->xstate_bytes;
	software.extended_bytes = software.bytes + (uint32_t)sizeof(magic2);
	memcpy(ret_state, context->xstate, software.bytes);
	memcpy(ret_state + SOFTWARE_OFFSET, &software, sizeof(software));
	memcpy(ret_state + software.bytes, &magic2, sizeof(magic2));
	return software.extended_bytes;
}

static void put_registers(const struct user_regs_struct *regs, ucontext_t *ret_context)
{
	const struct {
		int index;
		unsigned long long value;
	} rows[] = {
		{REG_R8, regs->r8},   {REG_R9, regs->r9},   {REG_R10, regs->r10},
		{REG_R11, regs->r11}, {REG_R12, regs->r12}, {REG_R13, regs->r13},
		{REG_R14, regs->r14}, {REG_R15, regs->r15}, {REG_RDI, regs->rdi},
		{REG_RSI, regs->rsi}, {REG_RBP, regs->rbp}, {REG_RBX, regs->rbx},
		{REG_RDX, regs->rdx}, {REG_RAX, regs->rax}, {REG_RCX, regs->rcx},
		{REG_RSP, regs->rsp}, {REG_RIP, regs->rip}, {REG_EFL, regs->eflags},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ret_context->uc_mcontext.gregs[rows[i].index] = (greg_t)rows[i].value;
	ret_context->uc_mcontext.gregs[REG_CSGSFS] =
		(greg_t)((regs->cs & 0xffff) | (regs->gs & 0xffff) << 16 |
			 (regs->fs & 0xffff) << 32 | (regs->ss & 0xffff) << 48);
}

int gt_return_frame_make(const struct gt_context *context, const struct user_regs_struct *regs,
			 const struct gt_way_back *way, uint64_t top,
			 struct gt_return_frame *ret_frame)
{
	/* the return address that the kernel's frame begins with belongs to the chain */
	const size_t head = 2 * sizeof(uint64_t), kernel_context = 304 + 8;
	ucontext_t uc;
	uint64_t state, sp;
	size_t bytes;

	if (context->xstate_bytes < LEGACY_BYTES ||
	    context->xstate_bytes + 1024 > sizeof(ret_frame->stack))
		return -EMSGSIZE;
	state = (top - context->xstate_bytes - 64) & ~(uint64_t)63;
	sp = ((state - kernel_context - head) & ~(uint64_t)15) - 8; /* as after a call */
	memset(ret_frame, 0, sizeof(*ret_frame));
	bytes = put_xstate(context, ret_frame->stack + (state - sp));
	memset(&uc, 0, sizeof(uc));
	uc.uc_flags = UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS;
	put_registers(regs, &uc);
	uc.uc_mcontext.fpregs = (fpregset_t)(uintptr_t)state;
	memcpy(&uc.uc_sigmask, &context->signals, sizeof(context->signals));
	memcpy(ret_frame->stack, &way->mark, sizeof(way->mark));
	memcpy(ret_frame->stack + 8, &way->restore, sizeof(way->restore));
	memcpy(ret_frame->stack + head, &uc, kernel_context);
	ret_frame->sp = sp;
	ret_frame->bytes = state - sp + bytes;
	return 0;
}
