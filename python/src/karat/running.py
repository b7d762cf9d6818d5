"""Runs suites: the flags of the command line as keywords."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from karat._engine import engine, environment
from karat.errors import RunInterrupted
from karat.progress import Progress, Show, shown_by
from karat.results import Run, compare
from karat.suite import Suite

__all__ = ["compare", "load", "run", "run_async", "validate"]


def run(
    suite: str | os.PathLike[str] | Suite = "karat.yaml",
    *,
    params: Mapping[str, Any] | None = None,
    set: Mapping[str, Any] | None = None,
    sweep: Mapping[str, Sequence[Any]] | None = None,
    models: Sequence[str] = (),
    tier: Literal["frontier", "midtier", "budget"] | None = None,
    variants: Sequence[str] = (),
    judges: Sequence[str] = (),
    samples: Sequence[str] = (),
    limit: int | None = None,
    as_of: str | None = None,
    safe: bool = False,
    trials: int | None = None,
    max_concurrency: int | None = None,
    budget_usd: float | None = None,
    max_calls: int | None = None,
    timeout: float | None = None,
    retries: int | None = None,
    max_output_tokens: int | None = None,
    judge_max_tokens: int | None = None,
    judge_timeout: float | None = None,
    max_chunks: int | None = None,
    cache: bool = True,
    yes: bool = False,
    batch: bool = False,
    record: str | os.PathLike[str] | None = None,
    replay: str | os.PathLike[str] | None = None,
    run_id: str | None = None,
    resume: bool = False,
    home: str | os.PathLike[str] | None = None,
    store: str | None = None,
    progress: Show | Progress | bool = "auto",
) -> Run:
    """Runs a suite: a file, a folder with a `karat.yaml`, the name of a preset, or a :class:`karat.Suite`.

    Keywords are the flags of `karat run`; times are in seconds. Ctrl-C stops the run in order and raises
    :class:`karat.RunInterrupted`; a second one leaves at once. A run that its budget stops returns: see ``status``.
    """
    keywords = dict(locals())
    request = {name: value for name, value in keywords.items() if name not in _OWN}
    request["params"] = _pairs(params)
    request["set"] = [(address, json.dumps(value)) for address, value in (set or {}).items()]
    request["sweep"] = [
        (address, ",".join(json.dumps(each) for each in values)) for address, values in (sweep or {}).items()
    ]
    recorded, replayed = (None if tape is None else os.fspath(tape) for tape in (record, replay))
    text = _request(_path_of(suite, home), request)
    end = engine(home, store).run(text, resume, recorded, replayed, shown_by(progress))
    return _ended(json.loads(end), home, store)


async def run_async(suite: str | os.PathLike[str] | Suite = "karat.yaml", **flags: Any) -> Run:
    """Runs a suite as :func:`run` does, with the same keywords, in a thread of its own: the event loop goes on meanwhile. A run
    whose task is cancelled ends by itself; :func:`load` finds it."""
    return await asyncio.to_thread(run, suite, **flags)


# Keywords that are no part of the request.
_OWN = frozenset({"suite", "record", "replay", "resume", "home", "store", "progress"})


def load(run_id: str = "latest", *, home: str | os.PathLike[str] | None = None, store: str | None = None) -> Run:
    """A stored run, by its id, the beginning of one, or ``latest``."""
    return Run(engine(home, store).run_id(run_id), home=home, store=store)


def validate(
    suite: str | os.PathLike[str] | Suite = "karat.yaml", *, home: str | os.PathLike[str] | None = None
) -> dict[str, Any]:
    """Checks a suite; returns its name, the number of its cells, and warnings. A problem is a :class:`karat.KaratError`."""
    found: dict[str, Any] = json.loads(engine(home).validate(_request(_path_of(suite, home), {})))
    return found


def continue_run(run: Run, how: Literal["resume", "retry"], progress: Show | Progress | bool, limits: dict[str, Any]) -> Run:
    """Continues a stored run."""
    part = engine(run._home, run._store)
    call = part.resume if how == "resume" else part.retry
    return _ended(json.loads(call(run.id, _request("", _limits(**limits)), shown_by(progress))), run._home, run._store)


def score_run(
    run: Run, suite: Any, run_id: str | None, progress: Show | Progress | bool, limits: dict[str, Any]
) -> Run:
    """Scores a stored run again."""
    path = "" if suite is None else _path_of(suite, run._home)
    judges = limits.pop("judges", ())
    request = _request(path, {"run_id": run_id, "judges": judges, **_limits(**limits)})
    end = engine(run._home, run._store).score(run.id, request, shown_by(progress))
    return _ended(json.loads(end), run._home, run._store)


def _ended(end: dict[str, Any], home: str | os.PathLike[str] | None, store: str | None) -> Run:
    if end["status"] in ("interrupted", "running") and not end["stopped"]:
        raise RunInterrupted(end["run"], end["command"])
    for message in (end["stopped"], end["overspent"]):
        if message:
            print(message, file=sys.stderr)
    return Run(end["run"], home=home, store=store, end=end)


def _limits(
    *,
    max_concurrency: int | None = None,
    budget_usd: float | None = None,
    max_calls: int | None = None,
    timeout: float | None = None,
    retries: int | None = None,
    cache: bool = True,
    yes: bool = False,
    batch: bool = False,
) -> dict[str, Any]:
    return dict(locals())


def _request(suite: str, named: Mapping[str, Any]) -> str:
    """A request for a run as JSON: keywords have the names of its fields, apart from times and the cache."""
    request: dict[str, Any] = {"suite": suite}
    for name, value in named.items():
        if name in ("timeout", "judge_timeout"):
            request[f"{name}_ms"] = None if value is None else round(value * 1000)
        elif name == "cache":
            request["no_cache"] = not value
        else:
            request[name] = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
    return json.dumps(request)


def _pairs(values: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    def text(value: Any) -> str:
        return value if isinstance(value, str) else os.fspath(value) if isinstance(value, os.PathLike) else json.dumps(value)

    return [(name, text(value)) for name, value in (values or {}).items()]


def _path_of(suite: str | os.PathLike[str] | Suite, home: str | os.PathLike[str] | None) -> str:
    if not isinstance(suite, Suite):
        return os.fspath(suite)
    folder = Path(home if home is not None else environment().get("KARAT_HOME", ".karat")) / "suites"
    return os.fspath(suite.write(folder / f"{suite.name}.yaml"))
