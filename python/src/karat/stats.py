"""Statistics as plain functions: intervals, paired tests, agreement. What the data do not define is ``None``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from karat import _karat

__all__ = [
    "Calibration",
    "Correlation",
    "EffectSizes",
    "Estimate",
    "Interval",
    "Kappa",
    "McNemar",
    "PairedT",
    "PassAtK",
    "SignTest",
    "Wilcoxon",
    "adjust",
    "bootstrap_mean",
    "calibration",
    "cohen_kappa",
    "correlation",
    "effect_sizes",
    "items_needed",
    "krippendorff_alpha",
    "mcnemar",
    "mean",
    "paired_t",
    "pass_at_k",
    "power",
    "proportion",
    "sign_test",
    "wilcoxon",
]


class Interval(NamedTuple):
    """A confidence interval."""

    lo: float
    hi: float
    level: float
    method: str


class Estimate(NamedTuple):
    """A figure with its uncertainty."""

    value: float | None
    interval: Interval | None
    n: int
    standard_error: float | None = None


class PairedT(NamedTuple):
    """The paired t test of candidate − baseline."""

    n: int
    mean: float | None
    standard_error: float | None
    t: float | None
    p_two_sided: float | None
    p_less: float | None
    p_greater: float | None
    interval: Interval | None
    cohen_dz: float | None


class Wilcoxon(NamedTuple):
    """The signed-rank test of candidate − baseline."""

    w_plus: float
    w_minus: float
    p_exact: float | None
    p_normal: float | None


class SignTest(NamedTuple):
    """The sign test of candidate − baseline."""

    positive: int
    negative: int
    zero: int
    p_two_sided: float


class McNemar(NamedTuple):
    """McNemar's test of two lists of passes."""

    discordant: int
    p_exact: float
    p_mid: float
    difference: float | None
    interval: Interval | None


class EffectSizes(NamedTuple):
    """Effect sizes of two unpaired groups, candidate − baseline."""

    mean_difference: float | None
    cohen_d: float | None
    hedges_g: float | None
    glass_delta: float | None
    cliffs_delta: float | None
    vargha_delaney_a: float | None


class Kappa(NamedTuple):
    """Cohen's kappa."""

    kappa: float
    interval: Interval | None


class Correlation(NamedTuple):
    """A coefficient from −1 to 1."""

    value: float
    p_value: float | None


class PassAtK(NamedTuple):
    """Means over the tasks with at least k samples."""

    any: float | None
    """pass@k: at least one of k samples passes."""
    all: float | None
    """pass^k: all k samples pass."""
    standard_error_any: float | None
    standard_error_all: float | None
    n_tasks: int


class Calibration(NamedTuple):
    """Confidence against outcomes."""

    ece: float
    ece_equal_mass: float
    mce: float
    brier: float
    log_loss: float
    accuracy: float
    mean_confidence: float


def _interval(bounds: tuple[float, float, float, str] | None) -> Interval | None:
    return None if bounds is None else Interval(*bounds)


def mean(values: Sequence[float], *, clusters: Sequence[str] | None = None, level: float = 0.95) -> Estimate:
    """The mean with Student's t interval; with ``clusters``, one for each value, cluster-robust."""
    n, value, standard_error, bounds = _karat.stats_mean(values, clusters, level)
    return Estimate(value, _interval(bounds), n, standard_error)


def proportion(
    successes: int,
    n: int,
    *,
    method: Literal["wilson", "clopper-pearson", "agresti-coull", "jeffreys", "wald"] = "wilson",
    level: float = 0.95,
) -> Estimate | None:
    """A rate with its interval; ``None`` without trials."""
    found = _karat.stats_proportion(float(successes), float(n), method, level)
    return None if found is None else Estimate(found[0], _interval(found[1]), n)


def bootstrap_mean(
    values: Sequence[float], *, resamples: int = 10_000, seed: int = 0, level: float = 0.95
) -> Estimate | None:
    """The mean with a percentile bootstrap interval. The seed is all of the randomness."""
    found = _karat.stats_bootstrap_mean(values, resamples, seed, level)
    return None if found is None else Estimate(found[0], _interval(found[1]), len(values))


