/* SPDX-License-Identifier: Apache-2.0
 *
 * Attaches to the NVTX code of a library, see the header. Runs while other threads of the program
 * spin in that library's first NVTX call: short, no lock, no dl*. A library may be unloaded with
 * its tables, so no pointer into them is kept.
 */
#include "collectors/nvtx/nvtx.h"

#include "collectors/nvtx/early.h"
#include "collectors/nvtx/internal.h"
#include "collectors/nvtx/self.h"

static const struct nvtx_module {
	NvtxCallbackModule id;
	const struct gt_nvtx_slot *slots;
} modules[] = {
	{NVTX_CB_MODULE_CORE, gt_nvtx_core_slots},
	{NVTX_CB_MODULE_CORE2, gt_nvtx_core2_slots},
	{NVTX_CB_MODULE_CUDA, gt_nvtx_cuda_slots},
	{NVTX_CB_MODULE_CUDART, gt_nvtx_cudart_slots},
};

/* Skips slots that the library does not have; slots unknown to us become no-ops. */
static void fill_module(const NvtxExportTableCallbacks *callbacks, const struct nvtx_module *module)
{
	NvtxFunctionTable table;
	unsigned int size;

	if (!callbacks->GetModuleFunctionTable(module->id, &table, &size) || !table)
		return;
	for (const struct gt_nvtx_slot *slot = module->slots; slot->function; slot++)
		if (slot->id < size && table[slot->id])
			*table[slot->id] = slot->function;
}

int gt_nvtx_prepare(void)
{
	int error = gt_nvtx_registry_start();

	if (!error)
		error = gt_nvtx_early_start();
	return error ? error : gt_nvtx_self_start();
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
	const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);

	if (gt_nvtx_is_stopped() || gt_nvtx_prepare() || !callbacks ||
	    callbacks->struct_size < sizeof(*callbacks) || !callbacks->GetModuleFunctionTable)
		return 1;
	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
		fill_module(callbacks, &modules[i]);
	return 1;
}

int InitializeInjectionNvtx(NvtxGetExportTableFunc_t get_table)
{
	return InitializeInjectionNvtx2(get_table);
}

/* Extensions whose function numbers we know, by compatibility id (REQ-78). */
static const struct extension {
	uint16_t module, first_compat, last_compat;
	const struct gt_nvtx_slot *slots;
} extensions[] = {
	{NVTX_EXT_PAYLOAD_MODULEID, 0x0103, NVTX_EXT_PAYLOAD_COMPATID, gt_nvtx_payload_slots},
	{NVTX_EXT_COUNTERS_MODULEID, 0x0102, NVTX_EXT_COUNTERS_COMPATID, gt_nvtx_counter_slots},
};

static void fill_segment(const nvtxExtModuleSegment_t *segment, const struct gt_nvtx_slot *slots)
{
	for (const struct gt_nvtx_slot *slot = slots; slot->function; slot++)
		if (slot->id < segment->slotCount)
			segment->functionSlots[slot->id] = (intptr_t)slot->function;
}

int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module)
{
	if (gt_nvtx_is_stopped() || gt_nvtx_prepare() || module->structSize < sizeof(*module) ||
	    !module->segmentsCount || !module->segments)
		return 1;
	for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++)
		if (extensions[i].module == module->moduleId &&
		    extensions[i].first_compat <= module->compatId &&
		    module->compatId <= extensions[i].last_compat)
			fill_segment(&module->segments[0], extensions[i].slots);
	return 1;
}
