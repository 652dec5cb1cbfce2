"""What all sections share: the scratch folder, the certificate, the cores, the loader, the lengths of the
runs."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from bench import certificates, cluster, cores, loads


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long things take; the quick set is for a look, not for a claim."""

    batches: int
    """Handler batches per repetition, the best of which counts."""
    repetitions: int
    """Repetitions, the median of which is told."""
    seconds: float
    """One closed-loop run."""
    rounds: int
    """Interleaved rounds; figures and ratios are medians over them."""
    side_rounds: int
    """Rounds at 1 and 64 connections, where no bar hangs."""
    steady: float
    """One open-loop run."""
    steady_rounds: int
    memory: float
    """Load before memory is read again."""
    churn: int
    """Connections opened and closed before memory is read again."""
    starts: int


FULL = Lengths(
    batches=9,
    repetitions=5,
    seconds=4.0,
    rounds=3,
    side_rounds=3,
    steady=8.0,
    steady_rounds=3,
    memory=8.0,
    churn=1_000,
    starts=7,
)
QUICK = Lengths(
    batches=4,
    repetitions=3,
    seconds=0.4,
    rounds=3,
    side_rounds=1,
    steady=1.2,
    steady_rounds=1,
    memory=0.5,
    churn=100,
    starts=3,
)


@dataclass(frozen=True, slots=True)
class Rig:
    scratch: Path
    split: cores.Cores
    loader: loads.Loader
    lengths: Lengths
    seed: int
    pair: certificates.Pair
    cluster_dir: Path
    empty_dir: Path
    trust: ssl.SSLContext


def make(scratch: Path, tool: str | None, lengths: Lengths, seed: int) -> Rig:
    split = cores.split()
    pair = certificates.make(scratch)
    cluster_dir, empty_dir = scratch / "cluster", scratch / "empty"
    cluster.write(cluster_dir)
    empty_dir.mkdir()
    return Rig(
        scratch=scratch,
        split=split,
        loader=loads.Loader(tool, split, scratch),
        lengths=lengths,
        seed=seed,
        pair=pair,
        cluster_dir=cluster_dir,
        empty_dir=empty_dir,
        trust=ssl.create_default_context(cafile=str(pair.cert)),
    )
