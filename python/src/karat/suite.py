"""Suites built in code. They are written as the same YAML that people write."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from karat import functions

__all__ = ["Dataset", "Gate", "Scorer", "Step", "Suite", "Variant"]


@dataclass(frozen=True)
class Dataset:
    """Rows in code, also as a data frame of pandas or Polars or an Arrow table, or the ``source`` of a file. ``extra`` takes any other key of a suite's `dataset`."""

    rows: Sequence[Mapping[str, Any]] | Any = None
    source: str | os.PathLike[str] | None = None
    id: str | None = None
    input: str | None = None
    reference: str | None = None
    cluster: str | None = None
    metadata: Sequence[str] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The value of `dataset`."""
        if (self.rows is None) == (self.source is None):
            raise ValueError("a dataset has either `rows` or a `source`")
        found: dict[str, Any] = {}
        if self.rows is not None:
            found["rows"] = _rows(self.rows)
        if self.source is not None:
            # The file is written elsewhere, and a relative path would be relative to it.
            found["source"] = os.fspath(Path(self.source).absolute())
        roles = {"id": self.id, "input": self.input, "reference": self.reference, "cluster": self.cluster}
        found.update({role: column for role, column in roles.items() if column is not None})
        if self.metadata:
            found["metadata"] = list(self.metadata)
        return {**found, **self.extra}


def _rows(rows: Any) -> list[dict[str, Any]]:
    """Rows as a suite has them, from what libraries hold them in. A missing value is null, a date its ISO form."""
    for name, arguments in (("to_pylist", ()), ("to_dicts", ()), ("to_dict", ("records",))):
        if hasattr(rows, name):
            rows = getattr(rows, name)(*arguments)
            break
    return [{str(name): _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):
        # A number or an array of NumPy.
        return _plain(value.tolist())
    # NaN, and the missing times of pandas, differ from themselves.
    if value != value:
        return None
    return value.isoformat() if hasattr(value, "isoformat") else value


@dataclass(frozen=True)
class Step:
    """A step: a ``prompt`` (a template, or the value of the key), or a ``function`` decorated with ``karat.system``. ``extra`` takes any other key."""

    prompt: str | Mapping[str, Any] | None = None
    function: Callable[..., Any] | None = None
    id: str | None = None
    version: str | None = None
    timeout: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The step."""
        found: dict[str, Any] = {} if self.id is None else {"id": self.id}
        if self.prompt is not None:
            # A bare text is the path of a template file in a suite.
            found["prompt"] = {"text": self.prompt} if isinstance(self.prompt, str) else dict(self.prompt)
        if self.function is not None:
            known = functions.find(self.function)
            found["version"] = self.version or known.version
            found["command"] = {"run": [known.program], **_stdin(known)}
        elif self.version is not None:
            found["version"] = self.version
        if self.timeout is not None:
            found["timeout"] = f"{round(self.timeout * 1000)}ms"
        return {**found, **self.extra}


def _stdin(known: functions.HostFunction) -> dict[str, str]:
    """What a step gives a function of several parameters: JSON with each of them."""
    if known.kind != "system":
        raise TypeError(f"`{known.name}` is a {known.kind}; decorate the function of a step with @karat.system")
    if len(known.parameters) == 1 and not known.takes_any:
        return {}
    roots = ("input", "reference", "output", "sample", "model", "variant")
    names = (*known.parameters, *(("input", "sample") if known.takes_any else ()))
    parts = [
        f"{json.dumps(name)}: {{{{ {name if name in roots else f'sample.{name}'} | tojson }}}}"
        for name in dict.fromkeys(names)
    ]
    return {"stdin": "{" + ", ".join(parts) + "}"}


@dataclass(frozen=True)
class Variant:
    """A pipeline: its steps in order."""

    steps: Sequence[Step | Callable[..., Any] | Mapping[str, Any]]

    def to_list(self) -> list[dict[str, Any]]:
        """The value of the variant."""
        return [_step(step) for step in self.steps]


