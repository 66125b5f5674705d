#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs checks/program on the simulated device with checks/client injected and compares what the
client was told with the truth file.

usage: check_simcuda.py SIMCUDA_SCRIPT BUILD_DIR PROGRAM STATIC_PROGRAM CLIENT.so [unittest arguments]
"""
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

SCRIPT, BUILD, PROGRAM, STATIC_PROGRAM, CLIENT = sys.argv[1:6]
PERSONALITIES = ['18', '22', '26', '130000']
# Bytes of a record of each kind, per personality.
SIZES = {
    1: {'18': 88, '22': 88, '26': 96, '130000': 96},       # MEMCPY
    2: dict.fromkeys(PERSONALITIES, 88),                    # MEMSET
    5: dict.fromkeys(PERSONALITIES, 40),                    # RUNTIME
    8: {'18': 176, '22': 184, '26': 184, '130000': 184},    # DEVICE
    9: {'18': 16, '22': 24, '26': 32, '130000': 32},        # CONTEXT
    10: {'18': 200, '22': 208, '26': 208, '130000': 216},   # CONCURRENT_KERNEL
    17: {'18': 40, '22': 56, '26': 56, '130000': 56},       # OVERHEAD
    37: dict.fromkeys(PERSONALITIES, 24),                   # STREAM
    38: {'18': 40, '22': 40, '26': 56, '130000': 56},       # SYNCHRONIZATION
    49: {'18': 120, '22': 120, '26': 128, '130000': 128},   # MEMORY2
    51: {'18': 48, '22': 56, '26': 56, '130000': 56},       # GRAPH_TRACE
}
ALL = '1,2,4,5,8,9,10,17,37,38,49'

Run = collections.namedtuple('Run', 'status output lines truth')


def parse(line):
    word, *fields = line.split()
    return word, dict(field.split('=', 1) for field in fields)


def run(*options, kinds='1,2,10', program=PROGRAM, arguments=(), env=None, inject=CLIENT):
    with tempfile.TemporaryDirectory() as folder:
        told, truth = pathlib.Path(folder, 'told'), pathlib.Path(folder, 'truth')
        environment = dict(os.environ, CHECK_OUT=str(told), CHECK_KINDS=kinds, **(env or {}))
        environment.pop('LD_PRELOAD', None)
        if inject:
            environment['CUDA_INJECTION64_PATH'] = inject
        done = subprocess.run([SCRIPT, f'--build={BUILD}', f'--truth={truth}', *options, program,
                               *arguments], env=environment, capture_output=True, text=True,
                              timeout=300)
        lines = [parse(line) for line in told.read_text().splitlines()] if told.exists() else []
        facts = [json.loads(line) for line in truth.read_text().splitlines()]
    return Run(done.returncode, done.stdout + done.stderr, lines, facts)


def of(result, word):
    return [fields for name, fields in result.lines if name == word]


def ops(result, kind):
    return [fact for fact in result.truth if fact['truth'] == 'op' and fact['kind'] == kind]


def faults(result, name):
    return [fact for fact in result.truth if fact['truth'] == 'fault' and fact['fault'] == name]


class Records(unittest.TestCase):
    def test_every_personality_tells_the_truth(self):
        for personality in PERSONALITIES:
            with self.subTest(personality=personality):
                result = run(f'--cupti={personality}', kinds=ALL)
                self.assertEqual((result.status, result.output), (0, 'kernels=9 copies=2 sets=1\n'))
                number = {'130000': '130001'}.get(personality, personality)  # what the headers of 13.0.0 say
                self.assertEqual(of(result, 'version')[0]['number'], number)
                self.compare_kernels(result)
                self.compare_calls(result)

    def compare_kernels(self, result):
        told = sorted((int(k['correlation']), k['name'], k['start'], k['end'], k['stream'], k['grid'],
                       k['node']) for k in of(result, 'kernel'))
        true = sorted((k['correlation'], k['name'], str(k['start']), str(k['end']), str(k['stream']),
                       ','.join(map(str, k['grid'])), str(k['node'])) for k in ops(result, 'kernel'))
        self.assertEqual(len(true), 9)
        self.assertEqual(told, true)
        self.assertEqual(sorted((m['correlation'], m['bytes']) for m in of(result, 'memcpy')),
                         sorted((str(m['correlation']), str(m['bytes'])) for m in ops(result, 'memcpy')))
        self.assertEqual([(m['bytes'], m['value']) for m in of(result, 'memset')], [('512', '9')])

    def compare_calls(self, result):
        told = collections.Counter((c['correlation'], c['start'], c['end']) for c in of(result, 'api'))
        true = collections.Counter((str(c['correlation']), str(c['start']), str(c['end']))
                                   for c in result.truth if c['truth'] == 'call'
                                   and c['name'] != 'cuDriverGetVersion')  # before it subscribed
        self.assertEqual(told, true)

    def test_record_sizes(self):
        for personality in PERSONALITIES:
            for kinds in (ALL, '51'):
                result = run(f'--cupti={personality}', kinds=kinds)
                seen = {(int(s['kind']), int(s['bytes'])) for s in of(result, 'size')}
                expected = {(int(kind), SIZES[int(kind)][personality])
                            for kind in kinds.split(',') if kind != '4'}
                self.assertEqual(seen - {(4, 40)}, expected, personality)

    def test_missing_functions(self):
        expected = {'18': '000', '22': '001', '26': '011', '130000': '111'}
        for personality, bits in expected.items():
            has = of(run(f'--cupti={personality}'), 'has')[0]
            self.assertEqual(has['subscribe_v2'] + has['runtime_api'] + has['exec_id'], bits)

    def test_graph_trace_replaces_nodes(self):
        for personality in (*PERSONALITIES, '130200', '130300', '130401'):
            with self.subTest(personality):
                result = run(f'--cupti={personality}', kinds='10,51')
                self.assertEqual({k['node'] for k in of(result, 'kernel')}, {'0'})
                self.assertEqual(len(of(result, 'kernel')), 5)
                self.assertEqual(len([r for r in of(result, 'record') if r['kind'] == '51']), 2)

    def test_graph_trace_is_for_good(self):
        result = run(kinds='10,51,-51')
        self.assertEqual(len(of(result, 'kernel')), 5)
        self.assertEqual([r for r in of(result, 'record') if r['kind'] == '51'], [])

    def test_replayed_nodes_are_clones(self):
        result = run()
        cloned = {c['node']: c['original'] for c in of(result, 'cloned')}
        created = {c['node'] for c in of(result, 'created')}
        replayed = {k['node'] for k in of(result, 'kernel') if k['node'] != '0'}
        self.assertEqual(len(cloned), 2)
        self.assertEqual(replayed, set(cloned))
        self.assertEqual(created, set(cloned.values()) | set(cloned))  # a clone is announced as both, created first
        self.assertEqual({int(node) >> 32 for node in cloned}, {2})
        self.assertEqual(sorted(int(node) & 0xffffffff for node in cloned), [0, 1])

    def test_pool_crash(self):
        for limit, status in (('0', -11), ('1', 0)):
            result = run('--fault=pool_crash', env={'CHECK_POOL_LIMIT': limit})
            self.assertEqual(result.status, status, result.output)
            self.assertEqual(len(faults(result, 'pool_crash')), int(status != 0))

    def test_launch_comes_first(self):
        result = run(kinds='4,5,10')
        starts = {a['correlation']: int(a['start']) for a in of(result, 'api')}
        for kernel in of(result, 'kernel'):
            self.assertLess(starts[kernel['correlation']], int(kernel['start']))

    def test_static_runtime_is_traced_the_same(self):
        result = run(program=STATIC_PROGRAM, kinds=ALL)
        self.assertEqual(result.status, 0, result.output)
        self.compare_kernels(result)

    def test_threads_with_their_own_streams(self):
        for personality in ('26', '130000'):
            result = run(f'--cupti={personality}', kinds='5,10', arguments=['200', '8'])
            self.assertEqual(result.status, 0, result.output)
            told = {(int(k['correlation']), int(k['start']), int(k['node']))
                    for k in of(result, 'kernel')}
            true = {(k['correlation'], k['start'], k['node']) for k in ops(result, 'kernel')}
            self.assertEqual(of(result, 'dropped')[0]['count'], '0')
            self.assertEqual((len(told), told), (1804, true))
            streams = collections.Counter(k['stream'] for k in ops(result, 'kernel'))
            self.assertEqual(sorted(streams.values())[-8:], [200] * 8)
            threads = {a['tid'] for a in of(result, 'api')}
            self.assertEqual(len(threads), 9)
        # The last personality has a buffer for each thread.
        self.assertGreaterEqual(len({r['thread'] for r in of(result, 'request')}), 9)

    def test_small_buffers_lose_nothing(self):
        result = run(kinds='10', arguments=['3000'], env={'CHECK_MAX_RECORDS': '7'})
        self.assertEqual(len(of(result, 'kernel')), 3004)
        self.assertEqual(of(result, 'dropped')[0]['count'], '0')


class Callbacks(unittest.TestCase):
    def test_only_what_is_subscribed(self):
        result = run(kinds='')
        names = {c['name'] for c in of(result, 'callback')}
        self.assertEqual(names, {'cudaLaunchKernel', 'cuLaunchKernel'})
        self.assertEqual(len(of(result, 'callback')), 7 * 2 * 2)
        self.assertEqual({c['symbol'] for c in of(result, 'callback')}, {'_Z5scalePf'})
        self.assertEqual({c['data'] for c in of(result, 'callback')}, {'1234'})

    def test_initialised_has_no_data(self):
        self.assertEqual([line['data'] for line in of(run(kinds=''), 'initialised')], ['0'])

    def test_runtime_and_driver_call_share_an_id(self):
        ids = collections.Counter(c['correlation'] for c in of(run(kinds=''), 'callback'))
        self.assertEqual(set(ids.values()), {4})

    def test_second_subscriber_learns_who_was_first(self):
        result = run()
        self.assertEqual(of(result, 'second')[0]['result'], '39')
        self.assertEqual(of(result, 'owner')[0]['name'], 'CUPTI')

    def test_no_cupti(self):
        result = run('--cupti=none')
        self.assertEqual((result.status, of(result, 'version')), (0, []))
        self.assertEqual(len(ops(result, 'kernel')), 9)


class Device(unittest.TestCase):
    def test_streams_keep_order_and_overlap(self):
        result = run('--kernel-ns=3000000', inject=None)
        by_stream = collections.defaultdict(list)
        for kernel in ops(result, 'kernel'):
            by_stream[kernel['stream']].append(kernel)
        self.assertEqual(len(by_stream), 2)
        for kernels in by_stream.values():
            for before, after in zip(kernels, kernels[1:]):
                self.assertGreaterEqual(after['start'], before['end'])
        self.assertEqual({k['end'] - k['start'] for k in ops(result, 'kernel')}, {3000000})

    def test_virtual_time_does_not_wait(self):
        result = run('--virtual', '--kernel-ns=3600000000000')
        self.assertEqual(result.status, 0)
        self.assertEqual(len(of(result, 'kernel')), 9)

    def test_script_decides_duration_and_registers(self):
        with tempfile.NamedTemporaryFile('w') as script:
            script.write('# comment\nscale* ns=12345 registers=77\n')
            script.flush()
            result = run(f'--script={script.name}')
        self.assertEqual({int(k['end']) - int(k['start']) for k in of(result, 'kernel')}, {12345})
        self.assertEqual({k['registers'] for k in of(result, 'kernel')}, {'77'})
        self.assertNotIn('SIMCUDA_SCRIPT', result.output)

    def test_a_rule_that_no_kernel_took_is_named(self):
        with tempfile.NamedTemporaryFile('w') as script:
            script.write('scail* ns=12345\nscale* ns=1\nscale* ns=2\n')
            script.flush()
            result = run(f'--script={script.name}')
        self.assertEqual(result.status, 0)
        self.assertEqual([line for line in result.output.splitlines() if line.startswith('simcuda')],
                         ["simcuda: SIMCUDA_SCRIPT: 'scail*' is the first match of no kernel",
                          "simcuda: SIMCUDA_SCRIPT: 'scale*' is the first match of no kernel"])

    def test_models_and_counts(self):
        result = run('--devices=3', '--device=a100', kinds='8')
        self.assertEqual([d['multiprocessors'] for d in of(result, 'device')], ['108'] * 3)
        result = run('--devices=0', inject=None)
        self.assertEqual(result.status, 1)
        self.assertIn('cudaErrorNoDevice', result.output)

    def test_injection_that_is_no_library(self):
        self.assertEqual(run(inject='/nonexistent').status, 0)


class Faults(unittest.TestCase):
    def test_subscribe(self):
        for code in ('39', '35', '15', '999'):
            result = run(f'--fault=subscribe={code}')
            self.assertEqual((result.status, of(result, 'subscribe')[0]['result']), (0, code))

    def test_enable(self):
        result = run('--fault=enable:10=14')
        self.assertEqual(of(result, 'enable'), [{'kind': '10', 'result': '14'}])
        self.assertEqual((of(result, 'kernel'), len(of(result, 'memcpy'))), ([], 2))

    def test_drop(self):
        result = run('--fault=drop=4', kinds='10')
        lost = {(f['correlation'], f['node']) for f in faults(result, 'drop')}
        told = {(int(k['correlation']), int(k['node'])) for k in of(result, 'kernel')}
        true = {(k['correlation'], k['node']) for k in ops(result, 'kernel')}
        self.assertEqual(len(lost), 2)
        self.assertEqual(told, true - lost)

    def test_timestamps(self):
        result = run('--fault=zero_ts=3,reverse_ts=4', kinds='10')
        zero = [k for k in of(result, 'kernel') if k['start'] == k['end'] == '0']
        reversed_ = [k for k in of(result, 'kernel') if int(k['start']) > int(k['end'])]
        self.assertEqual((len(zero), len(reversed_)), (3, 2))

    def test_early(self):
        result = run('--fault=early=9', kinds='5,10')
        starts = {a['correlation']: int(a['start']) for a in of(result, 'api')}
        early = [k for k in of(result, 'kernel') if int(k['start']) < starts[k['correlation']]]
        self.assertEqual(len(early), 1)

    def test_clock_step(self):
        result = run('--fault=clock_step=-5000000000@4', kinds='10')
        true = {(k['correlation'], k['node']): k['start'] for k in ops(result, 'kernel')}
        moved = [true[int(k['correlation']), int(k['node'])] - int(k['start'])
                 for k in of(result, 'kernel')]
        self.assertEqual(sorted(moved), [0] * 4 + [5000000000] * 5)

    def test_ticks(self):
        result = run('--fault=tsc', kinds='10')
        true = {(k['correlation'], k['node']): k['start'] for k in ops(result, 'kernel')}
        for kernel in of(result, 'kernel'):
            self.assertNotEqual(int(kernel['start']),
                                true[int(kernel['correlation']), int(kernel['node'])])

    def test_null_correlation(self):
        result = run('--fault=null_corr=3', kinds='10')
        self.assertEqual(len([k for k in of(result, 'kernel') if k['correlation'] == '0']), 3)

    def test_unknown_kind(self):
        result = run('--fault=unknown_kind=3', kinds='10')
        self.assertEqual([r['kind'] for r in of(result, 'record')], ['60'] * 3)
        self.assertEqual(len(of(result, 'kernel')), 9)

    def test_invalid_last(self):
        result = run('--fault=invalid_last', kinds='10')
        # a thread's first buffer may come back unused: the worker had written the records
        self.assertEqual({b['result'] for b in of(result, 'buffer') if b['valid'] != '0'}, {'21'})
        self.assertEqual(len(of(result, 'kernel')) + len(faults(result, 'invalid_last')), 9)

    def test_shuffle(self):
        plain, mixed = run(kinds='5'), run('--fault=shuffle', kinds='5')
        order = [a['name'] for a in of(mixed, 'api')]
        self.assertEqual(sorted(order), sorted(a['name'] for a in of(plain, 'api')))
        starts = [int(a['start']) for a in of(mixed, 'api')]
        self.assertNotEqual(starts, sorted(starts))

    def test_poison(self):
        for switch in ('poison', 'poison_complete'):
            keep = {'CHECK_KEEP': '1'} # the client must not free what is written over later
            result = run(f'--fault={switch}', env=keep)
            self.assertEqual((result.status, len(of(result, 'kernel'))), (0, 9))

    def test_steal(self):
        result = run('--fault=steal=5', kinds='10')
        self.assertEqual(len(faults(result, 'steal')), 1)
        self.assertLess(len(of(result, 'kernel')), 9)

    def test_fatal(self):
        result = run('--fault=fatal=6')
        self.assertEqual(len(of(result, 'state')), 1)
        self.assertEqual(len(of(result, 'callback')), 12)
        self.assertEqual(of(result, 'flush')[0]['result'], '15')
        self.assertEqual(of(run('--fault=fatal=6', '--cupti=18'), 'state'), [])

    def test_lock(self):
        result = run('--fault=lock', kinds=ALL)
        self.assertEqual((result.status, len(of(result, 'kernel'))), (0, 9))

    def test_flush_hangs(self):
        with self.assertRaises(subprocess.TimeoutExpired):
            subprocess.run([SCRIPT, f'--build={BUILD}', '--fault=flush=hang', PROGRAM], timeout=3,
                           capture_output=True,
                           env=dict(os.environ, CUDA_INJECTION64_PATH=CLIENT, CHECK_OUT='/dev/null',
                                    CHECK_KINDS='10'))

    def test_death(self):
        for switch, status in (('abort', -signal.SIGABRT), ('exit', 0), ('kill', -signal.SIGKILL),
                               ('segv', -signal.SIGSEGV)):
            result = run(f'--fault=die:{switch}=4', inject=None)
            self.assertEqual(result.status, status)
            self.assertEqual(len(ops(result, 'kernel')), 4)
            self.assertEqual(len(faults(result, f'die:{switch[0]}')), 1)

    def test_unknown_switch_is_named(self):
        self.assertIn("unknown switch 'nonsense'", run('--fault=nonsense').output)


class Script(unittest.TestCase):
    def fails_with(self, *arguments):
        done = subprocess.run([SCRIPT, f'--build={BUILD}', *arguments], capture_output=True, text=True,
                              timeout=300)
        self.assertEqual(done.returncode, 2)
        return done.stderr

    def test_wrong_options(self):
        self.assertIn("'--what'", self.fails_with('--what', 'true'))
        self.assertIn('no simulated libraries', self.fails_with('--cupti=7', 'true'))
        self.assertIn('no command', self.fails_with())

    def test_static_runtime_of_nvidia_is_recognised(self):
        with tempfile.NamedTemporaryFile('w', suffix='.sh') as program:
            program.write('#!/bin/sh\n# libcudart_static_955d0e854921\n')
            program.flush()
            os.chmod(program.name, 0o755)
            self.assertIn('-cudart shared', self.fails_with(program.name))


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0]] + sys.argv[6:])
