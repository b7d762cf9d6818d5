//! The page of a dated suite as data: cards, days and figures of one system as some judges see it.
//!
//! ```text
//! History ─► cards ─┬─► flags (filters and their counts)
//! plan ─► rubric ───┤─► days (trend, usual range, contributions)
//! golden set ───────┘─► figures (medians, means, gates, regressions)
//! ```
//!
//! - `view` is the data that pages show; read it first. `input` is what it is made from, with the `judge_choice`.
//! - `rubric` reads axes, weights and caps from the plan; `rules` reads bounds from gates.
//! - `cards` makes a card of each graded row; `parts` splits a composite into contributions of axes.
//! - `days` puts cards on a calendar; `figures` computes the stat cards; `flags` are the filters that a card passes.
//!
//! Nothing here knows a preset: scale, axes, weights, caps, gates and baseline come from plan and rubric. Everything is a
//! pure function of the input.

mod cards;
mod days;
mod figures;
mod flags;
mod input;
mod judge_choice;
mod parts;
mod rubric;
mod rules;
#[cfg(test)]
mod tests;
mod view;

pub use flags::{CardFilter, CardFlags};
pub use input::{SeriesInput, date_span};
pub use judge_choice::JudgeChoice;
pub use parts::Contributions;
pub use rubric::{AxisSpec, CapRule};
pub use view::{
    AxisValue, DriftState, SeriesCard, SeriesDay, SeriesDrift, SeriesFigures, SeriesGate, SeriesView, ShareOf,
};

use rules::CardRules;

/// Returns the page of a suite as data.
pub fn series_view(input: SeriesInput<'_>) -> SeriesView {
    let SeriesInput { plan, history, baseline, .. } = input;
    let metric = input.metric_spec();
    let range = metric.and_then(|it| it.range);
    let better = metric.map(|it| it.better).unwrap_or_default();
    let rubric = rubric::read(plan, input.metric);
    let rules = CardRules::of(&input, &rubric, range, better);
    let mut cards = cards::all(&input, &rubric);
    cards.iter_mut().for_each(|card| card.flags = rules.flags(card));
    let days = days::calendar(&cards, &input);
    let mut warnings = history.warnings();
    warnings.extend(rules.notes.iter().cloned());
    warnings.extend(cards::instrument_warnings(&cards, baseline));
    warnings.extend(input.drift.iter().flat_map(|drift| drift.drift.warnings.iter().cloned()));
    let mut said = std::collections::BTreeSet::new();
    warnings.retain(|warning| said.insert(warning.clone()));
    SeriesView {
        suite: plan.suite.clone(),
        about: plan.about.clone(),
        metric: input.metric.to_owned(),
        unit: metric.and_then(|it| plan.unit_of(it)).map(str::to_owned),
        range,
        better,
        system: input.system.to_owned(),
        systems: input.systems.clone(),
        judge: input.judge.clone(),
        judges: input.judges.clone(),
        as_of: input.as_of.clone(),
        since: input.since.clone(),
        until: input.until.clone(),
        figures: figures::of(
            &cards,
            &rules,
            &rubric,
            figures::Subject { metric: input.metric, range, system: input.system, baseline },
        ),
        no_parts: parts::obstacle(&rubric, range),
        axes: rubric.axes,
        caps: rubric.caps,
        gate: rules.gate,
        rules: rules.rules,
        max_drop: rules.max_drop,
        high: rules.high,
        baseline: input.baseline_name.clone(),
        has_baseline: baseline.is_some(),
        short_window: input.drift.as_ref().map_or(days::SHORT, |drift| drift.drift.short_window),
        undated: cards::count_undated(&input),
        earlier_days: days.earlier,
        days: days.days,
        drift: input.drift,
        cards,
        warnings,
    }
}
