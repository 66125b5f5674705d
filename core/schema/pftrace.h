/* SPDX-License-Identifier: Apache-2.0
 *
 * What the writer and the reader of .pftrace files share: field numbers of the Perfetto messages in
 * use (schema: protos/perfetto/trace of google/perfetto), the two packet sequences, and the names
 * of gputrace's own arguments (core/schema/pftrace_args.def, docs/FORMAT.md).
 */
#ifndef GT_CORE_SCHEMA_PFTRACE_H
#define GT_CORE_SCHEMA_PFTRACE_H

/* Trace */
#define GT_PF_PACKET                1u

/* TracePacket */
#define GT_PF_CLOCK_SNAPSHOT        6u
#define GT_PF_TIMESTAMP             8u
#define GT_PF_SEQUENCE              10u
#define GT_PF_TRACK_EVENT           11u
#define GT_PF_INTERNED              12u
#define GT_PF_SEQUENCE_FLAGS        13u
#define GT_PF_RENDER_STAGE          53u
#define GT_PF_DEFAULTS              59u
#define GT_PF_PERF_SAMPLE           66u
#define GT_PF_TRACK                 60u
#define GT_PF_GPU_INFO              128u

#define GT_PF_STATE_CLEARED         1u /* SEQ_INCREMENTAL_STATE_CLEARED */

/* ClockSnapshot, its Clock, TracePacketDefaults, TrackEventDefaults */
#define GT_PF_CLOCKS                1u
#define GT_PF_PRIMARY_CLOCK         2u
#define GT_PF_CLOCK_ID              1u
#define GT_PF_CLOCK_TIME            2u
#define GT_PF_CLOCK_INCREMENTAL     3u
#define GT_PF_DEFAULT_CLOCK         58u
#define GT_PF_DEFAULT_EVENT         11u
#define GT_PF_DEFAULT_TRACK         11u

#define GT_PF_CLOCK_REALTIME        1u
#define GT_PF_CLOCK_BOOTTIME        6u  /* what trace_processor relates all clocks to */
#define GT_PF_CLOCK_DELTA           64u /* ours: ns since the previous packet of the sequence */

/* TrackEvent */
#define GT_PF_EVENT_CATEGORY        3u
#define GT_PF_EVENT_ANNOTATION      4u
#define GT_PF_EVENT_TYPE            9u
#define GT_PF_EVENT_NAME_IID        10u
#define GT_PF_EVENT_TRACK           11u
#define GT_PF_EVENT_CATEGORY_TEXT   22u
#define GT_PF_EVENT_NAME            23u
#define GT_PF_EVENT_INTEGER         30u
#define GT_PF_EVENT_REAL            44u
#define GT_PF_EVENT_CORRELATION     52u
#define GT_PF_EVENT_CALLSTACK       56u
#define GT_PF_EVENT_GPU             3000u
#define GT_PF_GPU_SUBMISSION        1u /* GpuCorrelation.render_stage_submission_event_ids */

#define GT_PF_TYPE_BEGIN            1u
#define GT_PF_TYPE_END              2u
#define GT_PF_TYPE_INSTANT          3u
#define GT_PF_TYPE_COUNTER          4u

/* PerfSample; a waiting thread is in kernel mode */
#define GT_PF_SAMPLE_PID            2u
#define GT_PF_SAMPLE_TID            3u
#define GT_PF_SAMPLE_CALLSTACK      4u
#define GT_PF_SAMPLE_MODE           5u
#define GT_PF_MODE_KERNEL           1u
#define GT_PF_MODE_USER             2u

/* DebugAnnotation */
#define GT_PF_ANNOTATION_NAME_IID   1u
#define GT_PF_ANNOTATION_UINT       3u
#define GT_PF_ANNOTATION_INT        4u
#define GT_PF_ANNOTATION_STRING     6u
#define GT_PF_ANNOTATION_NAME       10u
#define GT_PF_ANNOTATION_DICT       11u
#define GT_PF_ANNOTATION_STRING_IID 17u

/* TrackDescriptor and the descriptors inside it */
#define GT_PF_TRACK_UUID            1u
#define GT_PF_TRACK_NAME            2u
#define GT_PF_TRACK_PROCESS         3u
#define GT_PF_TRACK_THREAD          4u
#define GT_PF_TRACK_PARENT          5u
#define GT_PF_TRACK_COUNTER         8u
#define GT_PF_TRACK_DESCRIPTION     14u
#define GT_PF_PROCESS_PID           1u
#define GT_PF_PROCESS_SORT_INDEX    3u
#define GT_PF_PROCESS_NAME          6u
#define GT_PF_PROCESS_LABELS        8u
#define GT_PF_THREAD_PID            1u
#define GT_PF_THREAD_TID            2u
#define GT_PF_THREAD_NAME           5u

/* InternedData: each entry has iid = 1; text = 2 unless it says otherwise */
#define GT_PF_EVENT_CATEGORIES      1u
#define GT_PF_EVENT_NAMES           2u
#define GT_PF_ANNOTATION_NAMES      3u
#define GT_PF_FUNCTIONS             5u
#define GT_PF_FRAMES                6u
#define GT_PF_CALLSTACKS            7u
#define GT_PF_BUILD_IDS             16u
#define GT_PF_MAPPING_PATHS         17u
#define GT_PF_SOURCES               18u
#define GT_PF_MAPPINGS              19u
#define GT_PF_CONTEXTS              23u
#define GT_PF_SPECIFICATIONS        24u
#define GT_PF_STRINGS               29u
#define GT_PF_KERNELS               1000u
#define GT_PF_ARG_NAMES             1001u

