"""`python benchmarks/nuts.py`: a default private Adult fit at epsilon = 1 against 1,000 NUTS draws of the same posterior.

The draws come from BlackJAX (extra `jax`), float64, compiled and adapted beforehand: neither compiling nor the warm-up is
counted. A draw takes seconds here, so TIMED draws are timed and what 1,000 would take is computed from them.
"""

from __future__ import annotations

import statistics
import time

import blackjax
import jax
import jax.numpy as jnp

import tables
from sfumato.estimators import PrivateLogisticRegression

DRAWS, TIMED, WARMUP = 1_000, 5, 60


def main() -> None:
    """Time three private fits and one run of the sampler."""
    jax.config.update("jax_enable_x64", True)
    rows, labels = tables.adult()
    fit, _ = tables.split(len(rows), len(rows) // 3, 0)
    features, targets = rows[fit], labels[fit]
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        PrivateLogisticRegression(
            1.0, 1e-5, data_norm=1.0, classes=[-1.0, 1.0], missing_class=-1.0, fit_intercept=False
        ).fit(features, targets)
        seconds.append(time.perf_counter() - start)
    ours = statistics.median(seconds[1:])

    matrix, signs = jnp.asarray(features), jnp.asarray(targets)

    def log_density(theta: jax.Array) -> jax.Array:
        return -jnp.logaddexp(0.0, -signs * (matrix @ theta)).sum() - 0.005 * theta @ theta

    key, adapt, sample = jax.random.split(jax.random.key(0), 3)
    start = time.perf_counter()
    adaptation = blackjax.window_adaptation(blackjax.nuts, log_density)
    (state, parameters), _ = adaptation.run(adapt, jnp.zeros(features.shape[1]), num_steps=WARMUP)
    jax.block_until_ready(state.position)
    print(f"NUTS: warm-up of {WARMUP} steps and compiling took {time.perf_counter() - start:.1f} s")
    kernel = blackjax.nuts(log_density, **parameters)

    @jax.jit
    def run(first: object, keys: jax.Array) -> object:
        return jax.lax.scan(lambda current, one: kernel.step(one, current), first, keys)

    compiled = run.lower(state, jax.random.split(sample, TIMED)).compile()
    start = time.perf_counter()
    _, info = compiled(state, jax.random.split(key, TIMED))
    jax.block_until_ready(info.num_integration_steps)
    seconds_each = (time.perf_counter() - start) / TIMED
    nuts = DRAWS * seconds_each
    steps = float(info.num_integration_steps.mean())
    print(
        f"NUTS: {TIMED} draws took {seconds_each:.2f} s each ({steps:.0f} gradients a draw), {DRAWS:,} would take {nuts:.0f} s"
    )
    print(f"Sfumato: a default private fit took {ours:.2f} s: 1/{nuts / ours:.0f} of it (aim: at most 1/50)")


if __name__ == "__main__":
    main()
