//! Graded rows to cards.

use std::collections::{BTreeMap, BTreeSet};

use super::flags::CardFlags;
use super::input::SeriesInput;
use super::judge_choice::JudgeChoice;
use super::parts;
use super::rubric::Composition;
use super::view::{AxisValue, SeriesCard};
use crate::{GradeRow, Pinned};

/// The cards that are shown, newest first, without flags.
pub(super) fn all(input: &SeriesInput<'_>, rubric: &Composition) -> Vec<SeriesCard> {
    let rows = input.rows();
    let shown = rows.into_iter().filter(|row| row.date.as_deref().is_some_and(|date| input.shows(date)));
    let mut cards: Vec<SeriesCard> = shown.map(|row| card(row, input, rubric)).collect();
    let mut of_date: BTreeMap<String, usize> = BTreeMap::new();
    cards.iter().for_each(|card| *of_date.entry(card.date.clone()).or_default() += 1);
    for card in cards.iter_mut().filter(|card| of_date.get(&card.date).is_some_and(|cards| *cards > 1)) {
        let trial = (card.trial > 0).then(|| format!("/{}", card.trial));
        let judge = card.judge.as_ref().filter(|_| input.judge == JudgeChoice::All).map(|judge| format!("/{judge}"));
        let version = card.prompt_version.as_ref().filter(|_| judge.is_some()).map(|version| format!("/{version}"));
        card.key =
            [format!("{}/{}", card.date, card.sample)].into_iter().chain(trial).chain(judge).chain(version).collect();
    }
    cards.sort_by(|one, other| other.date.cmp(&one.date).then_with(|| one.key.cmp(&other.key)));
    cards
}

/// Number of chosen rows without a date.
pub(super) fn count_undated(input: &SeriesInput<'_>) -> usize {
    input.rows().iter().filter(|row| row.date.is_none()).count()
}

fn card(row: &GradeRow, input: &SeriesInput<'_>, rubric: &Composition) -> SeriesCard {
    let pinned = |metric: &str| {
        let baseline = input.baseline?;
        baseline.value(baseline.system(&row.system)?, metric, &row.sample)
    };
    let value = |name: &str| row.axes.iter().find(|(axis, _)| axis == name).map(|(_, value)| *value);
    let values: Vec<Option<f64>> = rubric.axes.iter().map(|axis| value(&axis.name)).collect();
    let axes = rubric.axes.iter().zip(&values);
    let date = row.date.clone().unwrap_or_default();
    SeriesCard {
        key: date.clone(),
        date,
        sample: row.sample.clone(),
        trial: row.trial,
        composite: row.composite,
        baseline: pinned(input.metric),
        axes: axes.map(|(axis, value)| AxisValue { value: *value, baseline: pinned(&axis.metric) }).collect(),
        caps: rubric.caps.iter().enumerate().filter(|(_, cap)| row.caps.contains(&cap.id)).map(|(at, _)| at).collect(),
        notes: row.notes.clone(),
        judge: row.judge_model.clone().or_else(|| row.judge.clone()),
        prompt_version: row.prompt_version.clone(),
        made_at: row.made_at,
        run: row.run.clone(),
        cell: row.cell,
        is_golden_check: row.is_golden_check,
        is_regraded: input.history.is_regraded(row),
        parts: parts::split(rubric, row.composite, &values, &row.before_caps),
        flags: CardFlags::default(),
    }
}

/// Warnings about cards whose judge or prompt version is not that of their baseline.
pub(super) fn instrument_warnings(cards: &[SeriesCard], baseline: Option<&Pinned>) -> Vec<String> {
    let Some(baseline) = baseline else { return Vec::new() };
    let names = |of: &mut dyn Iterator<Item = Option<String>>| -> Vec<String> {
        of.flatten().collect::<BTreeSet<_>>().into_iter().collect()
    };
    let pinned: Vec<&SeriesCard> = cards.iter().filter(|card| card.baseline.is_some()).collect();
    let pairs = [
        (
            "judge",
            names(&mut pinned.iter().map(|card| baseline.judged_by(&card.sample).0)),
            names(&mut pinned.iter().map(|card| card.judge.clone())),
        ),
        (
            "prompt version",
            names(&mut pinned.iter().map(|card| baseline.judged_by(&card.sample).1)),
            names(&mut pinned.iter().map(|card| card.prompt_version.clone())),
        ),
    ];
    let different = pairs.into_iter().filter(|(_, then, now)| !then.is_empty() && !now.is_empty() && then != now);
    let say = |(what, then, now): (&str, Vec<String>, Vec<String>)| {
        format!(
            "the pinned {what} is {}, that of the cards {}: differences to the baseline may come from the instrument",
            then.join(", "),
            now.join(", ")
        )
    };
    different.map(say).collect()
}
