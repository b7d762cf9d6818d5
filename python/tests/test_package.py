"""The package as its users meet it: types, README, notebook, pytest."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import karat

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent


def test_types_are_strict(folder: Path) -> None:
    installed = Path(karat.__file__).parent
    assert (installed / "py.typed").is_file()
    program = folder / "program.py"
    program.write_text(
        "import karat\n"
        "from karat import metrics, stats\n\n"
        "@karat.scorer\n"
        "def own(output: str) -> float:\n"
        "    return metrics.rouge(output, 'x').f1\n\n"
        "reveal_type(own)\n"
        "reveal_type(stats.proportion(1, 2))\n"
        "run: karat.Run = karat.run('faq', limit=3)\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "def (output: str) -> float" in done.stdout and "karat.stats.Estimate] | None" in done.stdout


def test_readme_runs_as_it_is_written(folder: Path) -> None:
    """The README's blocks are one program. CI runs them in a fresh environment: KARAT_TEST_README_PYTHON."""
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.M | re.S)
    assert len(blocks) >= 5
    program = folder / "readme.py"
    program.write_text("\n".join(blocks), encoding="utf-8")
    python = os.environ.get("KARAT_TEST_README_PYTHON", sys.executable)
    done = subprocess.run([python, str(program)], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "0.857" in done.stdout and "True" in done.stdout


def test_a_notebook_shows_progress_and_the_report(folder: Path) -> None:
    cells = [
        "import karat\nrun = karat.run('faq', limit=8)",
        "run",
        "run.compare_systems('may', 'june')",
        "@karat.scorer\nasync def long(output):\n    return len(output) > 3\n",
        "karat.run(karat.Suite(name='own', dataset=karat.Dataset(rows=[{'id': 'x', 'q': 'hello'}], id='id', input='q'), "
        "models=['stub'], variants={'ask': [karat.Step(prompt='{{ input }}')]}, scorers={'long': long})).status",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    shown = [output.data["text/html"] for cell in notebook.cells for output in cell.outputs if "data" in output and "text/html" in output.data]
    assert "<progress" in shown[0] and "16/16" in shown[0]
    assert "<pre>" in shown[1] and "f1" in shown[1] and len(shown[1]) < 20_000
    assert "<pre>" in shown[2]
    target = os.environ.get("KARAT_TEST_NOTEBOOK")
    if target:
        nbformat.write(notebook, target)


def test_the_fixture_fails_a_test_whose_gate_fails(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_good(karat_gate):
            assert karat_gate("faq", limit=5, min={"f1": 0.0})

        def test_bad(karat_gate):
            karat_gate("faq", limit=5, min={"f1": 1.0})
        """
    )
    result = pytester.runpytest_subprocess("--junitxml=junit.xml", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*gates of run*", "*f1*"])
    junit = (pytester.path / "junit.xml").read_text()
    assert 'name="karat_run"' in junit


def test_each_cell_is_a_test(pytester: pytest.Pytester) -> None:
    """F65: one subtest a cell; a cell that fails is named with its reason, and the others pass."""
    pytester.makepyfile(
        """
        import karat

        def test_cells(karat_cells):
            rows = [
                {"id": "good", "question": "q", "expected": "yes", "answer": "yes"},
                {"id": "bad", "question": "q", "expected": "yes", "answer": "no"},
            ]
            run = karat_cells(karat.Suite(
                name="answers",
                dataset=karat.Dataset(rows=rows, id="id", input="question", reference="expected"),
                variants={"published": [{"recorded": {"column": "answer"}}]},
                scorers={"exact": "exact"},
            ))
            assert run.status == "finished"
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    if tuple(int(part) for part in pytest.__version__.split(".")[:1]) < (9,):
        result.stdout.fnmatch_lines(["*needs pytest 9*"])
        return
    result.stdout.fnmatch_lines(["*answers.published: bad*"])
    assert "published: good" not in result.stdout.str()
    assert result.ret == 1
