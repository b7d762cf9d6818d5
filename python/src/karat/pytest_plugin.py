"""The pytest plugin: the fixture ``karat_gate``. Reports, JUnit among them, stay pytest's."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from karat.results import GateResult, Run
from karat.running import run
from karat.suite import Suite

Check = Callable[..., GateResult]


@pytest.fixture
def karat_gate(record_property: Callable[[str, object], None]) -> Check:
    """Runs a suite, or takes a run, and fails the test if a gate fails.

    ``karat_gate("karat.yaml", min={"exact": 0.9})``: keywords ``policy``, ``baseline``, ``min`` and ``max_drop`` are those
    of :meth:`karat.Run.gate`, all others those of :func:`karat.run`.
    """

    def check(
        suite: str | os.PathLike[str] | Suite | Run = "karat.yaml",
        *,
        policy: str | os.PathLike[str] | None = None,
        baseline: str | os.PathLike[str] | None = None,
        min: dict[str, float | str] | None = None,
        max_drop: dict[str, float | str] | None = None,
        **flags: Any,
    ) -> GateResult:
        __tracebackhide__ = True
        made = suite if isinstance(suite, Run) else run(suite, progress="none", **flags)
        record_property("karat_run", made.id)
        result = made.gate(policy=policy, baseline=baseline, min=min, max_drop=max_drop)
        if not result:
            pytest.fail(f"gates of run {made.id}:\n{result.text}", pytrace=False)
        return result

    return check
