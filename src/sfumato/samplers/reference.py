"""Reference chains through BlackJAX: NUTS for smooth potentials, a slice along random lines for those with kinks.

No theorem bounds how far the law of the last state is from the posterior: a plan that uses these chains has the trust
"assumes converged". The pseudo-random stream is JAX's, keyed by 64 fair bits of the source; the last state is a float that
the caller rounds to a public grid. BlackJAX and JAX are the extra "jax", imported when a chain is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sfumato._quadrature import Array
from sfumato.errors import ArgumentError

Value = Callable[[Array], float]
Slope = Callable[[Array], Array]


def last_states(
    value: Value, gradient: Slope | None, start: Array, scale: float, warmup: int, length: int, source: Any
) -> Array:
    """The last state of every chain, shaped like `start` (chains, d), after `warmup` and then `length` steps.

    `value` is the potential, infinite outside the domain, `gradient` its gradient inside; None selects the slice sampler.
    `scale` is a public guess of the posterior's width.
    """
    jax, blackjax = _libraries()
    run = _nuts if gradient is not None else _slices
    with _double(jax):
        density = _density(jax, value, gradient)
        # Compiled once, run once for each chain.
        chain = jax.jit(lambda place, key: run(jax, blackjax, density, place, scale, warmup, length, key))
        states = [np.asarray(chain(place, _key(jax, source))) for place in start]
    return np.array(states, dtype=np.float64)


def _libraries() -> tuple[Any, Any]:
    """JAX and BlackJAX, or an error that says how to get them."""
    try:
        import blackjax
        import jax
    except ImportError as error:
        raise ArgumentError(
            "trust='assumes converged' runs BlackJAX, which is not installed: pip install 'sfumato[jax]'."
        ) from error
    return jax, blackjax


@contextmanager
def _double(jax: Any) -> Iterator[None]:
    """JAX in double precision while a chain runs, for the whole process, since callbacks run on other threads."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)


def _key(jax: Any, source: Any) -> Any:
    """A key for JAX's stream, from the source's own bits."""
    return jax.random.wrap_key_data(np.array([source.bits(32), source.bits(32)], dtype=np.uint32))


def _density(jax: Any, value: Value, gradient: Slope | None) -> Any:
    """The log density as a JAX function: rows are read on the host, and JAX gets values and gradients alone."""
    scalar = jax.ShapeDtypeStruct((), np.float64)

    def host(place: Any) -> Any:
        return np.float64(-value(np.asarray(place)))

    def level(theta: Any) -> Any:
        return jax.pure_callback(host, scalar, theta, vmap_method="sequential")

    if gradient is None:
        return level

    def slope(theta: Any) -> Any:
        like = jax.ShapeDtypeStruct(theta.shape, np.float64)
        return jax.pure_callback(lambda place: np.asarray(-gradient(np.asarray(place)), dtype=np.float64), like, theta)

    density = jax.custom_vjp(level)
    density.defvjp(lambda theta: (level(theta), slope(theta)), lambda gradient, weight: (weight * gradient,))
    return density


def _nuts(jax: Any, blackjax: Any, density: Any, place: Any, scale: float, warmup: int, length: int, key: Any) -> Any:
    """NUTS, its step and diagonal metric adapted in the warm-up."""
    first, second = jax.random.split(key)
    adapted = blackjax.window_adaptation(blackjax.nuts, density, initial_step_size=scale)
    (state, parameters), _ = adapted.run(first, place, warmup)
    return _steps(jax, blackjax.nuts(density, **parameters).step, state, length, second)


def _slices(jax: Any, blackjax: Any, density: Any, place: Any, scale: float, warmup: int, length: int, key: Any) -> Any:
    """Slice sampling along random lines; the warm-up states are discarded, and nothing is adapted."""
    sampler = blackjax.slice_sampling(density, width=scale)
    return _steps(jax, sampler.step, sampler.init(place), warmup + length, key)


def _steps(jax: Any, step: Any, state: Any, length: int, key: Any) -> Any:
    def one(current: Any, stream: Any) -> tuple[Any, None]:
        return step(stream, current)[0], None

    last, _ = jax.lax.scan(one, state, jax.random.split(key, length))
    return last.position