def _step(step: Step | Callable[..., Any] | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(step, Step):
        return step.to_dict()
    if isinstance(step, Mapping):
        return dict(step)
    return Step(function=step).to_dict()


@dataclass(frozen=True)
class Scorer:
    """A scorer: a ``metric`` with its options, a ``rubric``, or a ``function`` decorated with ``karat.scorer``.
    ``extra`` takes any other key."""

    metric: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    rubric: Mapping[str, Any] | str | None = None
    function: Callable[..., Any] | None = None
    output: str | None = None
    reference: Any = None
    min: float | None = None
    max: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The value of the scorer."""
        found: dict[str, Any] = {}
        if self.function is not None:
            found = {"metric": "command", "with": {"run": [functions.find(self.function).program]}}
        elif self.metric is not None:
            found["metric"] = self.metric
            if self.options:
                found["with"] = dict(self.options)
        elif self.rubric is not None:
            found["rubric"] = self.rubric
        rest = {"output": self.output, "reference": self.reference, "min": self.min, "max": self.max}
        found.update({key: value for key, value in rest.items() if value is not None})
        return {**found, **self.extra}


@dataclass(frozen=True)
class Gate:
    """A gate on a metric. Bounds are numbers, or percentages such as ``"5%"`` for changes."""

    metric: str
    min: float | str | None = None
    max: float | str | None = None
    max_drop: float | str | None = None
    max_rise: float | str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The gate."""
        bounds = {"min": self.min, "max": self.max, "max_drop": self.max_drop, "max_rise": self.max_rise}
        given = {key: value for key, value in bounds.items() if value is not None}
        return {"metric": self.metric, **given, **self.extra}


@dataclass(frozen=True)
class Suite:
    """A suite. ``extra`` takes any other key, such as `analysis` or `run`."""

    name: str
    dataset: Dataset
    variants: Mapping[str, Variant | Callable[..., Any] | Sequence[Any]]
    scorers: Mapping[str, Scorer | str | Callable[..., Any] | Mapping[str, Any]]
    models: Sequence[str | Mapping[str, Any]] = ()
    tools: Sequence[Callable[..., Any]] = ()
    gates: Sequence[Gate] = ()
    about: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The suite as its file has it."""
        found: dict[str, Any] = {"schema": "karat.suite/1", "name": self.name}
        if self.about is not None:
            found["about"] = self.about
        found["dataset"] = self.dataset.to_dict()
        if self.models:
            found["models"] = list(self.models)
        if self.tools:
            found["tools"] = {functions.find(each).name: _tool(each) for each in self.tools}
        found["variants"] = {name: _variant(variant) for name, variant in self.variants.items()}
        found["scorers"] = {name: _scorer(scorer) for name, scorer in self.scorers.items()}
        if self.gates:
            found["gates"] = [gate.to_dict() for gate in self.gates]
        return {**found, **self.extra}

    def to_yaml(self) -> str:
        """The suite as a file. JSON values in flow style are YAML, too, and quote every text."""
        return _yaml(self.to_dict())

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Writes the file; returns its path."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = self.to_yaml()
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
        return target


def _variant(variant: Variant | Callable[..., Any] | Sequence[Any]) -> list[dict[str, Any]]:
    if isinstance(variant, Variant):
        return variant.to_list()
    if callable(variant):
        return [_step(variant)]
    return [_step(step) for step in variant]


def _scorer(scorer: Scorer | str | Callable[..., Any] | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(scorer, Scorer):
        return scorer.to_dict()
    if isinstance(scorer, str):
        return {"metric": scorer}
    if isinstance(scorer, Mapping):
        return dict(scorer)
    return Scorer(function=scorer).to_dict()


def _tool(function: Callable[..., Any]) -> dict[str, Any]:
    known = functions.find(function)
    found: dict[str, Any] = {}
    about = inspect.getdoc(function)
    if about:
        found["about"] = about.split("\n\n")[0]
    return {
        **found,
        "input": functions.tool_input(function),
        "version": known.version,
        "command": {"run": [known.program]},
    }


def _yaml(value: Any, indent: int = 0) -> str:
    """Block style for the outer levels, JSON for what is inside: every JSON value is a YAML value."""
    pad = "  " * indent
    if isinstance(value, dict) and value and indent < 3:
        lines = []
        for key, each in value.items():
            name = key if key.replace("_", "").isalnum() and not key[0].isdigit() else json.dumps(key)
            if isinstance(each, dict) and each and indent < 2:
                lines.append(f"{pad}{name}:\n{_yaml(each, indent + 1)}")
            elif isinstance(each, list) and each and indent < 2:
                items = "".join(f"{pad}  - {json.dumps(item, ensure_ascii=False, allow_nan=False)}\n" for item in each)
                lines.append(f"{pad}{name}:\n{items}")
            else:
                lines.append(f"{pad}{name}: {json.dumps(each, ensure_ascii=False, allow_nan=False)}\n")
        return "".join(lines)
    return f"{pad}{json.dumps(value, ensure_ascii=False, allow_nan=False)}\n"
