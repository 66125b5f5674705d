# SPDX-License-Identifier: Apache-2.0
"""Traces of a program that repeats itself, with noise: what `gputrace diff` is measured on."""

import random

NOISES = ("own", "common", "drift", "tails", "skewed", "spikes", "modes")
NOISE = 0.03


def base(number):
    """The kernel's duration without noise in us: 20 to 400, the same in every trace."""
    return 20 * 20 ** random.Random(number * 7919 + 1).random()


def student(rng, freedom=3):
    """Student's t of three degrees of freedom, of variance 1: its fourth moment is infinite."""
    square = sum(rng.gauss(0, 1) ** 2 for _ in range(freedom)) / freedom
    return rng.gauss(0, 1) / square**0.5 / (freedom / (freedom - 2)) ** 0.5


# Noise of each kernel in each step that is not Gaussian, around 1: heavy tails on both sides; a
# long tail above, as waiting has it; one operation of 50 that takes up to three times as long, or
# one of ten that takes up to nine times: so often that a row's outliers may be too many to be left out
SHAPES = {
    "own": lambda rng: 1 + NOISE * rng.gauss(0, 1),
    "tails": lambda rng: max(1 + NOISE * student(rng), 0.1),
    "skewed": lambda rng: 1 + NOISE * (rng.expovariate(1) - 1),
    "often": lambda rng: (1 + NOISE * rng.gauss(0, 1))
    * (rng.uniform(2, 9) if rng.random() < 0.1 else 1),
    "spikes": lambda rng: (1 + NOISE * rng.gauss(0, 1))
    * (rng.uniform(1.2, 3) if rng.random() < 0.02 else 1),
}


def factors(rng, kernels, steps, noise):
    """Noise of each kernel in each step: its own, one for all kernels of a step, or a clock that
    drifts slowly (autocorrelation 0.8 from step to step), or has two speeds, under kernels with
    noise of their own."""
    level = rng.gauss(0, 1)
    for _ in range(steps):
        if noise in SHAPES:
            yield [SHAPES[noise](rng) for _ in range(kernels)]
        elif noise == "common":
            yield [1 + NOISE * rng.gauss(0, 1)] * kernels
        elif noise == "modes":
            clock = 1.1 if rng.random() < 0.3 else 1
            yield [clock * (1 + NOISE * rng.gauss(0, 1)) for _ in range(kernels)]
        else:
            yield [1 + NOISE * (level + rng.gauss(0, 1)) for _ in range(kernels)]
            level = 0.8 * level + 0.6 * rng.gauss(0, 1)


def steps_of(
    rng, kernels, steps, noise="own", first=1.0, slow=None, scale=1.0, names=None, calls=True, slow_steps=None,
    ramp=None,
):
    """The events of one rank, as lines. slow: kernel number -> factor; slow_steps: step number -> factor; ramp:
    kernel number -> factor that it comes to in the last step."""
    slow_steps = slow_steps or ({0: first} if first != 1.0 else {})
    slow, ramp, at, lines = slow or {}, ramp or {}, 1000.0, []
    names = names or [f"kernel_{chr(97 + k % 26)}{k}" for k in range(kernels)]
    for step, row in enumerate(factors(rng, kernels, steps, noise)):
        start = at
        for k, factor in enumerate(row):
            dur = base(k) * factor * slow.get(k, 1.0) * scale * slow_steps.get(step, 1.0)
            dur *= 1 + (ramp.get(k, 1.0) - 1) * step / max(steps - 1, 1)
            number = step * kernels + k + 1
            if calls:
                lines.append(
                    '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,'
                    f'"ts":{at - 4:.3f},"dur":{abs(rng.gauss(3, 0.4)):.3f},'
                    f'"args":{{"correlation":{number}}}}}'
                )
            lines.append(
                f'{{"ph":"X","cat":"kernel","name":"{names[k]}","pid":0,"tid":7,"ts":{at:.3f},'
                f'"dur":{dur:.3f},"args":{{"device":0,"stream":7,"correlation":{number}}}}}'
            )
            at += dur + 5
        at += 20
        lines.append(
            f'{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{step}","pid":9,"tid":9,'
            f'"ts":{start - 10:.3f},"dur":{at - start:.3f},"args":{{}}}}'
        )
        at += 30
    return lines


def write(path, lines, rank=None):
    """The file of one rank."""
    info = f'"distributedInfo":{{"rank":{rank}}},' if rank is not None else ""
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"schemaVersion":1,' + info + '"traceEvents":[\n' + ",\n".join(lines) + "\n]}\n")
    return path
