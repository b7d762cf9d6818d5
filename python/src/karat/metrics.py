"""Deterministic metrics as plain functions, with the values of their reference implementations.

Numbers that a metric does not define (no reference, no relevant document) are ``None``, never 0 and never NaN.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypedDict

from karat import _karat

__all__ = [
    "Numeric",
    "Overlap",
    "Retrieval",
    "SetScore",
    "bleu",
    "chrf",
    "corpus_bleu",
    "corpus_chrf",
    "exact_match",
    "jaccard_words",
    "levenshtein_distance",
    "levenshtein_ratio",
    "normalize_answer",
    "numeric",
    "retrieval",
    "rouge",
    "set_f1",
    "token_f1",
]

RougeKind = Literal["rouge1", "rouge2", "rougeL", "rougeLsum"]
BleuTokenizer = Literal["13a", "intl", "zh", "char", "none"]


class Overlap(NamedTuple):
    """Overlap of a candidate with a reference, each figure from 0 to 1."""

    precision: float
    recall: float
    f1: float


class SetScore(NamedTuple):
    """Overlap of two lists. A share of an empty list is ``None``."""

    precision: float | None
    recall: float | None
    f1: float


class Numeric(NamedTuple):
    """The comparison of a text with an expected number."""

    passed: bool
    matched: str | None
    """The number that matched, as the text writes it."""
    reason: str


class Retrieval(TypedDict):
    """Figures of one ranking."""

    recall: float
    precision: float
    f1: float
    hit_rate: float
    reciprocal_rank: float
    average_precision: float
    r_precision: float
    ndcg: float


def _texts(references: str | Iterable[str]) -> list[str]:
    return [references] if isinstance(references, str) else list(references)


def rouge(
    candidate: str,
    reference: str,
    *,
    kind: RougeKind = "rougeL",
    stemmer: bool = False,
    tokens: Literal["ascii", "unicode"] = "ascii",
) -> Overlap:
    """ROUGE as ``rouge-score`` 0.1.2 computes it; ``tokens="unicode"`` works for every script and equals no other
    implementation's numbers.

    >>> round(rouge("the cat sat", "the cat sat down", kind="rouge1").f1, 4)
    0.8571
    """
    return Overlap(*_karat.rouge(candidate, reference, kind, tokens, stemmer))


def bleu(
    candidate: str,
    references: str | Iterable[str],
    *,
    tokenizer: BleuTokenizer = "13a",
    lowercase: bool = False,
) -> float | None:
    """BLEU of one sentence with effective order, 0 to 100, as ``sacrebleu.sentence_bleu``."""
    return _karat.bleu([candidate], [_texts(references)], "sentence", tokenizer, lowercase)


def corpus_bleu(
    candidates: Sequence[str],
    references: Sequence[str | Sequence[str]],
    *,
    tokenizer: BleuTokenizer = "13a",
    lowercase: bool = False,
) -> float | None:
    """BLEU of a corpus, 0 to 100, as ``sacrebleu.corpus_bleu``. ``references`` has one text or list for each candidate."""
    return _karat.bleu(candidates, [_texts(each) for each in references], "corpus", tokenizer, lowercase)


def chrf(candidate: str, references: str | Iterable[str], *, words: bool = False, lowercase: bool = False) -> float | None:
    """chrF2 of one sentence, 0 to 100; with ``words`` chrF++, as sacrebleu."""
    return _karat.chrf([candidate], [_texts(references)], words, lowercase)


def corpus_chrf(
    candidates: Sequence[str],
    references: Sequence[str | Sequence[str]],
    *,
    words: bool = False,
    lowercase: bool = False,
) -> float | None:
    """chrF2 of a corpus, 0 to 100; with ``words`` chrF++, as sacrebleu."""
    return _karat.chrf(candidates, [_texts(each) for each in references], words, lowercase)


def exact_match(prediction: str, references: str | Iterable[str]) -> bool | None:
    """Equality with any reference after SQuAD's normalisation.

    >>> exact_match("The Eiffel Tower", "eiffel tower")
    True
    """
    return _karat.exact_match(prediction, _texts(references))


def token_f1(prediction: str, references: str | Iterable[str]) -> float | None:
    """The best token F1 over the references, as SQuAD 2.0."""
    return _karat.token_f1(prediction, _texts(references))


def normalize_answer(answer: str) -> str:
    """SQuAD's normal form: lower case, without punctuation and articles."""
    return _karat.normalize_answer(answer)


def levenshtein_distance(a: str, b: str) -> int:
    """Insertions, deletions and replacements of code points."""
    return _karat.levenshtein_distance(a, b)


def levenshtein_ratio(a: str, b: str) -> float:
    """Similarity by edits, 0 to 1."""
    return _karat.levenshtein_ratio(a, b)


def jaccard_words(a: str, b: str) -> float:
    """Common words divided by all words."""
    return _karat.jaccard_words(a, b)


def numeric(
    answer: str,
    expected: float | int | str | tuple[float, float],
    *,
    unit: str = "",
    currency: str = "",
    rel: float | None = None,
    abs: float | None = None,
    pick: Literal["any", "first", "last"] = "any",
    decimal: Literal["auto", "point", "comma"] = "auto",
    context: Literal["general", "finance"] = "general",
) -> Numeric:
    """Compares the numbers in a text with an expected one, with scales, units and currencies.

    >>> numeric("Revenue was $1.23 billion.", 1_234_000_000, currency="USD", rel=0.01).passed
    True
    """
    wanted = json.dumps(expected, allow_nan=False)
    return Numeric(*_karat.numeric(answer, wanted, unit, currency, rel, abs, pick, decimal, context))


def retrieval(
    ranking: Sequence[str],
    relevant: Iterable[str] | Mapping[str, float],
    *,
    k: int | None = None,
    gain: Literal["linear", "exponential"] = "linear",
) -> Retrieval | None:
    """Figures of one ranking at ``k``. ``relevant`` is a list of documents, or grades by document.

    >>> figures = retrieval(["d1", "d7", "d3"], ["d7", "d9"], k=3)
    >>> figures and figures["recall"]
    0.5
    """
    if k is not None and k < 1:
        raise ValueError(f"k is {k}; it must be 1 or more")
    grades = list(relevant.items()) if isinstance(relevant, Mapping) else [(each, 1.0) for each in relevant]
    found = _karat.retrieval(ranking, grades, k, gain)
    if found is None:
        return None
    return Retrieval(
        recall=found["recall"],
        precision=found["precision"],
        f1=found["f1"],
        hit_rate=found["hit_rate"],
        reciprocal_rank=found["reciprocal_rank"],
        average_precision=found["average_precision"],
        r_precision=found["r_precision"],
        ndcg=found["ndcg"],
    )


def set_f1(
    candidate: Sequence[str],
    reference: Sequence[str],
    *,
    similarity: Literal["indel", "levenshtein", "jaccard", "token_f1"] = "indel",
    threshold: float = 1.0,
) -> SetScore:
    """Precision, recall and F1 of two lists whose members match one to one from a similarity on."""
    return SetScore(*_karat.set_f1(candidate, reference, similarity, threshold))
