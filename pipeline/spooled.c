/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeping the spool, see the header.
 */
#include "pipeline/spooled.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "collectors/cupti/buffers.h"
#include "collectors/symbols/elf_image.h"
#include "core/guest/forkgate.h"
#include "core/guest/log.h"
#include "core/guest/text.h"
#include "core/identity.h"
#include "core/spool.h"
#include "core/thread.h"
#include "pipeline/ranges/ranges.h"
#include "pipeline/session.h"

/* Rings and buffers have --max-memory for themselves; a spool rarely needs more than a part of
 * it. */
#define SPOOL_MAX (256u << 20)

static struct gt_spooled *spooled;

struct own {
	uint64_t address; /* of our code */
	uint8_t id[GT_BUILD_ID_MAX];
	uint32_t size;
};

static int find_own(struct dl_phdr_info *info, size_t size, void *context)
{
	struct own *own = context;
	bool found = false;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + phdr->p_vaddr;

		found |= phdr->p_type == PT_LOAD && own->address - start < phdr->p_memsz;
	}
	if (found)
		own->size = gt_elf_image_loaded_build_id(info, own->id);
	return found;
}

void gt_spooled_build_id(char *ret_text, uint32_t size)
{
	static const char digits[] = "0123456789abcdef";
	struct own own = {.address = (uint64_t)(uintptr_t)&gt_spooled_build_id};

	gt_forkgate_enter();
	dl_iterate_phdr(find_own, &own);
	gt_forkgate_leave();
	for (uint32_t i = 0; i < own.size && 2 * i + 2 < size; i++) {
		*ret_text++ = digits[own.id[i] >> 4];
		*ret_text++ = digits[own.id[i] & 15];
	}
	*ret_text = 0;
}

static const char *own_path(void)
{
	Dl_info info;

	return dladdr((void *)&own_path, &info) && info.dli_fname ? info.dli_fname : "";
}

/* What a killed process leaves on tmpfs takes memory until somebody removes it: gputrace run
 * does. */
static const char *find_place(const struct gt_config *config)
{
	const char *where = gt_config_text(config, GT_CONFIG_SPOOL);

	if (strcmp(where, "auto") != 0)
		return where;
	return gt_identity_env("GPUTRACE_RUN") ? "on" : "off";
}

void gt_spooled_start(struct gt_session *s)
{
	char build_id[72], why[512];
	struct gt_spool_options options = {
		.where = find_place(&s->config),
		.runtime = gt_identity_env("XDG_RUNTIME_DIR"),
		.build_id = build_id,
		.library = own_path(),
		.folder = s->output.folder,
		.max_bytes = SPOOL_MAX,
		.started = s->metadata.start / 1000000u,
	};

	spooled = NULL;
	if (!strcmp(gt_config_text(&s->config, GT_CONFIG_FORMAT), "null") ||
	    !strcmp(options.where, "off"))
		return;
	gt_spooled_build_id(build_id, sizeof(build_id));
	if (gt_spool_start(&options, why, sizeof(why))) {
		gt_text_format(s->metadata.spool, sizeof(s->metadata.spool), "none: %s", why);
		return;
	}
	spooled = gt_spool_map(sizeof(*spooled));
	if (!gt_spool_holds(spooled)) {
		gt_spool_remove();
		spooled = NULL;
		return;
	}
	gt_text_format(s->metadata.spool, sizeof(s->metadata.spool), "%s", gt_spool_path());
	gt_spooled_update(s);
	gt_spool_set_root(GT_SPOOL_SESSION, spooled);
}

struct gt_spooled *gt_spooled_get(void)
{
	return spooled;
}

struct gt_translate_notes *gt_spooled_notes(void)
{
	return spooled ? &spooled->notes : NULL;
}

static void count_refused(struct gt_session *s)
{
	s->ledger.count[GT_LEDGER_SPOOL_REFUSED] = gt_spool_refused();
	s->ledger.count[GT_LEDGER_SPOOL_THREADS] = gt_spool_refused_threads();
}

void gt_spooled_update(struct gt_session *s)
{
	if (!spooled)
		return;
	count_refused(s);
	spooled->has_cupti = s->has_cupti;
	spooled->ledger = s->ledger;
	spooled->threads_refused = gt_threads_refused();
	memcpy(spooled->context_device, s->translate.context_device,
	       sizeof(spooled->context_device));
	if (spooled->metadata_generation == s->metadata.generation + 1)
		return;
	spooled->metadata = s->metadata;
	spooled->metadata_generation = s->metadata.generation + 1;
	if (s->metadata.unwinder)
		gt_text_format(spooled->unwinder, sizeof(spooled->unwinder), "%s",
			       s->metadata.unwinder);
}

void gt_spooled_clock(const struct gt_session *s)
{
	if (spooled)
		spooled->clock = s->clock;
}

void gt_spooled_begun(struct gt_session *s)
{
	if (!spooled)
		return;
	gt_spooled_clock(s);
	spooled->metadata_generation = 0;
	gt_spooled_update(s);
}

void gt_spooled_claim(uint64_t files, const struct gt_ledger *claimed)
{
	uint32_t other;

	if (!spooled)
		return;
	other = !atomic_load(&spooled->claim);
	spooled->claims[other].files = files;
	spooled->claims[other].ledger = *claimed;
	atomic_store(&spooled->claim, other);
}
