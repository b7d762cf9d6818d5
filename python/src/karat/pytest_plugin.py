"""The pytest plugin: the fixtures ``karat_gate``, a test of a suite, and ``karat_cells``, a test of each cell. Reports, JUnit
among them, stay pytest's."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest

from karat.results import GateResult, Run
from karat.running import run
from karat.suite import Suite

Check = Callable[..., GateResult]
CellCheck = Callable[..., Run]


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


@pytest.fixture
def karat_cells(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> CellCheck:
    """Runs a suite, or takes a run, and tests each of its cells: one subtest a cell, named by system and sample.

    ``karat_cells("karat.yaml", limit=50)``: keywords are those of :func:`karat.run`. A cell fails as in ``junit.xml``: it has no
    output, or a pass/fail score below its bar. Needs pytest 9, or the plugin pytest-subtests.
    """
    try:
        subtests = request.getfixturevalue("subtests")
    except pytest.FixtureLookupError:
        pytest.fail("`karat_cells` needs pytest 9, or `pip install pytest-subtests`", pytrace=False)

    def check(suite: str | os.PathLike[str] | Suite | Run = "karat.yaml", **flags: Any) -> Run:
        __tracebackhide__ = True
        made = suite if isinstance(suite, Run) else run(suite, progress="none", **flags)
        record_property("karat_run", made.id)
        for case in _cases(made):
            with subtests.test(msg=f"{case.get('classname')}: {case.get('name')}"):
                for kind in ("error", "failure"):
                    problem = case.find(kind)
                    if problem is not None:
                        pytest.fail(problem.text or problem.get("message") or kind, pytrace=False)
                if case.find("skipped") is not None:
                    pytest.skip("skipped by a condition of the suite, or not scored")
        return made

    return check


def _cases(made: Run) -> list[ElementTree.Element]:
    """The cells of a run in `junit.xml`. Suites of cells name their plan; that of the gates does not."""
    suites = ElementTree.fromstring(made.report("junit")).iter("testsuite")
    return [case for suite in suites if suite.find("properties") is not None for case in suite.iter("testcase")]
