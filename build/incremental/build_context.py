"""State shared by the stages of one build."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from medrcube.build.column_blocks import Spool
from medrcube.build.execution.local import RenderEngine
from medrcube.build.execution.progress import Stages
from medrcube.build.incremental.cache_database import BuildCache

__all__ = ["BuildContext"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildContext:
    """State shared by the stages of one build."""

    images: Path
    secret: bytes
    cache: BuildCache
    spool: Spool
    engine: RenderEngine
    stages: Stages
