"""The release that a command is about."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING

from medrcube.vocabulary.layers import activate

if TYPE_CHECKING:
    from medrcube.evaluate.dataset import Benchmark

__all__ = ["read_release"]


def read_release(path: Path) -> Benchmark:
    """Read a release; its words are known to the rest of the command.

    Raises:
        ReleaseError: the folder is not a release, or breaks a rule.
    """
    from medrcube.evaluate.collection_pause import collection_paused
    from medrcube.evaluate.dataset import load_benchmark

    with collection_paused():
        benchmark = load_benchmark(path)
        # It stays until the command ends, and the collector would walk it again and again.
        gc.freeze()
    activate(benchmark.vocabulary)
    return benchmark
