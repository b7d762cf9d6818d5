"""Scorers, systems and tools written in Python."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import karat
from karat import functions

ROWS = [{"id": f"r{n}", "question": f"q{n}", "answer": f"Q{n}"} for n in range(20)]
DATASET = karat.Dataset(rows=ROWS, id="id", input="question", reference="answer")


def suite(scorers: dict[str, Any], variants: dict[str, Any], **more: Any) -> karat.Suite:
    return karat.Suite(name="functions", dataset=DATASET, variants=variants, scorers=scorers, **more)


def cells(run: karat.Run) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = run.cells().to_arrow().to_pylist()
    return rows


def scores(run: karat.Run, metric: str) -> list[dict[str, Any]]:
    return [row for row in run.scores().to_arrow().to_pylist() if row["metric"] == metric]


def test_scorers_say_numbers_verdicts_and_why_not() -> None:
    """BY-15: a scorer written in Python gives a number, a pass or fail, a reason, or says that it cannot say."""

    @karat.system
    def upper(input: str) -> str:
        return input.upper()

    @karat.scorer
    def number(output: str) -> float:
        return len(output) / 10

    @karat.scorer
    async def verdict(output: str, reference: str) -> karat.Score:
        await asyncio.sleep(0)
        return karat.Score(output == reference, "compared")

    @karat.scorer
    def sometimes(sample: dict[str, Any]) -> float | karat.NotApplicable | karat.Unscored | None:
        n = int(sample["id"][1:])
        if n == 0:
            return None
        if n == 1:
            return karat.NotApplicable("not this one")
        if n == 2:
            return karat.Unscored("cannot say")
        return 1.0

    run = karat.run(suite({"number": number, "verdict": verdict, "sometimes": sometimes}, {"upper": upper}), progress="none")
    assert scores(run, "number")[0]["value"] == pytest.approx(0.2)
    assert {(row["verdict"], row["reason"]) for row in scores(run, "verdict")} == {("pass", "compared")}
    states = [row["state"] for row in scores(run, "sometimes")]
    assert (states.count("na"), states.count("unscored"), states.count("scored")) == (2, 1, 17)


def test_exceptions_are_errors_of_their_cell() -> None:
    """An exception fails its cell alone and names the last frame; in a scorer it leaves the cell unscored."""

    def helper(text: str) -> int:
        return int(text[1:]) // (0 if text == "q3" else 1)

    @karat.system
    def divide(input: str) -> str:
        return f"Q{helper(input)}"

    @karat.scorer
    def picky(output: str) -> float:
        if output == "Q5":
            raise ValueError("five is wrong")
        return 1.0

    run = karat.run(suite({"picky": picky}, {"divide": divide}), progress="none")
    failed = [row for row in cells(run) if row["status"] == "error"]
    assert [row["sample"] for row in failed] == ["r3"]
    assert "ZeroDivisionError" in failed[0]["error_message"] and "in helper" in failed[0]["error_message"]
    unscored = [row for row in scores(run, "picky") if row["state"] == "unscored"]
    assert [row["sample"] for row in unscored] == ["r5"]
    assert "ValueError: five is wrong" in unscored[0]["reason"] and "in picky" in unscored[0]["reason"]


@pytest.mark.parametrize("kind", ["threads", "coroutines"])
def test_many_calls_wait_at_once(kind: str) -> None:
    """Twenty calls of half a second take much less than ten seconds."""
    if kind == "threads":

        @karat.system(name="wait")
        def wait(input: str) -> str:
            time.sleep(0.5)
            return input
    else:

        @karat.system(name="wait")
        async def wait(input: str) -> str:
            await asyncio.sleep(0.5)
            return input

    begin = time.monotonic()
    run = karat.run(suite({"exact": "exact"}, {"wait": wait}, extra={"run": {"max_concurrency": 20}}), progress="none")
    assert run.status == "finished"
    assert time.monotonic() - begin < 5


def test_short_functions_share_a_thread() -> None:
    """Functions that only compute are called by few threads, which do not take the interpreter from each other."""
    threads: set[int] = set()

    @karat.scorer
    def short(output: str) -> float:
        threads.add(threading.get_ident())
        return len(output) / 10

    @karat.system
    def echo(input: str) -> str:
        return input

    rows = [{"id": f"r{n}", "question": f"q{n}"} for n in range(2000)]
    dataset = karat.Dataset(rows=rows, id="id", input="question", reference="question")
    made = karat.Suite(name="short", dataset=dataset, variants={"echo": echo}, scorers={"short": short})
    assert karat.run(made, progress="none").metrics().to_arrow().to_pylist()[0]["n"] == 2000
    assert len(threads) <= 16


def test_a_call_that_waits_holds_up_no_other() -> None:
    """The others go on while one waits, though they are short, and so does what comes after it."""
    ends: dict[str, float] = {}

    @karat.system
    def seldom_slow(input: str) -> str:
        time.sleep(1.5 if input in ("q0", "q9") else 0)
        ends[input] = time.monotonic()
        return input

    begin = time.monotonic()
    made = suite({"exact": "exact"}, {"slow": seldom_slow}, extra={"run": {"max_concurrency": 4}})
    assert karat.run(made, progress="none").status == "finished"
    slow = [ends.pop("q0"), ends.pop("q9")]
    assert max(ends.values()) < min(slow)
    assert max(slow) - begin < 2.9


def test_columns_of_a_row_are_arguments_by_name() -> None:
    @karat.system
    def compose(input: str, answer: str, sample: dict[str, Any]) -> dict[str, Any]:
        return {"text": f"{input}/{answer}", "id": sample["id"]}

    run = karat.run(suite({"exact": "exact"}, {"compose": compose}), progress="none")
    assert '"text":"q0/Q0"' in cells(run)[0]["output"].replace(" ", "")


def test_results_are_reused_until_the_source_changes() -> None:
    """Invariant 4: a function is its source, or its declared version."""
    calls: list[str] = []

    @karat.system(name="counted")
    def first(input: str) -> str:
        calls.append(input)
        return input.upper()

    made = suite({"exact": "exact"}, {"counted": first})
    karat.run(made, progress="none")
    karat.run(made, progress="none")
    assert len(calls) == 20

    @karat.system(name="counted")
    def second(input: str) -> str:
        calls.append(input)
        return input.title()

    karat.run(suite({"exact": "exact"}, {"counted": second}), progress="none")
    assert len(calls) == 40


def test_a_suite_file_names_functions(folder: Path) -> None:
    """A file says `host:NAME`; without the function the run ends before its first call and says what to do."""
    (folder / "karat.yaml").write_text(
        """
