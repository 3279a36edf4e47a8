"""Compile the kernels once, before workers that would each compile their own: `python tests/warm.py`."""

from __future__ import annotations

import numpy as np
from scipy import sparse

import sfumato as sf
from sfumato.engines.opening import open_engine

ROWS = np.linspace(-0.5, 0.5, 24).reshape(8, 3)
SCHEMA = sf.Schema.vector(3, data_norm=1.0, target=sf.Category([0, 1], missing=0))
MODEL = sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(1.0), 3)

if __name__ == "__main__":
    for rows in (ROWS, sparse.csr_array(ROWS)):
        engine = open_engine(sf.Dataset.from_arrays(rows, np.arange(8) % 2, schema=SCHEMA), MODEL, ("gradients",))
        for chains in (1, 2):
            engine.gradient(np.zeros((chains, 3)))
