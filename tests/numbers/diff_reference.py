# SPDX-License-Identifier: Apache-2.0
"""What `gputrace diff A B` should say of two traces with steps, one rank and one run each, computed
from docs/DIFF.md with the standard library: dense tables, no index, other formulas for the t
distribution (series) and the derivatives of log Gamma (differences)."""

import functools
import math
import statistics
import types

import reference

ALPHA, ROW, SMALLEST, ENOUGH = 0.004, 1e-4, 0.005, 0.10
HOST = ("cuda_runtime", "cuda_driver")


def beta_series(a, b, x):
    """The regularised incomplete beta function by its power series (x < 1)."""
    term = math.exp(
        math.lgamma(a + b) - math.lgamma(a + 1) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    total, n = term, 0
    while term > 1e-16 * total and n < 100000:
        term *= x * (a + b + n) / (a + 1 + n)
        total += term
        n += 1
    return total


@functools.lru_cache(None)
def tail(t, freedom):
    """P(T > t), t >= 0."""
    x = freedom / (freedom + t * t)
    if t == 0:
        return 0.5
    if x < 0.9:
        return beta_series(freedom / 2, 0.5, x) / 2
    return 0.5 - beta_series(0.5, freedom / 2, 1 - x) / 2


@functools.lru_cache(None)
def quantile(p, freedom):
    low, high = 0.0, 1.0
    while tail(high, freedom) > p:
        high *= 2
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle, freedom) > p else (low, middle)
    return high


def digamma(x):
    return (math.lgamma(x + 1e-5) - math.lgamma(x - 1e-5)) / 2e-5


def trigamma(x):
    return (math.lgamma(x + 1e-3) - 2 * math.lgamma(x) + math.lgamma(x - 1e-3)) / 1e-6


def trigamma_inverse(y):
    low, high = 2e-3, 1e6
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if trigamma(middle) > y else (low, middle)
    return low


def midmean(values):
    ordered, cut = sorted(values), len(values) // 4
    return statistics.fmean(ordered[cut : len(ordered) - cut])


def scale_of(values):
    middle = statistics.median(values)
    return 1.4826 * statistics.median(abs(v - middle) for v in values)


def tables_of(path):
    """table -> name -> [value of each step], and the counts."""
    trace = reference.Trace(path)
    steps = sorted(
        (reference.ns(e["ts"]), reference.ns(e["ts"]) + reference.ns(e["dur"]))
        for e in trace.whole["traceEvents"]
        if str(e.get("name")).startswith("ProfilerStep#")
    )
    tables = {"overview": {}, "kernels": {}, "calls": {}}
    counts = {}

    def add(table, name, step, ns):
        tables[table].setdefault(name, [0] * len(steps))[step] += ns
        counts[table, name] = counts.get((table, name), 0) + 1

    def step_at(t):
        return max(i for i, (start, _) in enumerate(steps) if start <= t)

    for op in trace.ops:
        add("kernels", op.name, step_at(trace.call_of(op).start), op.dur)
    for call in trace.calls:
        add("calls", call.name, step_at(call.start), call.dur)
    for i, (start, end) in enumerate(steps):
        inside = sum(max(min(op.end, end) - max(op.start, start), 0) for op in trace.ops)
        busy = sum(op.dur for op in trace.ops if step_at(trace.call_of(op).start) == i)  # one stream
        add("overview", "time per step", i, end - start)
        add("overview", "GPU busy", i, busy)
        add("overview", "GPU idle", i, end - start - inside)
    return tables, counts, len(steps)


