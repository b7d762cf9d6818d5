"""Metrics and statistics against the packages whose values they have."""

from __future__ import annotations

import random

import pytest
import sacrebleu
from rouge_score import rouge_scorer

from karat import metrics, stats

WORDS = "the a cat dog sat ran on under mat house quickly running studies studied of and with 12 3.5 it's".split()


def texts(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(1, 30))) for _ in range(count)]


CANDIDATES, REFERENCES = texts(300, 1), texts(300, 2)


@pytest.mark.parametrize("stemmer", [False, True])
def test_rouge_has_the_values_of_rouge_score(stemmer: bool) -> None:
    kinds = ("rouge1", "rouge2", "rougeL", "rougeLsum")
    scorer = rouge_scorer.RougeScorer(list(kinds), use_stemmer=stemmer)
    for candidate, reference in zip(CANDIDATES, REFERENCES):
        theirs = scorer.score(reference, candidate)
        for kind in kinds:
            ours = metrics.rouge(candidate, reference, kind=kind, stemmer=stemmer)  # type: ignore[arg-type]
            wanted = theirs[kind]
            assert tuple(ours) == pytest.approx((wanted.precision, wanted.recall, wanted.fmeasure), abs=1e-12)


def test_bleu_and_chrf_have_the_values_of_sacrebleu() -> None:
    assert metrics.corpus_bleu(CANDIDATES, REFERENCES) == pytest.approx(
        sacrebleu.corpus_bleu(CANDIDATES, [REFERENCES]).score, abs=1e-9
    )
    assert metrics.corpus_chrf(CANDIDATES, REFERENCES) == pytest.approx(
        sacrebleu.corpus_chrf(CANDIDATES, [REFERENCES]).score, abs=1e-9
    )
    for candidate, reference in zip(CANDIDATES[:100], REFERENCES):
        assert metrics.bleu(candidate, reference) == pytest.approx(
            sacrebleu.sentence_bleu(candidate, [reference]).score, abs=1e-9
        )
        assert metrics.chrf(candidate, reference, words=True) == pytest.approx(
            sacrebleu.sentence_chrf(candidate, [reference], word_order=2).score, abs=1e-9
        )


def test_metrics_of_nothing_are_none() -> None:
    assert metrics.bleu("a", []) is None
    assert metrics.exact_match("a", []) is None
    assert metrics.retrieval(["d1"], []) is None


def test_wrong_options_name_the_right_ones() -> None:
    with pytest.raises(ValueError, match="rouge1, rouge2, rougeL, rougeLsum"):
        metrics.rouge("a", "b", kind="rouge9")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one list for each candidate"):
        metrics.corpus_bleu(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="k is 0"):
        metrics.retrieval(["a"], ["a"], k=0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        stats.mean([1.0, 2.0], level=95)
    with pytest.raises(ValueError, match="not a finite number"):
        stats.mean([1.0, float("nan")])


def test_numbers_are_read_with_their_units() -> None:
    found = metrics.numeric("Revenue was $1.23 billion.", 1_234_000_000, currency="USD", rel=0.01)
    assert (found.passed, found.matched) == (True, "$1.23 billion")
    assert not metrics.numeric("It was 5 %.", 6, unit="percent").passed


def test_rankings_have_all_figures() -> None:
    figures = metrics.retrieval(["d1", "d7", "d3"], {"d7": 1.0, "d9": 1.0}, k=3)
    assert figures is not None
    assert (figures["recall"], figures["reciprocal_rank"], figures["hit_rate"]) == (0.5, 0.5, 1.0)


def test_lists_and_texts() -> None:
    assert metrics.set_f1(["Sales rose by 5%", "New CEO"], ["sales rose by 5 %"], threshold=0.8).recall == 1.0
    assert metrics.token_f1("in Paris, France", "Paris") == pytest.approx(0.5)
    assert metrics.levenshtein_distance("kitten", "sitting") == 3


def test_statistics_have_known_values() -> None:
    # scipy 1.14: binomtest(47, 50).proportion_ci(method="wilson"), ttest_rel, wilcoxon
    wilson = stats.proportion(47, 50)
    assert wilson is not None and wilson.interval is not None
    assert (wilson.interval.lo, wilson.interval.hi) == pytest.approx((0.8378, 0.9794), abs=1e-4)
    before, after = [0.1, 0.4, 0.3, 0.6], [0.2, 0.6, 0.3, 0.9]
    test = stats.paired_t(before, after)
    assert test.mean == pytest.approx(0.15)
    assert test.t == pytest.approx(2.3238, abs=1e-4)
    assert test.p_two_sided == pytest.approx(0.1027, abs=1e-4)
    assert stats.adjust([0.01, 0.04, None, 0.03]) == pytest.approx([0.03, 0.06, None, 0.06])
    kappa = stats.cohen_kappa([1, 1, 2, 2, 3], [1, 2, 2, 2, 3])
    assert kappa is not None and kappa.kappa == pytest.approx(0.6875)
    assert stats.krippendorff_alpha([[1, 2, 3, None], [1, 2, 3, 3]]) == pytest.approx(1.0)
    rho = stats.correlation([1, 2, 3, 4], [1, 3, 2, 4], "spearman")
    assert rho is not None and rho.value == pytest.approx(0.8)
    assert stats.pass_at_k([(2, 1), (2, 2)], 1).any == pytest.approx(0.75)
    needed = stats.items_needed(0.5)
    assert needed is not None and 33 < needed < 34


def test_a_seed_is_all_of_the_randomness() -> None:
    values = [float(n * n % 17) for n in range(60)]
    first, second = stats.bootstrap_mean(values, seed=3), stats.bootstrap_mean(values, seed=3)
    assert first == second and first is not None and first.interval is not None
    assert first.interval.lo < sum(values) / 60 < first.interval.hi
