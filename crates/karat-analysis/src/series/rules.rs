//! The bounds of a card, from the suite's gates on single samples.
//!
//! Only gates with `min` or `max` decide whether a card fails; a gate on a change decides whether it has regressed.

use karat_types::{Better, Gate, GateReference, Subject, Threshold};

use super::flags::CardFlags;
use super::input::SeriesInput;
use super::rubric::Composition;
use super::view::{SeriesCard, SeriesGate};
use crate::score::instrument::metric_names::matches_pattern;

/// Share of the scale that a grade may drop without a gate on drops: 0.5 on a scale from 1 to 5, as in
/// `karat golden check`.
const DROP_SHARE: f64 = 0.125;

/// Rounding error of a difference.
const ROUNDING: f64 = 1e-9;

/// A figure of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Figure {
    Composite,
    Axis(usize),
}

/// A bound on a figure.
#[derive(Debug, Clone, Copy)]
struct FigureBound {
    figure: Figure,
    min: Option<f64>,
    max: Option<f64>,
}

/// The bounds of cards.
#[derive(Debug, Clone)]
pub(super) struct CardRules {
    bounds: Vec<FigureBound>,
    better: Better,
    /// The gate on the composite alone.
    pub(super) gate: Option<SeriesGate>,
    /// Each gate as a text.
    pub(super) rules: Vec<String>,
    pub(super) max_drop: Option<f64>,
    pub(super) high: Option<f64>,
    /// Gates that are left out, and why.
    pub(super) notes: Vec<String>,
}

impl CardRules {
    pub(super) fn of(input: &SeriesInput<'_>, rubric: &Composition, range: Option<(f64, f64)>, better: Better) -> Self {
        let per_sample: Vec<&Gate> = input.rules.gates.iter().filter(|gate| gate.per == "sample").collect();
        let (conditional, gates): (Vec<&Gate>, Vec<&Gate>) =
            per_sample.into_iter().partition(|gate| gate.condition.is_some());
        let left_out = |gate: &&Gate| is_about(gate, input, rubric) && (gate.min.is_some() || gate.max.is_some());
        let mut rules = Self {
            bounds: Vec::new(),
            better,
            gate: None,
            rules: Vec::new(),
            max_drop: drop_bound(&gates, input.metric, range, better),
            high: range
                .map(|(lo, hi)| if better == Better::Higher { hi - (hi - lo) / 4.0 } else { lo + (hi - lo) / 4.0 }),
            notes: conditional
                .into_iter()
                .filter(left_out)
                .map(|gate| {
                    format!("the gate `{}` holds only where its condition does; this page does not count it", gate.id)
                })
                .collect(),
        };
        gates.into_iter().filter(left_out).for_each(|gate| rules.add(gate, input.metric, rubric));
        rules
    }

    fn add(&mut self, gate: &Gate, metric: &str, rubric: &Composition) {
        let Subject::Metric(pattern) = &gate.subject else { return };
        let (min, max) = (gate.min.map(|it| it.value), gate.max.map(|it| it.value));
        let axes = rubric.axes.iter().enumerate().filter(|(_, axis)| matches_pattern(pattern, &axis.metric));
        let composite = matches_pattern(pattern, metric).then_some(Figure::Composite);
        let figures = composite.into_iter().chain(axes.map(|(at, _)| Figure::Axis(at)));
        self.bounds.extend(figures.map(|figure| FigureBound { figure, min, max }));
        let bounds = [("at least", min), ("at most", max)]
            .into_iter()
            .filter_map(|(word, bound)| Some(format!("{word} {}", bound?)));
        self.rules.push(format!("{}: {pattern} {}", gate.id, bounds.collect::<Vec<_>>().join(" and ")));
        // A pattern speaks of axes; the gate of the composite names it.
        if self.gate.is_none() && pattern == metric {
            let wanted =
                if self.better == Better::Higher { min.map(|it| (it, true)) } else { max.map(|it| (it, false)) };
            let found = wanted.or(min.map(|it| (it, true))).or(max.map(|it| (it, false)));
            self.gate = found.map(|(bound, is_least)| SeriesGate { id: gate.id.clone(), bound, is_least });
        }
    }

    /// Returns the filters that a card passes.
    pub(super) fn flags(&self, card: &SeriesCard) -> CardFlags {
        CardFlags {
            below_gate: self.gate.as_ref().is_some_and(|gate| !gate.holds(card.composite)),
            fails_gate: self.is_broken_by(card),
            regressed: self.has_regressed(card),
            high: self.is_high(card.composite),
            capped: !card.caps.is_empty(),
        }
    }

    /// Returns true if any gate on single samples decides about cards.
    pub(super) fn has_bounds(&self) -> bool {
        !self.bounds.is_empty()
    }

    /// Returns true if a card breaks any bound.
    pub(super) fn is_broken_by(&self, card: &SeriesCard) -> bool {
        self.bounds.iter().any(|bound| {
            let value = match bound.figure {
                Figure::Composite => Some(card.composite),
                Figure::Axis(at) => card.axes.get(at).and_then(|axis| axis.value),
            };
            value.is_some_and(|value| {
                bound.min.is_some_and(|min| value < min) || bound.max.is_some_and(|max| value > max)
            })
        })
    }

    /// Returns true if a card is worse than its baseline by more than allowed.
    pub(super) fn has_regressed(&self, card: &SeriesCard) -> bool {
        let worse = |delta: f64| if self.better == Better::Higher { -delta } else { delta };
        card.delta().zip(self.max_drop).is_some_and(|(delta, most)| worse(delta) > most + ROUNDING)
    }

    /// Returns true if a composite is in the best quarter of the scale.
    pub(super) fn is_high(&self, composite: f64) -> bool {
        self.high.is_some_and(|high| if self.better == Better::Higher { composite >= high } else { composite <= high })
    }
}

fn is_about(gate: &Gate, input: &SeriesInput<'_>, rubric: &Composition) -> bool {
    let Subject::Metric(pattern) = &gate.subject else { return false };
    matches_pattern(pattern, input.metric) || rubric.axes.iter().any(|axis| matches_pattern(pattern, &axis.metric))
}

/// The allowed drop of the composite: that of the gate against the baseline, else an eighth of the scale.
fn drop_bound(gates: &[&Gate], metric: &str, range: Option<(f64, f64)>, better: Better) -> Option<f64> {
    let is_change = |gate: &&&Gate| {
        matches!(&gate.subject, Subject::Metric(pattern) if matches_pattern(pattern, metric))
            && matches!(gate.against, None | Some(GateReference::Baseline))
    };
    let bound = |gate: &&Gate| if better == Better::Higher { gate.max_drop } else { gate.max_rise };
    let declared = gates.iter().filter(is_change).find_map(bound);
    // A percentage would need a bound for each card.
    let declared = declared.filter(|bound: &Threshold| !bound.percent).map(|bound| bound.value);
    declared.or_else(|| range.map(|(lo, hi)| DROP_SHARE * (hi - lo)))
}