def kept_steps(kernels, count):
    """Without warm-up and outliers."""
    parts = [[v / statistics.median(row) for v in row] for row in kernels.values()]
    slow = [midmean([row[i] for row in parts]) for i in range(count)]
    first = 0
    while count > 2 and first < max(count // 3, 1) and count - first > 2:
        rest = slow[first + 1 :]
        middle = statistics.median(rest)
        if slow[first] <= middle + max(0.1 * middle, 6 * scale_of(rest)):
            break
        first += 1
    kept = list(range(first, count))
    rest = slow[first:]
    middle = statistics.median(rest)
    limit = math.log1p(max(0.25, 6 * scale_of(rest) / middle))
    far = [i for i in kept if abs(math.log(slow[i] / middle)) > limit]
    n = len(kept)
    if len(far) <= (0 if n < 5 else 1 if n < 10 else n // 10):
        kept = [i for i in kept if i not in far]
    return kept


def without_outliers(values, usual):
    """(step, value) pairs that stay; None: there are too many outliers."""
    xs = [x for _, x in values]
    middle, n = statistics.median(xs), len(xs)
    limit = middle * max(0.2, 6 * max(usual, scale_of(xs) / middle))
    far = [x for x in xs if abs(x - middle) > limit]
    if len(far) > (0 if n < 5 else 1 if n < 10 else n // 10):
        return None
    return [(i, x) for i, x in values if abs(x - middle) <= limit]


def moments(values, common, floor):
    """mean, n, variance as a part of the mean squared, degrees of freedom."""
    xs = [x / common[i] for i, x in values]
    mean = statistics.fmean(xs)
    return mean, len(xs), max(statistics.variance(xs) / mean**2, floor), len(xs) - 1


def welch(a, b, inflate):
    parts = [m[2] * f / m[1] for m, f in zip((a, b), inflate)]
    freedom = [max(m[3] / f, 1) for m, f in zip((a, b), inflate)]
    error = sum(parts)
    df = error**2 / sum(p * p / f for p, f in zip(parts, freedom))
    return math.log(b[0] / a[0]), math.sqrt(error), df


def of_difference(test, m, inflate):
    """The error with which the difference of the means is as far from 0 as their ratio from 1."""
    change, error, df = test
    linear = math.sqrt(sum(m[s][2] * inflate[s] / m[s][1] * m[s][0] ** 2 for s in (0, 1)))
    return change, max(error, abs(change) * linear / abs(m[1][0] - m[0][0])), df


def inflation(rows, common, n, weight):
    """By the correlation of neighbours."""
    products = squares = 0
    for values in rows:
        xs = [x / common[i] for i, x in values]
        mean = statistics.fmean(xs)
        off = [x / mean - 1 for x in xs]
        products += sum(p * q for p, q in zip(off, off[1:]))
        squares += sum(p * p for p in off)
    r = (products / squares if squares else 0) + 1 / n
    if n < 8 or r <= 1.64 / math.sqrt(weight):
        return 1
    r = min(r, 0.9)
    return (1 + r) / (1 - r)


def prior_of(variances, freedom):
    """Smyth 2004, 6.2."""
    e = [math.log(v) - digamma(freedom / 2) + math.log(freedom / 2) for v in variances]
    spread = statistics.variance(e) - trigamma(freedom / 2)
    df = 2 * trigamma_inverse(spread) if spread > 0 else math.inf
    variance = math.exp(statistics.fmean(e))
    if math.isfinite(df):
        variance *= math.exp(digamma(df / 2) - math.log(df / 2))
    return variance, min(df, max(3 * freedom, freedom**2 / 4))


def moderate(m, prior):
    freedom = m[3] + prior[1]
    return m[0], m[1], (m[2] * m[3] + prior[0] * prior[1]) / freedom, freedom


def judge_table(names, sides, kept, counts, table):
    """Rows of a table with both tests; sides: name -> values by step."""
    ones = [dict.fromkeys(k, 1.0) for k in kept]
    values, usual = [{}, {}], []
    for s in (0, 1):
        values[s] = {n: [(i, sides[s][n][i]) for i in kept[s]] for n in names}
        scales = [
            scale_of([x for _, x in v]) / statistics.median(x for _, x in v) for v in values[s].values()
        ]
        scales = [x for x in scales if x > 0]
        usual.append(statistics.median(scales) if scales and len(kept[s]) > 2 else 0)
    rows = {}
    for name in names:
        floor = [
            counts[s][table, name] / len(sides[s][name]) / 6 / statistics.fmean(x for _, x in values[s][name]) ** 2
            for s in (0, 1)
        ]
        stay = [without_outliers(values[s][name], usual[s]) for s in (0, 1)]
        rough = None in stay
        if rough:
            stay = [values[s][name] for s in (0, 1)]
        means = [statistics.fmean(x for _, x in v) for v in stay]
        rows[name] = types.SimpleNamespace(values=stay, floor=floor, mean=means, apart=None, rough=rough)
    dense = {name: r for name, r in rows.items() if not r.rough}
    common = [
        {i: midmean([dict(r.values[s])[i] / r.mean[s] for r in dense.values() if i in dict(r.values[s])]) for i in kept[s]}
        for s in (0, 1)
    ]
    all_of = [[r.values[s] for r in dense.values()] for s in (0, 1)]
    n = [len(k) for k in kept]
    inflate = [inflation(all_of[s], ones[s], n[s], n[s]) for s in (0, 1)]
    inflate_apart = [inflation(all_of[s], common[s], n[s], n[s] * len(dense)) for s in (0, 1)]
    for row in rows.values():
        plain = [moments(row.values[s], ones[s], row.floor[s]) for s in (0, 1)]
        row.noise = max(math.sqrt(m[2]) for m in plain)
        row.whole = welch(*plain, inflate)
        if row.rough:
            row.whole = of_difference(row.whole, plain, inflate)
    if len(dense) >= 10:
        test_apart(dense, common, n, inflate, inflate_apart, ones)
    return rows


def test_apart(rows, common, n, inflate, inflate_apart, ones):
    shift = midmean([math.log(r.mean[1] / r.mean[0]) for r in rows.values()])
    spread = [
        (1, n[s], sum((c - 1) ** 2 for c in common[s].values()) / (n[s] - 1), n[s] - 1) for s in (0, 1)
    ]
    _, error, freedom = welch(*spread, inflate)
    if 2 * tail(abs(shift) / error, freedom) < 0.001:
        return
    each = {
        name: [moments(r.values[s], common[s], r.floor[s]) for s in (0, 1)] for name, r in rows.items()
    }
    shift = midmean([math.log(m[1][0] / m[0][0]) for m in each.values()])
    prior = [prior_of([m[s][2] for m in each.values()], n[s] - 1) for s in (0, 1)]
    for name, row in rows.items():
        change, error, freedom = welch(*(moderate(each[name][s], prior[s]) for s in (0, 1)), inflate_apart)
        row.apart = change - shift, error, freedom
        plain = [moments(row.values[s], ones[s], row.floor[s]) for s in (0, 1)]
        row.whole = welch(*plain, inflate_apart)


def verdict(row):
    if row.mean[0] == row.mean[1]:
        return "same"
    if abs(row.mean[1] - row.mean[0]) <= SMALLEST * row.mean[0]:
        return "same" if row.could <= ENOUGH else "cannot tell"
    if row.sure:
        return "slower" if row.whole[0] > 0 else "faster"
    return "same" if row.low <= 0 <= row.high and row.could <= ENOUGH else "cannot tell"


def compare(a, b):
    """table -> name -> row with mean, low, high, noise, could, verdict."""
    (one, counts_a, steps_a), (two, counts_b, steps_b) = tables_of(a[0]), tables_of(b[0])
    kept = [kept_steps(one["kernels"], steps_a), kept_steps(two["kernels"], steps_b)]
    judged = {
        table: judge_table(list(one[table]), (one[table], two[table]), kept, (counts_a, counts_b), table)
        for table in one
    }
    rows = [row for table in judged.values() for row in table.values()]
    for row in rows:
        test = row.apart or row.whole
        row.p = 2 * tail(abs(test[0]) / test[1], test[2])
        half = quantile(0.025, row.whole[2]) * row.whole[1]
        row.low, row.high = math.expm1(row.whole[0] - half), math.expm1(row.whole[0] + half)
    still = True
    for i, row in enumerate(sorted(rows, key=lambda r: r.p)):
        still = still and row.p <= min(ALPHA / (len(rows) - i), ROW)
        row.sure = still
        if row.apart:
            both = (row.apart[0] > 0) == (row.whole[0] > 0)
            row.sure = still and both and (row.low > 0 or row.high < 0)
        test = row.apart or row.whole
        p = min(ALPHA / len(rows), ROW)
        could = (quantile(p / 2, test[2]) + quantile(0.1, test[2])) * test[1]
        if row.apart:
            could = max(could, (quantile(0.025, row.whole[2]) + quantile(0.1, row.whole[2])) * row.whole[1])
        row.could = math.expm1(max(could, math.log1p(SMALLEST)))
        row.verdict = verdict(row)
    return judged
