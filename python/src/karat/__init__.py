"""Evaluate prompts, models, pipelines and agents: the engine of Karat, called from Python.

``run`` runs a suite and returns a :class:`Run`, whose tables pandas, Polars and DuckDB read without a copy. ``scorer``,
``system`` and ``tool`` make functions callable from suites. ``metrics`` and ``stats`` are plain functions.
"""

from karat import metrics, stats
from karat._karat import KaratError, __version__
from karat.errors import RunInterrupted
from karat.functions import (
    NotApplicable,
    Score,
    ToolError,
    Unscored,
    scorer,
    system,
    tool,
)
from karat.results import Comparison, GateResult, Run, Table
from karat.running import compare, load, run, run_async, validate
from karat.suite import Dataset, Gate, Scorer, Step, Suite, Variant

__all__ = [
    "Comparison",
    "Dataset",
    "Gate",
    "GateResult",
    "KaratError",
    "NotApplicable",
    "Run",
    "RunInterrupted",
    "Score",
    "Scorer",
    "Step",
    "Suite",
    "Table",
    "ToolError",
    "Unscored",
    "Variant",
    "__version__",
    "compare",
    "load",
    "metrics",
    "run",
    "run_async",
    "scorer",
    "stats",
    "system",
    "tool",
    "validate",
]
