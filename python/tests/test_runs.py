"""Runs, their tables, gates and comparisons."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import get_args

import duckdb
import pandas
import polars
import pyarrow
import pytest

import karat
from karat._formats import Format


@pytest.fixture(scope="module")
def faq(tmp_path_factory: pytest.TempPathFactory) -> karat.Run:
    home = tmp_path_factory.mktemp("faq") / ".karat"
    return karat.run("faq", home=home, progress="none")


def test_a_preset_runs_and_its_figures_have_intervals(faq: karat.Run) -> None:
    assert faq.status == "finished"
    rows = faq.metrics().to_arrow().to_pylist()
    f1 = [row for row in rows if row["metric"] == "f1"]
    assert {row["variant"] for row in f1} == {"may", "june"}
    assert all(row["lo"] <= row["value"] <= row["hi"] and row["n"] > 0 and row["method"] for row in f1)


def test_libraries_read_the_same_tables(faq: karat.Run) -> None:
    """IO-12: every reader of Arrow sees the same rows, and their means are the metrics."""
    table = faq.cells().to_arrow()
    assert table.num_rows > 0
    assert polars.DataFrame(faq.cells()).height == table.num_rows
    frame = faq.cells().to_pandas()
    assert len(frame) == table.num_rows
    connection = duckdb.connect()
    connection.register("cells", table)
    means = dict(connection.sql('select variant, avg("score.f1") from cells group by variant').fetchall())
    metrics = {row["variant"]: row["value"] for row in faq.metrics().to_arrow().to_pylist() if row["metric"] == "f1"}
    assert means == pytest.approx(metrics)


def test_a_stream_can_be_left_early(faq: karat.Run) -> None:
    for _ in range(20):
        reader = pyarrow.RecordBatchReader.from_stream(faq.scores())
        reader.close()
        del reader
    assert faq.scores().to_arrow().num_rows > 0


def test_scores_and_judgments_are_tables(faq: karat.Run) -> None:
    scores = polars.DataFrame(faq.scores())
    assert set(scores["state"]) <= {"scored", "na", "unscored"}
    assert polars.DataFrame(faq.judgments()).height == 0
    assert "latency_ms" in faq.calls().to_arrow().column_names


def test_reports_gates_and_comparisons(faq: karat.Run) -> None:
    assert faq.report("md").startswith("#")
    assert "<html" in faq.report("html")
    assert all(faq.report(format) for format in get_args(Format))
    shown = faq._repr_html_()
    assert "f1" in shown and faq.id in shown and len(shown) < 20_000 and "<script" not in shown
    assert not faq.gate(min={"f1": 0.999}).passed
    assert faq.gate(min={"f1": "1%"}).passed
    compared = faq.compare_systems("may", "june")
    assert "f1" in str(compared) and compared.data and "f1" in compared._repr_html_()


def test_a_second_run_reuses_and_compares(faq: karat.Run) -> None:
    again = karat.run("faq", limit=10, home=faq._home, progress="none")
    assert "f1" in str(again.compare(faq, allow_changed=True))
    assert karat.load("latest", home=faq._home).id == again.id


def test_errors_say_what_to_do(folder: Path) -> None:
    with pytest.raises(karat.KaratError, match="faq") as raised:
        karat.run("fqa", progress="none")
    assert raised.value.exit_code == 1
    (folder / "karat.yaml").write_text("schema: karat.suite/1\nname: x\nvariant: {}\n")
    with pytest.raises(karat.KaratError, match="variants"):
        karat.validate()
    with pytest.raises(karat.KaratError, match="run"):
        karat.load("nothing")


def test_progress_tells_the_cells(folder: Path) -> None:
    told: list[tuple[int, int]] = []

    def progress(done: int, total: int, failed: int, spent_usd: float, messages: list[str]) -> None:
        told.append((done, total))

    karat.run("faq", limit=5, progress=progress)
    assert told[-1] == (10, 10)


def test_ctrl_c_stops_in_order_and_resume_continues(folder: Path) -> None:
    """Ctrl-C keeps what is done; the rest is made later, and nothing twice."""
    made: list[str] = []

    @karat.system
    def slow(id: str) -> str:
        made.append(id)
        time.sleep(0.02)
        return id

    rows = [{"id": f"r{n}", "question": str(n)} for n in range(200)]
    suite = karat.Suite(
        name="slow",
        dataset=karat.Dataset(rows=rows, id="id", input="question", reference="question"),
        variants={"slow": slow},
        scorers={"exact": "exact"},
        extra={"run": {"max_concurrency": 2}},
    )
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(karat.RunInterrupted) as raised:
        karat.run(suite, progress="none")
    done = len(made)
    assert 0 < done < 200
    whole = karat.load(raised.value.run_id).resume(progress="none")
    assert whole.status == "finished"
    assert len(made) <= 200 + 2
    exact = [row for row in whole.metrics().to_arrow().to_pylist() if row["metric"] == "exact"]
    assert (exact[0]["n"], exact[0]["value"]) == (200, 1.0)


def test_python_goes_on_while_a_run_works(folder: Path) -> None:
    """The interpreter is attached only while Python code runs."""
    ticks = 0
    over = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not over.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.monotonic()
    karat.run("claims", limit=5, progress="none")
    seconds = time.monotonic() - begin
    over.set()
    thread.join()
    assert ticks > 100 * seconds


def test_pandas_has_nulls_for_what_is_absent(faq: karat.Run) -> None:
    frame = faq.cells().to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["error_code"].isna().all()