#define GT_PF_IID                   1u
#define GT_PF_TEXT                  2u

#define GT_PF_FRAME_FUNCTION        2u
#define GT_PF_FRAME_MAPPING         3u
#define GT_PF_FRAME_PC              4u
#define GT_PF_FRAME_SOURCE          5u
#define GT_PF_FRAME_LINE            6u
#define GT_PF_FRAME_KIND            7u
#define GT_PF_KIND_NATIVE           1u
#define GT_PF_KIND_INTERPRETED      3u
#define GT_PF_KIND_JIT              4u
#define GT_PF_CALLSTACK_FRAME       2u
#define GT_PF_MAPPING_BUILD_ID      2u
#define GT_PF_MAPPING_PATH          7u
#define GT_PF_CONTEXT_PID           2u
#define GT_PF_CONTEXT_API           3u
#define GT_PF_API_CUDA              4u
#define GT_PF_SPEC_CATEGORY         4u
#define GT_PF_CATEGORY_OTHER        0u
#define GT_PF_CATEGORY_COMPUTE      2u
#define GT_PF_KERNEL_ARCH           4u
#define GT_PF_KERNEL_ARG            5u

/* GpuRenderStageEvent, ExtraComputeArg, ComputeKernelLaunch */
#define GT_PF_STAGE_EVENT_ID        1u
#define GT_PF_STAGE_DURATION        2u
#define GT_PF_STAGE_CONTEXT         5u
#define GT_PF_STAGE_SUBMISSION      10u
#define GT_PF_STAGE_GPU             11u
#define GT_PF_STAGE_QUEUE           13u
#define GT_PF_STAGE_STAGE           14u
#define GT_PF_STAGE_KERNEL          19u
#define GT_PF_STAGE_LAUNCH          21u
#define GT_PF_LAUNCH_ARG            3u
#define GT_PF_ARG_NAME_IID          1u
#define GT_PF_ARG_INT               3u
#define GT_PF_ARG_UINT              4u
#define GT_PF_ARG_DOUBLE            5u
#define GT_PF_ARG_STRING            6u
#define GT_PF_ARG_STRING_IID        7u

/* GpuInfo.Gpu */
#define GT_PF_GPUS                  1u
#define GT_PF_GPU_NAME              1u
#define GT_PF_GPU_VENDOR            2u
#define GT_PF_GPU_ARCHITECTURE      4u

/* Iids of names of extra arguments begin here, above those of all arguments. */
#define GT_PF_EXTRA_IID             65u

/* Iids of texts from here on are the lines of call stacks, "launched_by": this plus the stack's. */
#define GT_PF_LINE_IID              (1ull << 32)

/* Packet sequences: each has its own clock and its own interned data. */
#define GT_PF_SEQUENCE_HOST         1u
#define GT_PF_SEQUENCE_GPU          2u
/* Of a file that holds several processes, each has two sequences, and its tracks and calls have the
 * number of the process in the bits above their own. */
#define GT_PF_SEQUENCES             2u
#define GT_PF_PART_OF_TRACK         24u /* bits */
#define GT_PF_PART_OF_CALL          32u

/* The track of the process; threads and others follow. */
#define GT_PF_TRACK_OF_PROCESS      1u

/* Categories: iids of the host sequence. */
enum gt_pf_category {
	GT_PF_CATEGORY_RUNTIME = 1,
	GT_PF_CATEGORY_DRIVER,
	GT_PF_CATEGORY_ANNOTATION,
	GT_PF_CATEGORY_OVERHEAD,
	GT_PF_CATEGORY_GPUTRACE,
	GT_PF_CATEGORY_STACK,
	GT_PF_CATEGORY_OPERATOR,
	GT_PF_CATEGORY_TENSOR,
	GT_PF_CATEGORY_LIBRARY,
	GT_PF_CATEGORY_OS,
	GT_PF_CATEGORY_UNIFIED,
	GT_PF_CATEGORY_END_
};

/* Names of debug annotations: iid = enumerator + 1. */
enum gt_pf_annotation {
#define GT_PF_ANNOTATION(id, name) GT_PF_ANNOTATION_##id,
#include "core/schema/pftrace_args.def"
	GT_PF_ANNOTATION_COUNT_
};

/* Arguments of GPU work: iid = enumerator + 1. */
enum gt_pf_arg {
#define GT_PF_ARG(id, name, type, where) GT_PF_ARG_##id,
#include "core/schema/pftrace_args.def"
	GT_PF_ARG_COUNT_
};

/* Arguments that follow from others: iid = GT_PF_EXTRA_IID + enumerator. */
enum gt_pf_extra {
#define GT_PF_EXTRA(id, name) GT_PF_EXTRA_##id,
#include "core/schema/pftrace_args.def"
	GT_PF_EXTRA_COUNT_
};

/* Type of an argument, and how it is written. */
enum gt_pf_type {
	GT_PF_TYPE_UINT,
	GT_PF_TYPE_INT,
	GT_PF_TYPE_MICRO,  /* millionths, written as a double */
	GT_PF_TYPE_STRING, /* id of an interned string */
	GT_PF_TYPE_TEXT    /* text on the slice itself */
};

/* SHARED: in the interned kernel, once for all slices that are alike. OWN: in each slice. */
enum gt_pf_where { GT_PF_SHARED, GT_PF_OWN };

/* Names of the instants that hold the metadata and, in the last packet of a closed file, the
 * ledger. */
#define GT_PF_HEADER_NAME "gputrace header"
#define GT_PF_LEDGER_NAME "Record Window End"

#endif
