#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the exported entries of the simulated CUDA libraries from the toolkit's own headers.

usage: gen_entries.py driver|runtime INCLUDE_DIR OUTPUT.c OUTPUT.h
       gen_entries.py names INCLUDE_DIR OUTPUT.c
       gen_entries.py map INCLUDE_DIR driver|runtime NODE OUTPUT.map
       gen_entries.py cupti_map EXPORTS.txt VERSION NODE OUTPUT.map
       gen_entries.py cupti_stubs EXPORTS.txt OUTPUT.c

Every function of the API becomes one entry that announces itself (to CUPTI clients, to the truth
file) and then calls its implementation, sim_NAME or rt_NAME. Implementations are weak references: one
that nobody wrote makes the entry say so and return "not supported". The header holds the prototypes of
all implementations, so a misspelt one is a compile error (-Wmissing-prototypes).
"""
import collections
import pathlib
import re
import sys

META = {
    'driver': ['generated_cuda_meta.h'],
    'runtime': ['generated_cuda_runtime_api_meta.h'],
}
CBID = {'driver': ('cupti_driver_cbid.h', 'CUPTI_DRIVER_TRACE_CBID_'),
        'runtime': ('cupti_runtime_cbid.h', 'CUPTI_RUNTIME_TRACE_CBID_')}

# Functions without parameters have a callback id and no parameter struct.
VOID = {
    'driver': ['cuCtxResetPersistingL2Cache', 'cuCtxSynchronize', 'cuProfilerStart', 'cuProfilerStop'],
    'runtime': ['cudaCtxResetPersistingL2Cache', 'cudaDeviceReset', 'cudaDeviceSynchronize',
                'cudaGetLastError', 'cudaPeekAtLastError', 'cudaProfilerStart', 'cudaProfilerStop'],
}
# Real exports that the headers describe nowhere in C: (parameters, callback id or 0).
LAUNCH13 = [('cudaKernel_t', 'kernel'), ('dim3', 'gridDim'), ('dim3', 'blockDim'), ('void **', 'args'),
            ('size_t', 'sharedMem'), ('cudaStream_t', 'stream')]
CAPTURE12 = [('cudaStream_t', 'stream'), ('enum cudaStreamCaptureStatus *', 'status'),
             ('unsigned long long *', 'id'), ('cudaGraph_t *', 'graph'),
             ('const cudaGraphNode_t **', 'dependencies'), ('size_t *', 'count')]
EXTRA = {
    'runtime': {
        'cudaStreamGetCaptureInfo_v2_v11030': CAPTURE12,
        'cudaStreamGetCaptureInfo_v2_ptsz_v11030': CAPTURE12,
        '__cudaLaunchKernel_v13000': LAUNCH13,
        '__cudaLaunchKernel_ptsz_v13000': LAUNCH13,
        '__cudaGetKernel_v13000': [('cudaKernel_t *', 'kernel'), ('const void *', 'entry')],
    },
    'driver': {},
}
# Runtime calls of later toolkits than the headers' here: callback id, parameters.
CONTEXT13 = ('struct cudaExecutionContext_st *', 'context')
HOST13 = [('cudaStream_t', 'stream'), ('cudaHostFn_t', 'function'), ('void *', 'data'), ('unsigned int', 'mode')]
COPY13 = [('void *', 'dst'), ('const void *', 'src'), ('size_t', 'size'), ('struct cudaMemcpyAttributes *', 'attributes'),
          ('cudaStream_t', 'stream')]
COPY3D13 = [('struct cudaMemcpy3DBatchOp *', 'op'), ('unsigned long long', 'flags'), ('cudaStream_t', 'stream')]
NEWER = {
    'cudaExecutionCtxStreamCreate_v13010': (533, [('cudaStream_t *', 'stream'), CONTEXT13, ('unsigned int', 'flags'),
                                                  ('int', 'priority')]),
    'cudaExecutionCtxSynchronize_v13010': (534, [CONTEXT13]),
    'cudaExecutionCtxRecordEvent_v13010': (543, [CONTEXT13, ('cudaEvent_t', 'event')]),
    'cudaExecutionCtxWaitEvent_v13010': (544, [CONTEXT13, ('cudaEvent_t', 'event')]),
    'cudaDeviceGetExecutionCtx_v13010': (548, [('struct cudaExecutionContext_st **', 'context'), ('int', 'device')]),
    'cudaLaunchHostFunc_v2_v13020': (550, HOST13),
    'cudaLaunchHostFunc_v2_ptsz_v13020': (551, HOST13),
    'cudaMemcpyWithAttributesAsync_v13020': (554, COPY13),
    'cudaMemcpyWithAttributesAsync_ptsz_v13020': (555, COPY13),
    'cudaMemcpy3DWithAttributesAsync_v13020': (556, COPY3D13),
    'cudaMemcpy3DWithAttributesAsync_ptsz_v13020': (557, COPY3D13),
}
EXTRA['runtime'].update((name, params) for name, (_, params) in NEWER.items())
# What no Linux library of the driver has, or only old runtimes had, is not exported.
NOT_EXPORTED = {
    'driver': re.compile(r'cu(GL|VDPAU|Graphics(GL|VDPAU)|WGL)'),
    'runtime': re.compile(
        r'cuda(BindSurface|BindTexture|UnbindTexture|ConfigureCall$|SetupArgument|Launch$|Launch_ptsz|'
        r'LaunchCooperativeKernelMulti|CreateTextureObject_v2|GetTextureObjectTextureDesc_v2|'
        r'GetTexture(Alignment|Reference)|GetSurfaceReference|ProfilerInitialize|SetDoubleFor|'
        r'StreamSetFlags|Thread(Get|Set)(CacheConfig|Limit))'),
}
RUNTIME_PLAIN = '''__cudaGetProcAddress __cudaInitModule __cudaPopCallConfiguration
__cudaPushCallConfiguration __cudaRegisterFatBinary __cudaRegisterFatBinaryEnd __cudaRegisterFunction
__cudaRegisterHostVar __cudaRegisterManagedVar __cudaRegisterUnifiedTable __cudaRegisterVar
__cudaUnregisterFatBinary cudaCreateChannelDesc cudaGetErrorName cudaGetErrorString
cudaGetExportTable'''.split()
# Only libcudart.so.12 has them; a name that shares its callback id with another one has that one's here.
ONLY_12 = {'cudaStreamGetCaptureInfo_v2': None, 'cudaStreamGetCaptureInfo_v2_ptsz': None,
           'cudaGetDeviceProperties_v2': 'cudaGetDeviceProperties'}
# Interop with graphics APIs: its types need foreign headers, so the entries take no parameters.
INTEROP = re.compile(r'cuda(GL|VDPAU|Graphics(GL|VDPAU|EGL)|EGL|EventCreateFromEGL|GraphicsResourceGetMappedEgl)')
# Written by hand: no client is notified of these calls.
DRIVER_PLAIN = ['cuGetExportTable', 'cuProfilerInitialize']

# The header gives this name to another function since then.
RENAMED = ('cuGraphInstantiate', 12000, False, 'cuGraphInstantiateWithFlags')

# Calls that work before there is a driver, and calls that need no context.
NO_INIT = re.compile(r'cuda(GetLastError|PeekAtLastError|RuntimeGetVersion)')
NO_CONTEXT = re.compile(
    r'cuda(GetDevice|SetDevice|InitDevice|DriverGetVersion|DeviceGetAttribute|ChooseDevice|'
    r'DeviceGetByPCI|DeviceGetPCI|DeviceCanAccessPeer|DeviceReset|SetValidDevices|DeviceGetP2P)')
# Launches name the kernel in their callback data.
SYMBOL = re.compile(r'(cuLaunch(Cooperative)?Kernel(Ex)?|cuLaunch(Grid(Async)?)?|cudaLaunch(Cooperative)?Kernel(ExC)?|'
                    r'__cudaLaunchKernel)(_ptsz)?$')


def base_name(name):
    return re.sub(r'_v\d{4,5}$', '', name)


def field(text):
    """One member of a parameter struct: its type and name as a function parameter has them."""
    match = re.match(r'(.*?)(\w+)\s*((\[\w*\])*)$', text.strip(), re.S)
    kind, name, array = match.group(1).strip(), match.group(2), match.group(3)
    assert not array, text
    return kind, name


def read_structs(include, api):
    found = {}
    for header in META[api]:
        text = (include / header).read_text()
        for match in re.finditer(r'typedef struct (\w+)_params_st \{(.*?)\}', text, re.S):
            members = [m for m in match.group(2).split(';') if m.strip()]
            found[match.group(1)] = [field(m) for m in members]
    return found


def read_cbids(include, api):
    header, prefix = CBID[api]
    found = {m.group(1): int(m.group(2))
             for m in re.finditer(prefix + r'(\w+)\s*=\s*(\d+)', (include / header).read_text())
             if m.group(1) not in ('INVALID', 'SIZE', 'FORCE_INT')}
    return found | {name: cbid for name, (cbid, _) in NEWER.items() if api == 'runtime'}


def skipped(api, name):
    plain = RUNTIME_PLAIN if api == 'runtime' else DRIVER_PLAIN
    return (NOT_EXPORTED[api].match(name) or name in plain or
            (api == 'runtime' and INTEROP.match(name)))


def interop(include):
    return sorted({base_name(n) for n in read_cbids(include, 'runtime') if INTEROP.match(n)})


def functions(include, api):
    """(exported name, versioned name, cbid, parameters or None for stubs), newest version of each."""
    structs, cbids = read_structs(include, api), read_cbids(include, api)
    structs.update(EXTRA[api])
    newest = {}
    for versioned, cbid in sorted(cbids.items(), key=lambda item: item[1]):
        name = base_name(versioned) if api == 'runtime' else versioned
        if name in VOID[api]:
            newest[name] = (versioned, cbid, [])
        elif versioned in structs and not skipped(api, name):
            newest[name] = (versioned, cbid, structs[versioned])
    if api == 'runtime':
        newest.update({name: newest[like] for name, like in ONLY_12.items() if like})
    return [(name, *newest[name]) for name in sorted(newest)]


def prototypes_in(include, api):
    header = {'driver': ['cuda.h', 'cudaProfiler.h'], 'runtime': ['cuda_runtime_api.h', 'cuda_profiler_api.h']}[api]
    return ''.join((include / h).read_text() for h in header)


def declare(kind, name):
    return kind + name if kind.endswith('*') else kind + ' ' + name


def split_suffix(name):
    match = re.match(r'(.*)_(ptsz|ptds)$', name)
    return (match.group(1), True) if match else (name, False)


def entry(api, name, versioned, cbid, params, has_struct):
    prefix = 'sim_' if api == 'driver' else 'rt_'
    result = 'CUresult' if api == 'driver' else 'cudaError_t'
    call_as = 'CUDAAPI' if api == 'driver' else 'CUDARTAPI'
    macro = 'DRIVER' if api == 'driver' else 'RUNTIME'
    plain, per_thread = split_suffix(name)
    symbol = 'SIM_NO_SYMBOL'
    if SYMBOL.match(name):
        first = params[0][1] if 'Ex' not in plain else params[1][1]
        symbol = f'{prefix}symbol_of((const void *){first})'
    need = ''
    if api == 'runtime':
        need = ('RT_NOTHING' if NO_INIT.match(name) else
                'RT_DRIVER' if NO_CONTEXT.match(name) else 'RT_CONTEXT') + ', '
    formal = ', '.join(declare(kind, var) for kind, var in params) or 'void'
    actual = ', '.join(var for _, var in params)
    body = [f'{result} {call_as} {name}({formal})', '{']
    if params and has_struct:
        body.append(f'\t{versioned}_params params = {{{actual}}};')
        pointer = '&params'
    else:
        pointer = 'NULL'
    body.append(f'\tSIM_{macro}_ENTRY({need}{cbid}, "{name}", {pointer}, {symbol}, {int(per_thread)}, '
                f'{prefix}{plain}, ({actual}));')
    body += ['}', '']
    return '\n'.join(body)


def write_api(api, include, source, header):
    listed = functions(include, api)
    structs = read_structs(include, api)
    declared = set(re.findall(r'\b(\w+)\s*\(', prototypes_in(include, api)))
    prefix = 'sim_' if api == 'driver' else 'rt_'
    result = 'CUresult' if api == 'driver' else 'cudaError_t'
    guard = f'SIMCUDA_{api.upper()}_IMPL_H'
    head = ['/* Generated by gen_entries.py: the prototypes of all implementations. */',
            f'#ifndef {guard}', f'#define {guard}']
    body = ['/* Generated by gen_entries.py: every exported entry. */',
            f'#include "{api}/entry.h"', '']
    if api == 'driver':
        body += ['#include <cudaProfilerTypedefs.h>', '#include <cudaTypedefs.h>', '']
    if api == 'runtime':
        for versioned, params in EXTRA[api].items():
            members = ' '.join(declare(k, v) + ';' for k, v in params)
            body.append(f'typedef struct {{ {members} }} {versioned}_params;')
        body.append('')
    seen = set()
    for name, versioned, cbid, params in listed:
        plain, _ = split_suffix(name)
        formal = ', '.join(declare(kind, var) for kind, var in params) or 'void'
        if plain not in seen:
            seen.add(plain)
            head.append(f'__attribute__((weak, visibility("hidden"))) {result} {prefix}{plain}({formal});')
        if name not in declared:
            call_as = 'CUDAAPI' if api == 'driver' else 'CUDARTAPI'
            body.append(f'{result} {call_as} {name}({formal});')
        body.append(entry(api, name, versioned, cbid, params,
                          versioned in structs or versioned in EXTRA[api]))
    for name in interop(include) if api == 'runtime' else []:
        body.append(f'cudaError_t {name}(void);\ncudaError_t {name}(void)\n{{\n'
                    f'\treturn rt_missing("{name}");\n}}\n')
    if api == 'driver':
        body += [signature_check(*row) for row in versions(include) if row[1] and row != RENAMED]
        rows = [f'\t{{"{name}", {since}, {int(per_thread)}, (void *){export}}},'
                for name, since, per_thread, export in versions(include)]
        body += ['const struct sim_version sim_versions[] = {', *rows, '};',
                 'const size_t sim_version_count = sizeof(sim_versions) / sizeof(*sim_versions);', '']
    head.append('#endif')
    source.write_text('\n'.join(body))
    header.write_text('\n'.join(head) + '\n')


def versions(include):
    """(name, since, per thread, export) of what cuGetProcAddress knows, the better ones later.

    The typedefs name a function's versions by the CUDA that brought them, the exports by number, in
    the same order. An export without a typedef has been there forever.
    """
    text = ''.join((include / h).read_text() for h in ('cudaTypedefs.h', 'cudaProfilerTypedefs.h'))
    since = collections.defaultdict(set)
    for name, version, suffix in re.findall(r'\*PFN_(\w+?)_v(\d+)(_ptsz|_ptds)?\)', text):
        since[name, bool(suffix)].add(int(version))
    exports = collections.defaultdict(list)
    for export in driver_exports(functions(include, 'driver')):
        plain, per_thread = split_suffix(export)
        name, number = re.fullmatch(r'(\w+?)(?:_v(\d))?', plain).groups()
        exports[name, per_thread].append((int(number or 1), export))
    rows = [RENAMED]
    for (name, per_thread), found in exports.items():
        known = sorted(since[name, per_thread])
        known = [0] * (len(found) - len(known)) + known
        rows += [(name, version, per_thread, export)
                 for version, (_, export) in zip(known, sorted(found))]
    return sorted(rows, key=lambda row: (row[0], row[2], row[1]))


def signature_check(name, since, per_thread, export):
    """That the export found for a typedef has its parameters."""
    typedef = f'PFN_{name}_v{since}' + (export[-5:] if per_thread else '')
    return (f'_Static_assert(__builtin_types_compatible_p(__typeof__(&{export}), {typedef}), '
            f'"{export}");')


def driver_exports(listed):
    return sorted([f[0] for f in listed] + DRIVER_PLAIN)


def write_map(include, what, node, output):
    if what == 'driver':
        names = driver_exports(functions(include, 'driver'))
    else:
        names = sorted([f[0] for f in functions(include, 'runtime')] + RUNTIME_PLAIN + interop(include))
        if node != 'libcudart.so.12':
            names = [name for name in names if name not in ONLY_12]
    write_version_script(names, node, output)


def write_version_script(names, node, output):
    tag = node + ' ' if node != '-' else ''
    output.write_text(f'{tag}{{\nglobal:\n' + ''.join(f'\t{n};\n' for n in names) + 'local:\n\t*;\n};\n')


def write_names(include, output):
    out = ['/* Generated by gen_entries.py: callback names as cuptiGetCallbackName gives them. */',
           '#include "cupti/cupti_sim.h"', '']
    for api in ('driver', 'runtime'):
        cbids = read_cbids(include, api)
        out.append(f'const char *const sim_{api}_names[SIM_MAX_CBID] = {{')
        out += [f'\t[{cbid}] = "{name}",' for name, cbid in cbids.items()]
        out += ['};', '']
    output.write_text('\n'.join(out))


def cupti_exports(path):
    lines = [line.split() for line in pathlib.Path(path).read_text().splitlines() if line[0] != '#']
    return [(name, int(since)) for name, since in lines]


def write_cupti_map(exports, version, node, output):
    names = [name for name, since in cupti_exports(exports) if since <= version]
    write_version_script(names, node, output)


def write_cupti_stubs(exports, output):
    """A weak entry for every export; those that are simulated have a strong one elsewhere."""
    out = ['/* Generated by gen_entries.py: exports that nothing here simulates. */',
           '#include "cupti/stub.h"', '']
    out += [f'CUPTI_STUB({name})' for name, _ in cupti_exports(exports)]
    output.write_text('\n'.join(out) + '\n')


def main(args):
    if args[0] == 'cupti_map':
        return write_cupti_map(args[1], int(args[2]), args[3], pathlib.Path(args[4]))
    if args[0] == 'cupti_stubs':
        return write_cupti_stubs(args[1], pathlib.Path(args[2]))
    what, include = args[0], pathlib.Path(args[1])
    if what in ('driver', 'runtime'):
        write_api(what, include, pathlib.Path(args[2]), pathlib.Path(args[3]))
    elif what == 'names':
        write_names(include, pathlib.Path(args[2]))
    elif what == 'map':
        write_map(include, args[2], args[3], pathlib.Path(args[4]))
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main(sys.argv[1:])