def paired_t(baseline: Sequence[float], candidate: Sequence[float], *, level: float = 0.95) -> PairedT:
    """Tests whether the mean difference of pairs is 0."""
    found = _karat.stats_paired_t(baseline, candidate, level)
    return PairedT(**{**found, "interval": _interval(found["interval"])})


def wilcoxon(
    baseline: Sequence[float], candidate: Sequence[float], *, zeros: Literal["pratt", "drop"] = "pratt"
) -> Wilcoxon | None:
    """Wilcoxon's signed-rank test."""
    found = _karat.stats_wilcoxon(baseline, candidate, zeros)
    return None if found is None else Wilcoxon(*found)


def sign_test(baseline: Sequence[float], candidate: Sequence[float]) -> SignTest | None:
    """The exact sign test."""
    found = _karat.stats_sign_test(baseline, candidate)
    return None if found is None else SignTest(*found)


def mcnemar(baseline: Sequence[bool], candidate: Sequence[bool], *, level: float = 0.95) -> McNemar:
    """Tests whether two pass rates on the same items are equal."""
    discordant, p_exact, p_mid, difference, bounds = _karat.stats_mcnemar(baseline, candidate, level)
    return McNemar(discordant, p_exact, p_mid, difference, _interval(bounds))


def effect_sizes(baseline: Sequence[float], candidate: Sequence[float]) -> EffectSizes:
    """Effect sizes of two unpaired groups."""
    return EffectSizes(**_karat.stats_effect_sizes(baseline, candidate))


def adjust(
    p_values: Sequence[float | None], correction: Literal["bonferroni", "holm", "hochberg", "bh", "by"] = "holm"
) -> list[float | None]:
    """P-values adjusted for their number, in the order given. Undefined ones stay undefined."""
    return _karat.stats_adjust(p_values, correction)


def power(effect: float, n: float, *, level: float = 0.95) -> float | None:
    """Power of the two-sided paired t test for the standardised effect mean ÷ standard deviation."""
    return _karat.stats_power(effect, n, level)


def items_needed(effect: float, *, power: float = 0.8, level: float = 0.95) -> float | None:
    """The number of pairs with which the two-sided paired t test has this power; show the ceiling."""
    return _karat.stats_items_needed(effect, power, level)


def cohen_kappa(
    a: Sequence[float],
    b: Sequence[float],
    *,
    scale: Sequence[float] | None = None,
    weights: Literal["none", "linear", "quadratic"] = "none",
    level: float = 0.95,
) -> Kappa | None:
    """Agreement of two raters beyond chance. ``scale`` lists all possible ratings; without it, those that occur."""
    known = sorted({*a, *b}) if scale is None else scale
    found = _karat.stats_cohen_kappa(a, b, known, weights, level)
    return None if found is None else Kappa(found[0], _interval(found[1]))


def krippendorff_alpha(
    raters: Sequence[Sequence[float | None]],
    *,
    measurement: Literal["nominal", "ordinal", "interval", "ratio"] = "nominal",
) -> float | None:
    """Agreement of raters, each a list with a value or ``None`` for every unit."""
    return _karat.stats_krippendorff_alpha(raters, measurement)


def correlation(
    x: Sequence[float], y: Sequence[float], kind: Literal["pearson", "spearman", "kendall"] = "pearson"
) -> Correlation | None:
    """A correlation coefficient with its p-value."""
    found = _karat.stats_correlation(x, y, kind)
    return None if found is None else Correlation(*found)


def pass_at_k(tasks: Sequence[tuple[int, int]], k: int) -> PassAtK:
    """pass@k and pass^k of tasks, each ``(samples, passed)``."""
    return PassAtK(*_karat.stats_pass_at_k(tasks, k))


def calibration(confidence: Sequence[float], correct: Sequence[bool], *, bins: int = 10) -> Calibration | None:
    """Calibration of confidences from 0 to 1 against whether the item was correct."""
    found = _karat.stats_calibration(confidence, correct, bins)
    return None if found is None else Calibration(**found)