schema: karat.suite/1
name: file
dataset: { rows: [ { id: a, q: hello } ], id: id, input: q, reference: q }
variants: { echo: [ { command: { run: ["host:echo"] } } ] }
scorers: { own: { metric: command, with: { run: ["host:own"] } } }
"""
    )
    with pytest.raises(karat.KaratError, match="host function `echo`.*@karat.scorer"):
        karat.run(progress="none")

    @karat.system
    def echo(input: str) -> str:
        return input

    @karat.scorer
    def own(output: str, reference: str) -> bool:
        return output == reference

    run = karat.run(progress="none")
    assert scores(run, "own")[0]["value"] == 1.0


def test_models_call_tools_in_this_process(folder: Path) -> None:
    """A tool gets the arguments of the model; what it says on purpose is told to the model, other errors fail the cell."""

    @karat.tool
    def price(item: str, count: int = 1) -> dict[str, Any]:
        """Looks a price up."""
        if item == "unicorn":
            raise karat.ToolError("there are no unicorns")
        return {"usd": 2 * count}

    assert functions.tool_input(price) == {
        "type": "object",
        "properties": {"item": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["item"],
    }

    def ask(item: str) -> list[dict[str, Any]]:
        return [
            {"match": item, "turn": 1, "tool_calls": [{"name": "price", "arguments": {"item": item, "count": 3}}]},
            {"match": item, "turn": 2, "reply": "done"},
        ]

    model = {"id": "buyer", "provider": "scripted", "with": {"replies": [*ask("apple"), *ask("unicorn")]}}
    made = karat.Suite(
        name="tools",
        dataset=karat.Dataset(rows=[{"id": "a", "q": "apple"}, {"id": "u", "q": "unicorn"}], id="id", input="q", reference="q"),
        models=[model],
        tools=[price],
        variants={"agent": [{"agent": {"user": "{{ input }}", "tools": ["price"]}}]},
        scorers={"calls": karat.Scorer(metric="count", output="$.turns")},
    )
    outputs = [row["output"] for row in cells(karat.run(made, progress="none"))]
    assert '"usd":6' in outputs[0].replace(" ", "").replace("\\", "")
    assert "there are no unicorns" in outputs[1]


def test_a_function_that_takes_too_long_fails_its_cell() -> None:
    @karat.system
    def slow(input: str) -> str:
        time.sleep(1.5 if input == "q1" else 0)
        return input

    made = suite({"exact": "exact"}, {"slow": [karat.Step(function=slow, timeout=0.3)]})
    failed = [row for row in cells(karat.run(made, progress="none")) if row["status"] == "error"]
    assert [(row["sample"], row["error_code"]) for row in failed] == [("r1", "timeout")]
    assert "function `slow`: it did not return within 300ms" in failed[0]["error_message"]


def test_safe_runs_refuse_functions() -> None:
    """BY-15: `safe` refuses what runs code, which functions are."""

    @karat.system
    def echo(input: str) -> str:
        return input

    with pytest.raises(karat.KaratError, match="command"):
        karat.run(suite({"exact": "exact"}, {"echo": echo}), safe=True, progress="none")


def test_runs_of_several_threads_do_not_disturb_each_other() -> None:
    @karat.system
    def echo(input: str) -> str:
        time.sleep(0.01)
        return input

    def work(n: int) -> int | None:
        dataset = karat.Dataset(rows=[{"id": f"{n}-{i}", "q": f"{n} {i}"} for i in range(10)], id="id", input="q", reference="q")
        made = karat.Suite(name=f"thread{n}", dataset=dataset, variants={"echo": echo}, scorers={"exact": "exact"})
        return karat.run(made, progress="none").metrics().to_arrow().to_pylist()[0]["n"]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [10, 10, 10, 10]


def test_registration_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match="a scorer takes output, reference, input, sample"):

        @karat.scorer
        def wrong(answer: str) -> float:
            return 1.0

    with pytest.raises(ValueError, match="no name of a function"):
        karat.scorer(name="a b")(lambda output: 1.0)
    with pytest.raises(ValueError, match="not registered"):
        karat.Scorer(function=len).to_dict()


def test_decorated_functions_stay_functions() -> None:
    @karat.scorer
    def half(output: str) -> float:
        return 0.5

    assert half("x") == 0.5
    assert functions.registry["half"].version.startswith("source-")
    karat.scorer(version="7", name="half")(half)
    assert functions.registry["half"].version == "7"
