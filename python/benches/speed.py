"""Figures of the package: a scorer written in Python, and ROUGE and BLEU beside their reference packages.

``python benches/speed.py`` in an environment with the wheel of a release build, rouge-score and sacrebleu. It stops if the values
differ.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sacrebleu
from rouge_score import rouge_scorer

import karat
from karat import metrics

ROWS = 40_000
PAIRS = 2_000
WORDS = "the a cat dog sat ran on under mat house quickly running studies studied of and with 12 3.5 it's".split()


@karat.scorer
def overlap(output: str, reference: str) -> float:
    """A scorer as people write it: a few operations on texts."""
    ours, theirs = set(output.lower().split()), set(reference.lower().split())
    return len(ours & theirs) / max(len(ours | theirs), 1)


@karat.scorer
async def overlap_async(output: str, reference: str) -> float:
    """The same as a coroutine."""
    return overlap(output, reference)


def texts(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(5, 30))) for _ in range(count)]


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    found = work()
    return time.perf_counter() - begin, found


def time_scorer(folder: Path) -> None:
    outputs, references = texts(ROWS, 1), texts(ROWS, 2)
    rows = folder / "rows.jsonl"
    with rows.open("w") as out:
        for n, (output, reference) in enumerate(zip(outputs, references)):
            out.write(json.dumps({"id": f"r{n}", "q": str(n), "ref": reference, "out": output}) + "\n")
    for name, scorer in [("exact (built in)", "exact"), ("Python function", overlap), ("Python coroutine", overlap_async)]:
        suite = karat.Suite(
            name="speed",
            dataset=karat.Dataset(source=rows, id="id", input="q", reference="ref"),
            variants={"given": [{"recorded": {"from": str(rows), "column": "out"}}]},
            scorers={"own": scorer},
            extra={"run": {"max_concurrency": 64}},
        )
        took, run = seconds(lambda: karat.run(suite, home=folder / name.replace(" ", "-"), progress="none"))
        found = run.metrics().to_arrow().to_pylist()[0]
        assert found["n"] == ROWS and found["n_unscored"] == 0, found
        print(f"{name}: {ROWS / took:,.0f} samples/s")


def time_metrics() -> None:
    candidates, references = texts(PAIRS, 3), texts(PAIRS, 4)
    pairs = list(zip(candidates, references))
    kinds = ("rouge1", "rouge2", "rougeL")
    scorer = rouge_scorer.RougeScorer(list(kinds), use_stemmer=True)
    theirs, wanted = seconds(lambda: [[scorer.score(r, c)[kind].fmeasure for kind in kinds] for c, r in pairs])
    ours, found = seconds(
        lambda: [[metrics.rouge(c, r, kind=kind, stemmer=True).f1 for kind in kinds] for c, r in pairs]  # type: ignore[arg-type]
    )
    assert all(abs(a - b) < 1e-12 for one, other in zip(wanted, found) for a, b in zip(one, other))
    print(f"ROUGE-1, 2, L with stemmer: equal, {theirs / ours:.0f} times as fast as rouge-score ({PAIRS / ours:,.0f} pairs/s)")
    theirs, wanted = seconds(lambda: [sacrebleu.sentence_bleu(c, [r]).score for c, r in pairs])
    ours, found = seconds(lambda: [metrics.bleu(c, r) for c, r in pairs])
    assert all(abs(a - b) < 1e-9 for a, b in zip(wanted, found))
    print(f"BLEU of a sentence: equal, {theirs / ours:.0f} times as fast as sacrebleu ({PAIRS / ours:,.0f} pairs/s)")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        time_scorer(Path(folder))
    time_metrics()
