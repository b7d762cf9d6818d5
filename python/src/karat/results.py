"""Stored runs, and what is asked of them."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from karat._engine import engine
from karat._formats import Format
from karat._karat import ArrowTable, Engine
from karat.progress import Progress, Show

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["Comparison", "GateResult", "Run", "Table"]

Bounds = Mapping[str, "float | str"]


class Table:
    """A table of a run, which every library that reads Arrow takes as it is: ``polars.DataFrame(table)``,
    ``pyarrow.table(table)``, ``duckdb.sql("from table")`` on a ``to_arrow()``."""

    def __init__(self, table: ArrowTable) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return repr(self._table)

    def to_arrow(self) -> pyarrow.Table:
        """The table of pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The data frame of pandas."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The data frame of Polars."""
        import polars

        return polars.DataFrame(self)


@dataclass(frozen=True)
class GateResult:
    """The verdicts of gates."""

    exit_code: int
    text: str = field(repr=False)
    data: dict[str, Any] = field(repr=False)

    @property
    def passed(self) -> bool:
        """True if every gate passed."""
        return self.exit_code == 0

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _text(self.text)


@dataclass(frozen=True)
class Comparison:
    """A comparison of two sides."""

    text: str = field(repr=False)
    data: dict[str, Any] = field(repr=False)
    page: str = field(repr=False)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _text(self.text)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page of the comparison."""
        Path(path).write_text(self.page, encoding="utf-8")


class Run:
    """A stored run."""

    def __init__(
        self,
        run_id: str,
        *,
        home: str | os.PathLike[str] | None = None,
        store: str | None = None,
        end: dict[str, Any] | None = None,
    ) -> None:
        self.id = run_id
        self._home = home
        self._store = store
        self._end = end or {}

    @property
    def _engine(self) -> Engine:
        return engine(self._home, self._store)

    def __repr__(self) -> str:
        status = self._end.get("status")
        return f"<karat run {self.id}{f', {status}' if status else ''}>"

    def __str__(self) -> str:
        return self._engine.summary(self.id)

    def _repr_html_(self) -> str:
        # The report would put hundreds of kilobytes into each notebook, and a notebook runs no script of it.
        return _text(f'{self}\n\nThe whole report: run.save("report.html"), or `karat view {self.id}`.')

    @property
    def status(self) -> str | None:
        """The state after its last part in this process: ``finished``, ``interrupted`` or ``budget_stopped``."""
        return self._end.get("status")

    @property
    def call_count(self) -> int | None:
        """Calls that its last part in this process made."""
        return self._end.get("calls")

    @property
    def spent_usd(self) -> float | None:
        """Dollars that its last part in this process cost."""
        return self._end.get("spent_usd")

    @property
    def notes(self) -> list[str]:
        """Warnings of the suite, and notices of the run."""
        return list(self._end.get("notes", []))

    @property
    def stopped(self) -> str | None:
        """Why it stopped before its end, and what continues it."""
        return self._end.get("stopped")

    def cells(self) -> Table:
        """A row for each cell: input, reference, output, error, time, tokens, cost, and ``score.NAME``."""
        return Table(self._engine.table(self.id, "cells"))

    def scores(self) -> Table:
        """A row for each score of a cell, with its state and reason."""
        return Table(self._engine.table(self.id, "scores"))

    def judgments(self) -> Table:
        """A row for each dimension and each time that a judge was asked."""
        return Table(self._engine.table(self.id, "judgments"))

    def calls(self) -> Table:
        """A row for each call: model, time, tokens, cost, error."""
        return Table(self._engine.table(self.id, "calls"))

    def figures(self) -> Table:
        """A row for each system and metric: value, interval, method, and n by state. Scores of single cells are in :meth:`scores`."""
        return Table(self._engine.table(self.id, "figures"))

    def metrics(self) -> Table:
        """The older name of :meth:`figures`."""
        return self.figures()

    def report(self, format: Format = "md") -> str:
        """The report as text."""
        return self._engine.report(self.id, format)

    def save(self, path: str | os.PathLike[str], format: Format = "html") -> None:
        """Writes the report."""
        Path(path).write_text(self.report(format), encoding="utf-8")

    def gate(
        self,
        *,
        policy: str | os.PathLike[str] | None = None,
        baseline: str | os.PathLike[str] | None = None,
        min: Bounds | None = None,
        max_drop: Bounds | None = None,
    ) -> GateResult:
        """Applies the gates of the suite, or of ``policy``. ``min`` and ``max_drop`` are bounds by metric, such as ``0.8`` or ``"5%"``."""
        data, text, exit_code = self._engine.gate(
            self.id,
            None if policy is None else os.fspath(policy),
            None if baseline is None else os.fspath(baseline),
            _bounds(min),
            _bounds(max_drop),
        )
        return GateResult(exit_code, text, json.loads(data))

    def compare(
        self,
        baseline: Run | str,
        *,
        metrics: Sequence[str] = (),
        confidence: float = 0.95,
        margins: Bounds | None = None,
        allow_changed: bool = False,
    ) -> Comparison:
        """Compares this run, the candidate, with a baseline."""
        return compare(
            baseline,
            self,
            metrics=metrics,
            confidence=confidence,
            margins=margins,
            allow_changed=allow_changed,
            home=self._home,
            store=self._store,
        )

    def compare_systems(
        self,
        baseline: str,
        candidate: str,
        *,
        metrics: Sequence[str] = (),
        confidence: float = 0.95,
        margins: Bounds | None = None,
    ) -> Comparison:
        """Compares two models, variants or systems (``model/variant``) of this run."""
        found = self._engine.compare(baseline, candidate, self.id, metrics, confidence, _bounds(margins), False)
        return _comparison(found)

    def pin(self, path: str | os.PathLike[str] | None = None) -> str:
        """Pins the run as a baseline, where the suite expects it or at ``path``; returns the path."""
        return self._engine.pin(self.id, None if path is None else os.fspath(path))

    def resume(self, *, progress: Show | Progress | bool = "auto", **limits: Any) -> Run:
        """Continues a run that was stopped; ``limits`` are those of :func:`karat.run`, such as ``budget_usd``."""
        from karat import running

        return running.continue_run(self, "resume", progress, limits)

    def retry(self, *, progress: Show | Progress | bool = "auto", **limits: Any) -> Run:
        """Makes the failed cells again."""
        from karat import running

        return running.continue_run(self, "retry", progress, limits)

    def score(
        self,
        suite: Any = None,
        *,
        run_id: str | None = None,
        progress: Show | Progress | bool = "auto",
        **limits: Any,
    ) -> Run:
        """Scores the outputs of this run with the present scorers of its suite, or those of ``suite``, as a new run."""
        from karat import running

        return running.score_run(self, suite, run_id, progress, limits)


def compare(
    baseline: Run | str,
    candidate: Run | str,
    *,
    metrics: Sequence[str] = (),
    confidence: float = 0.95,
    margins: Bounds | None = None,
    allow_changed: bool = False,
    home: str | os.PathLike[str] | None = None,
    store: str | None = None,
) -> Comparison:
    """Compares two stored runs."""
    sides = [side.id if isinstance(side, Run) else side for side in (baseline, candidate)]
    found = engine(home, store).compare(
        sides[0], sides[1], None, metrics, confidence, _bounds(margins), allow_changed
    )
    return _comparison(found)


def _comparison(found: tuple[str, str, str]) -> Comparison:
    data, text, page = found
    return Comparison(text, cast("dict[str, Any]", json.loads(data)), page)


def _bounds(bounds: Bounds | None) -> dict[str, str]:
    return {metric: str(bound) for metric, bound in (bounds or {}).items()}


def _text(text: str) -> str:
    """A text in a notebook."""
    return f"<pre>{html.escape(text)}</pre>"
