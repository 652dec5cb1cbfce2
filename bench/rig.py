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
    fleet: tuple[int, int]
    """ServiceAccounts of a small and of a large cluster."""
    spaces: int
    """Namespaces they live in."""
    sync: float
    """Load while accounts arrive, which must take less."""
    turns: int
    """Rounds of creations through the API server, with and without the webhook."""
    creates: int
    """Creations of one turn."""
    unconcerned: int
    """Requests of each kind that must not reach us."""
    endurance: float
    """Creations at a steady rate through the API server."""
    guests: int
    """Hosted control planes beside one operator."""
    aro: int
    """ARO HCP clusters that are created at once."""
    quiet: float
    """Seconds of its steady state; every guest is looked at about once meanwhile."""


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
    fleet=(10_000, 100_000),
    spaces=2_000,
    sync=30.0,
    turns=7,
    creates=300,
    unconcerned=100,
    endurance=300.0,
    guests=500,
    aro=200,
    quiet=60.0,
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
    fleet=(1_000, 10_000),
    spaces=200,
    sync=6.0,
    turns=3,
    creates=100,
    unconcerned=10,
    endurance=20.0,
    guests=30,
    aro=20,
    quiet=10.0,
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
