"""Suites built in code are the YAML that people write."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pytest

import karat


def test_a_suite_in_code_is_a_valid_file(folder: Path) -> None:
    (folder / "rows.jsonl").write_text(json.dumps({"key": "a", "q": "1: {x} # no comment", "a": "1"}) + "\n")
    suite = karat.Suite(
        name="coded",
        about="A suite: with 'quotes' and \"more\"",
        dataset=karat.Dataset(source="rows.jsonl", id="key", input="q", reference="a", metadata=["q"]),
        models=["stub"],
        variants={"plain": karat.Variant([karat.Step(prompt="Answer: {{ input }}", id="ask", timeout=5)])},
        scorers={"exact": "exact", "close": karat.Scorer(metric="levenshtein", min=0.1)},
        gates=[karat.Gate("exact", min=0)],
        extra={"run": {"max_concurrency": 2}},
    )
    assert suite.to_yaml().startswith("schema: ")
    path = suite.write(folder / "elsewhere" / "karat.yaml")
    assert karat.validate(path)["cells"] == 1
    assert karat.validate(suite)["cells"] == 1


def test_a_dataset_has_rows_or_a_source() -> None:
    with pytest.raises(ValueError, match="either"):
        karat.Dataset().to_dict()


def test_steps_pass_rows_to_functions_as_json() -> None:
    @karat.system
    def pick(input: str, topic: str) -> str:
        return f"{input} {topic}"

    command = karat.Step(function=pick).to_dict()["command"]
    assert command["run"] == ["host:pick"]
    assert command["stdin"] == '{"input": {{ input | tojson }}, "topic": {{ sample.topic | tojson }}}'


def test_a_scorer_is_no_step() -> None:
    @karat.scorer
    def one(output: str) -> float:
        return 1.0

    with pytest.raises(TypeError, match="@karat.system"):
        karat.Step(function=one).to_dict()


@pytest.mark.parametrize("of", [pandas.DataFrame, polars.DataFrame, pyarrow.Table.from_pylist])
def test_a_data_frame_is_a_dataset(of: Any, folder: Path) -> None:
    """F65: rows of a data frame are those of a suite, and a recorded column is scored without a call."""
    rows = [
        {"id": "a", "question": "2+2", "expected": "4", "answer": "4", "weight": 1.5},
        {"id": "b", "question": "3+3", "expected": "6", "answer": "7", "weight": None},
    ]
    suite = karat.Suite(
        name="answers",
        dataset=karat.Dataset(rows=of(rows), id="id", input="question", reference="expected"),
        variants={"published": [{"recorded": {"column": "answer"}}]},
        scorers={"exact": "exact"},
    )
    assert suite.to_dict()["dataset"]["rows"] == rows
    run = asyncio.run(karat.run_async(suite, progress="none"))
    figures = run.figures().to_arrow().to_pylist()
    assert [(row["value"], row["n"]) for row in figures if row["metric"] == "exact"] == [(0.5, 2)]
    assert run.metrics().to_arrow() == run.figures().to_arrow()
