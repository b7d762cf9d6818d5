//! Golden sets: pinned grades of samples, one file each, that current grades are compared with.

use std::collections::{BTreeMap, BTreeSet};

use karat_types::Key;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::reference::canary::{self, AlarmChance, Canary, InstrumentStatus, is_beyond};
use crate::reference::history::{GradeRow, GradedCell, OUTPUT};
use crate::score::instrument::served_models::{NamesByAsked, merge_names, name_changes};

/// Version of the format.
pub const GOLDEN_SCHEMA: &str = "karat.golden/1";

/// The name of those who scored, where they are people.
const PEOPLE: &str = "people";

/// Number of changed documents listed in a warning.
const NAMED: usize = 5;

/// A pinned sample. A file without `schema` and `sample`, as other tools write it, is identified by its `card_date`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Golden {
    /// `karat.golden/1`.
    #[serde(default = "schema")]
    pub schema: String,
    /// Id of the sample.
    #[serde(default)]
    pub sample: String,
    /// Its date, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card_date: Option<String>,
    /// The system that produced it; absent in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The pinned metric; if absent, the suite's primary metric.
    #[serde(default)]
    pub baseline_metric: String,
    /// Its value.
    pub baseline_composite: f64,
    /// The other figures, by dimension.
    #[serde(default)]
    pub baseline_axes: Map<String, Value>,
    /// The model that judged; absent where people scored.
    #[serde(default)]
    pub baseline_judge: Option<String>,
    /// The origin of the scores where people gave them, not a judge: task, version, people, agreement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_people: Option<Value>,
    /// Its prompt version.
    #[serde(default)]
    pub baseline_prompt_version: Option<String>,
    /// Reported model names of system and judge, by requested name; absent in older files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub baseline_answered_as: BTreeMap<String, BTreeSet<String>>,
    /// Time of the judgment, RFC 3339.
    #[serde(default)]
    pub baseline_ran_at: String,
    /// The judge's reasoning.
    #[serde(default)]
    pub notes: String,
    /// Digests of the judged content, by name; absent in older files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub baseline_content: BTreeMap<String, Key>,
}

pub(super) fn schema() -> String {
    GOLDEN_SCHEMA.to_owned()
}

impl Golden {
    /// Pins the grades of one sample, without its content. Several trials are averaged. `None` without a row.
    pub fn of(rows: &[&GradeRow], ran_at: String) -> Option<Self> {
        let first = rows.first()?;
        let composites: Vec<f64> = rows.iter().map(|row| row.composite).collect();
        let axis = |name: &str| {
            let of_row = |row: &&GradeRow| row.axes.iter().find(|(axis, _)| axis == name).map(|(_, value)| *value);
            karat_stats::describe::mean(&rows.iter().filter_map(of_row).collect::<Vec<_>>())
        };
        let axes = first.axes.iter().filter_map(|(name, _)| Some((name.clone(), json_number(axis(name)?))));
        Some(Self {
            schema: schema(),
            sample: first.sample.clone(),
            card_date: first.date.clone(),
            system: Some(first.system.clone()),
            baseline_metric: first.metric.clone(),
            baseline_composite: karat_stats::describe::mean(&composites)?,
            baseline_axes: axes.collect(),
            baseline_judge: first.judge_model.clone(),
            baseline_people: None,
            baseline_prompt_version: first.prompt_version.clone(),
            baseline_answered_as: merge_all_names(rows.iter().map(|row| &row.answered_as)),
            baseline_ran_at: ran_at,
            notes: first.notes.clone(),
            baseline_content: BTreeMap::new(),
        })
    }

    /// Parses a golden file. The error describes the problem.
    ///
    /// # Errors
    /// Invalid JSON, a duplicate key, another schema, no sample, or a composite that is not a number.
    pub fn read(text: &str) -> Result<Self, String> {
        let document = karat_text::ladder::exact(text)?;
        let mut golden: Self =
            serde_json::from_value(document).map_err(|error| format!("not a golden file: {error}"))?;
        if golden.schema != GOLDEN_SCHEMA {
            return Err(format!("its schema is `{}`, but this version reads `{GOLDEN_SCHEMA}`", golden.schema));
        }
        if golden.sample.is_empty() {
            golden.sample = golden.card_date.clone().ok_or("it has neither `sample` nor `card_date`")?;
        }
        if let Some((axis, value)) = golden.baseline_axes.iter().find(|(_, value)| !value.is_number()) {
            return Err(format!("`baseline_axes.{axis}` is {value}, which is not a number"));
        }
        Ok(golden)
    }

    /// The name of those who scored: the judge's model, or `people`.
    pub fn scored_by(&self) -> Option<&str> {
        let people = self.baseline_people.as_ref().map(|_| PEOPLE);
        people.or(self.baseline_judge.as_deref())
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Every pinned figure by the name of its metric.
    pub fn values(&self) -> BTreeMap<String, f64> {
        let scorer = self.baseline_metric.rsplit_once('.').map(|(scorer, _)| scorer);
        let axes = self.baseline_axes.iter().filter_map(|(axis, value)| {
            let name = scorer.map_or_else(|| axis.clone(), |scorer| format!("{scorer}.{axis}"));
            Some((name, value.as_f64()?))
        });
        axes.chain([(self.baseline_metric.clone(), self.baseline_composite)]).collect()
    }
}

/// Merges all names.
fn merge_all_names<'a>(all: impl Iterator<Item = &'a NamesByAsked>) -> NamesByAsked {
    let mut names = NamesByAsked::new();
    all.for_each(|some| merge_names(some, &mut names));
    names
}

pub(super) fn json_number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return Value::from(value as i64);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// A pinned sample compared with its current grades.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GoldenCard {
    /// Id of the sample.
    pub sample: String,
    /// The pinned composite.
    pub baseline: f64,
    /// The current composite: the pinned judge's if it judged, else the merged grade of all judges.
    pub composite: Option<f64>,
    /// Current − pinned.
    pub delta: Option<f64>,
    /// True if it dropped by more than `max_drop`.
    pub regression: bool,
    /// True if all grades were given in this run, not reused.
    pub fresh: bool,
    /// Parts of the judged content that changed since it was pinned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The reason why there is no current grade.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A golden set compared with current grades.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GoldenVerdict {
    /// Every pinned sample.
    pub cards: Vec<GoldenCard>,
    /// The largest allowed drop.
    pub max_drop: f64,
    /// Number of samples that dropped by more.
    pub regressions: usize,
    /// Number of samples without a current grade.
    pub problems: usize,
    /// Warnings about the comparison.
    pub warnings: Vec<String>,
    /// The test of the instrument itself, if the documents are frozen (no model generates them).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canary: Option<Canary>,
    /// The reason why there is no test of the instrument.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_canary: Option<&'static str>,
    /// The chance that an unchanged judge lowers some card by more than `max_drop`: of the cards that a judge pinned and
    /// judged again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alarm: Option<AlarmChance>,
}

/// The rule that decides a golden check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GoldenRule {
    /// The test of the instrument: it moved, it did not, or that cannot be told.
    Test,
    /// Every card: none may drop by more than `max_drop`.
    Drop,
}

impl GoldenVerdict {
    /// The decision of a rule: true if it passes, `None` if it cannot be told.
    pub fn decision(&self, rule: GoldenRule) -> Option<bool> {
        match (rule, self.canary.as_ref().map(|canary| canary.instrument)) {
            (GoldenRule::Drop, _) => Some(self.regressions == 0),
            (GoldenRule::Test, Some(InstrumentStatus::Unchanged)) => Some(true),
            (GoldenRule::Test, Some(InstrumentStatus::Moved)) => Some(false),
            (GoldenRule::Test, _) => None,
        }
    }

    /// Returns true if this set could test the instrument: a judge pinned it, and no model generates the documents.
    pub fn is_test(&self) -> bool {
        !matches!(self.no_canary, Some(GENERATED | BY_PEOPLE))
    }

    /// The result of testing the instrument in words.
    pub fn canary_words(&self) -> &'static str {
        self.canary.as_ref().map_or(self.no_canary.unwrap_or(NOTHING_AGAIN), |canary| canary.instrument.words())
    }
}

/// Reasons why the instrument was not tested.
const GENERATED: &str = "none, because a model generates the outputs again";
const BY_PEOPLE: &str = "none, because people scored the pinned samples";
const NOTHING_AGAIN: &str = "none, because no unchanged card was judged again";

/// The cells of a pinned sample: those of the pinned system if there are any, else all.
fn cells_of<'a>(pinned: &Golden, cells: &'a [GradedCell]) -> Vec<&'a GradedCell> {
    let of_sample = |cell: &&GradedCell| cell.grade().is_some_and(|grade| grade.sample == pinned.sample);
    let all: Vec<&GradedCell> = cells.iter().filter(of_sample).collect();
    let is_pinned = |cell: &&&GradedCell| cell.grade().map(|grade| &grade.system) == pinned.system.as_ref();
    let own: Vec<&GradedCell> = all.iter().filter(is_pinned).copied().collect();
    if own.is_empty() { all } else { own }
}

/// The grades to compare with a pinned sample, one per cell: the pinned judge's if it judged, else the merged grade.
fn counted_grades<'a>(pinned: &Golden, cells: &'a [GradedCell]) -> Vec<&'a GradeRow> {
    let own = cells_of(pinned, cells).into_iter().filter_map(|cell| {
        let same = cell.rows.iter().find(|row| row.judge_model == pinned.baseline_judge);
        same.or(cell.grade())
    });
    own.collect()
}

/// Parts of the judged content that differ from the pinned ones. A generated output is ignored, because it differs each
/// time.
fn changed_parts(pinned: &Golden, cells: &[GradedCell], is_frozen: bool) -> Vec<String> {
    let Some(now) = cells_of(pinned, cells).first().map(|cell| &cell.content) else { return Vec::new() };
    let differs = |(name, digest): &(&String, &Key)| now.get(*name).is_some_and(|now| now != *digest);
    let counts = |(name, _): &(&String, &Key)| is_frozen || *name != OUTPUT;
    pinned.baseline_content.iter().filter(counts).filter(differs).map(|(name, _)| name.clone()).collect()
}

/// Tests whether the judge of frozen documents shifted since they were pinned, using the cells judged since
/// `started_at`. `None` without any.
fn run_canary<'a>(
    golden: impl Iterator<Item = &'a Golden>,
    cells: &[GradedCell],
    started_at: karat_types::Moment,
    alpha: f64,
) -> Option<Canary> {
    let mut pairs: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    let mut is_other_judge = false;
    // Scores of people are no earlier measurement by the judge, so a difference is not a shift of it.
    for pinned in golden.filter(|pinned| pinned.baseline_people.is_none()) {
        let fresh: Vec<&GradeRow> =
            counted_grades(pinned, cells).into_iter().filter(|row| row.made_at >= started_at).collect();
        is_other_judge |=
            pinned.baseline_judge.is_some() && fresh.iter().any(|row| row.judge_model != pinned.baseline_judge);
        let now = Golden::of(&fresh, String::new()).map(|now| now.values()).unwrap_or_default();
        for (metric, value) in pinned.values() {
            if let Some(now) = now.get(&metric) {
                pairs.entry(metric).or_default().push((value, *now));
            }
        }
    }
    let canary = Canary::of(&pairs, alpha)?;
    Some(if is_other_judge { canary.by_other_judge() } else { canary })
}

/// Tests whether the judge of pinned samples shifted, using the cells judged since `started_at`. Samples whose document
/// or output is another one now are left out. `None` without any.
pub fn check_judge(
    golden: &[Golden],
    cells: &[GradedCell],
    started_at: karat_types::Moment,
    alpha: f64,
) -> Option<Canary> {
    let same = golden.iter().filter(|pinned| changed_parts(pinned, cells, true).is_empty());
    run_canary(same, cells, started_at, alpha)
}

/// Compares the cells of a run that began at `started_at` with a golden set. `missing` gives the reason why a pinned
/// sample could not be judged. `is_frozen` means that no model generates the documents: if they are unchanged, a shift
/// is the judge's.
pub fn check_golden(
    golden: &[Golden],
    cells: &[GradedCell],
    started_at: karat_types::Moment,
    missing: &BTreeMap<String, String>,
    max_drop: f64,
    is_frozen: bool,
) -> GoldenVerdict {
    let card = |pinned: &Golden| {
        let counted = counted_grades(pinned, cells);
        let composites: Vec<f64> = counted.iter().map(|row| row.composite).collect();
        let composite = karat_stats::describe::mean(&composites);
        let delta = composite.map(|now| now - pinned.baseline_composite);
        let unscored = || "it was judged without a score".to_owned();
        GoldenCard {
            sample: pinned.sample.clone(),
            baseline: pinned.baseline_composite,
            composite,
            delta: delta.map(|delta| (delta * 1e6).round() / 1e6),
            regression: delta.is_some_and(|delta| is_beyond(-delta, max_drop)),
            fresh: counted.iter().all(|row| row.made_at >= started_at),
            changed: changed_parts(pinned, cells, is_frozen),
            problem: composite.is_none().then(|| missing.get(&pinned.sample).cloned().unwrap_or_else(unscored)),
        }
    };
    let cards: Vec<GoldenCard> = golden.iter().map(card).collect();
    let unchanged = || golden.iter().zip(&cards).filter(|(_, card)| card.changed.is_empty());
    let canary = if is_frozen {
        run_canary(unchanged().map(|(pinned, _)| pinned), cells, started_at, canary::ALPHA)
    } else {
        None
    };
    let again = unchanged().filter(|(pinned, card)| pinned.baseline_people.is_none() && card.fresh);
    let changes: Vec<f64> = again.filter_map(|(_, card)| card.delta).collect();
    let no_canary = match canary {
        Some(_) => None,
        None if golden.iter().all(|pinned| pinned.baseline_people.is_some()) => Some(BY_PEOPLE),
        None if !is_frozen => Some(GENERATED),
        None => Some(NOTHING_AGAIN),
    };
    GoldenVerdict {
        alarm: AlarmChance::of(&changes, max_drop),
        no_canary,
        regressions: cards.iter().filter(|card| card.regression).count(),
        problems: cards.iter().filter(|card| card.problem.is_some()).count(),
        warnings: setup_warnings(golden, cells).into_iter().chain(changed_documents_warning(&cards)).collect(),
        max_drop,
        canary,
        cards,
    }
}

/// The warning about documents that changed since they were pinned.
fn changed_documents_warning(cards: &[GoldenCard]) -> Option<String> {
    let changed: Vec<&GoldenCard> = cards.iter().filter(|card| !card.changed.is_empty()).collect();
    let named: Vec<&str> = changed.iter().take(NAMED).map(|card| card.sample.as_str()).collect();
    let named = named.join(", ");
    let more = if changed.len() > NAMED { ", …" } else { "" };
    (!changed.is_empty()).then(|| {
        format!(
            "documents changed since they were pinned: {} of {} ({named}{more}). Their grades do not test the judge; pin them \
             again with `karat golden pin`",
            changed.len(),
            cards.len()
        )
    })
}

/// Warnings about judges, prompt versions and systems that differ from the pinned ones.
fn setup_warnings(golden: &[Golden], cells: &[GradedCell]) -> Vec<String> {
    let (by_people, judged): (Vec<&Golden>, Vec<&Golden>) =
        golden.iter().partition(|pinned| pinned.baseline_people.is_some());
    let people = (!by_people.is_empty()).then(|| {
        format!(
            "people scored {} of the {} pinned samples: there a drop is a judge below people",
            by_people.len(),
            golden.len()
        )
    });
    people.into_iter().chain(judged_warnings(&judged, cells)).chain(system_warning(golden, cells)).collect()
}

/// The warning that the rows are of other systems than the pinned ones.
fn system_warning(golden: &[Golden], cells: &[GradedCell]) -> Option<String> {
    let pinned: BTreeSet<&str> = golden.iter().filter_map(|it| it.system.as_deref()).collect();
    let rows = golden.iter().flat_map(|pinned| counted_grades(pinned, cells));
    let now: BTreeSet<&str> = rows.map(|row| row.system.as_str()).collect();
    let differs = !pinned.is_empty() && !now.is_empty() && pinned != now;
    differs.then(|| difference("system", "the systems", &pinned, &now))
}

fn difference(what: &str, whose: &str, pinned: &BTreeSet<&str>, now: &BTreeSet<&str>) -> String {
    let list = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join(", ");
    let named = if pinned.is_empty() { "none".to_owned() } else { list(pinned) };
    format!(
        "the pinned {what} is {named}, the current one is {}: differences may come from {whose}. Pin again with `karat golden pin`",
        list(now)
    )
}

/// Warnings about judges and prompt versions that differ from those of the pinned grades.
fn judged_warnings(golden: &[&Golden], cells: &[GradedCell]) -> Vec<String> {
    let rows: Vec<&GradeRow> = golden.iter().flat_map(|pinned| counted_grades(pinned, cells)).collect();
    let different =
        |what: &str, of_pinned: fn(&Golden) -> Option<&String>, of_row: fn(&GradeRow) -> Option<&String>| {
            let pinned: BTreeSet<&str> = golden.iter().filter_map(|it| of_pinned(it)).map(String::as_str).collect();
            let now: BTreeSet<&str> = rows.iter().filter_map(|row| of_row(row)).map(String::as_str).collect();
            (!now.is_empty() && pinned != now).then(|| difference(what, "the instrument", &pinned, &now))
        };
    let found = [
        different("judge", |it| it.baseline_judge.as_ref(), |it| it.judge_model.as_ref()),
        different("prompt version", |it| it.baseline_prompt_version.as_ref(), |it| it.prompt_version.as_ref()),
    ];
    let (then, now) = (
        merge_all_names(golden.iter().map(|it| &it.baseline_answered_as)),
        merge_all_names(rows.iter().map(|row| &row.answered_as)),
    );
    let aliases = name_changes(&then, &now).into_iter().map(|(asked, then, now)| {
        format!(
            "`{asked}` reported {then} when it was pinned and {now} now: differences may come from the provider. Set its `model` \
             to the dated name and pin again with `karat golden pin`"
        )
    });
    found.into_iter().flatten().chain(aliases).collect()
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the values are exact")]
mod tests {
    use super::*;
    use karat_types::Moment;

    fn row(sample: &str, judge: &str, composite: f64) -> GradeRow {
        GradeRow {
            sample: sample.to_owned(),
            date: Some(sample.to_owned()),
            system: "published".to_owned(),
            trial: 0,
            judge: Some(judge.to_owned()),
            judge_model: Some(judge.to_owned()),
            prompt_version: Some("v1".to_owned()),
            made_at: Moment(10),
            selected_at: Moment(10),
            run: "r".to_owned(),
            is_golden_check: false,
            source: String::new(),
            metric: "quality.composite".to_owned(),
            composite,
            axes: vec![("novelty".to_owned(), 3.0), ("coherence".to_owned(), 3.5)],
            notes: "Fine.".to_owned(),
            caps: Vec::new(),
            before_caps: Vec::new(),
            cell: 0,
            answered_as: BTreeMap::new(),
        }
    }

    fn pinned(composite: f64) -> Golden {
        Golden::of(&[&row("2026-03-18", "stub-v1", composite)], "2026-05-14T02:51:27Z".to_owned()).unwrap()
    }

    /// BR-11: a file is read back as written, integers as integers; an older tool's file is read too.
    #[test]
    fn a_golden_file_is_read_back() {
        let golden = pinned(4.0);
        assert_eq!(Golden::read(&golden.text()).unwrap(), golden);
        assert!(golden.text().contains("\"novelty\": 3,") && golden.text().contains("\"coherence\": 3.5"));
        let older = r#"{"card_date": "2026-03-18", "baseline_composite": 4.0, "baseline_judge": "claude",
            "baseline_prompt_version": "v1", "baseline_ran_at": "2026-05-14T02:51:27+00:00",
            "baseline_axes": {"factuality": 4}, "notes": "n"}"#;
        let older = Golden::read(older).unwrap();
        assert_eq!((older.sample.as_str(), older.baseline_metric.as_str()), ("2026-03-18", ""));
        assert_eq!(golden.values()["quality.novelty"], 3.0);
        for wrong in ["{", "{}", r#"{"baseline_composite": 1}"#, r#"{"schema": "x/1", "baseline_composite": 1}"#] {
            assert!(Golden::read(wrong).is_err(), "{wrong}");
        }
        let axis = r#"{"sample": "a", "baseline_composite": 1, "baseline_axes": {"x": "y"}}"#;
        assert!(Golden::read(axis).unwrap_err().contains("baseline_axes.x"));
    }

    /// BR-12: a drop of exactly the allowed size passes; more is a regression; a missing judgment is a problem.
    #[test]
    fn a_drop_is_a_regression_only_beyond_the_limit() {
        let check = |now: f64, max_drop: f64| {
            check_golden(
                &[pinned(4.2)],
                &[GradedCell::of(row("2026-03-18", "stub-v1", now))],
                Moment(10),
                &BTreeMap::new(),
                max_drop,
                true,
            )
        };
        assert_eq!((check(3.7, 0.5).regressions, check(3.69, 0.5).regressions, check(4.9, 0.5).regressions), (0, 1, 0));
        let decisions = |now: f64| {
            let found = check(now, 0.5);
            (found.decision(GoldenRule::Test), found.decision(GoldenRule::Drop))
        };
        // One card cannot test a judge.
        assert_eq!((decisions(3.7), decisions(3.69)), ((None, Some(true)), (None, Some(false))));
        let found = check(3.7, 0.5);
        assert_eq!((found.cards[0].delta, found.cards[0].fresh), (Some(-0.5), true));
        let missing = BTreeMap::from([("2026-03-18".to_owned(), "no such card".to_owned())]);
        let none = check_golden(&[pinned(4.2)], &[], Moment(10), &missing, 0.5, true);
        assert_eq!((none.problems, none.cards[0].problem.as_deref()), (1, Some("no such card")));
    }

    /// BR-12: another judge or prompt version than the pinned one is reported; of several judges the pinned one counts.
    #[test]
    fn another_judge_is_reported() {
        let other = || row("2026-03-18", "other", 1.0);
        let found = check_golden(&[pinned(4.2)], &[GradedCell::of(other())], Moment(11), &BTreeMap::new(), 0.5, true);
        assert!(found.warnings[0].contains("stub-v1") && found.warnings[0].contains("other"), "{:?}", found.warnings);
        assert!(!found.cards[0].fresh);
        let rows = vec![other(), row("2026-03-18", "stub-v1", 4.2)];
        let both =
            [GradedCell { rows, merged: Some(row("2026-03-18", "other + stub-v1", 2.6)), content: BTreeMap::new() }];
        let found = check_golden(&[pinned(4.2)], &both, Moment(10), &BTreeMap::new(), 0.5, true);
        assert_eq!((found.regressions, found.warnings.len()), (0, 0));
        let pinned_both = Golden { baseline_judge: Some("other + stub-v1".to_owned()), ..pinned(4.2) };
        let found = check_golden(&[pinned_both], &both, Moment(10), &BTreeMap::new(), 0.5, true);
        assert_eq!((found.cards[0].composite, found.warnings.len()), (Some(2.6), 0));
    }

    /// BR-12, BY-08: changed documents are reported, and not blamed on the judge.
    #[test]
    fn changed_documents_are_not_judge_drift() {
        let content = |text: &str| BTreeMap::from([(OUTPUT.to_owned(), Key::of("test", text.as_bytes()))]);
        let sample = |day: usize| format!("2026-03-{day:02}");
        let pin = |day| Golden {
            baseline_content: content("old"),
            ..Golden::of(&[&row(&sample(day), "stub-v1", 4.0)], String::new()).unwrap()
        };
        let golden: Vec<Golden> = (1..=15).map(pin).collect();
        let check = |changed: std::ops::RangeInclusive<usize>, is_frozen: bool| {
            let cell = |day| GradedCell {
                content: content(if changed.contains(&day) { "new" } else { "old" }),
                ..GradedCell::of(row(&sample(day), "stub-v1", 2.0))
            };
            let cells: Vec<GradedCell> = (1..=15).map(cell).collect();
            check_golden(&golden, &cells, Moment(10), &BTreeMap::new(), 0.5, is_frozen)
        };
        let all = check(1..=15, true);
        assert_eq!(
            (&all.canary, all.regressions, all.cards[0].changed.as_slice()),
            (&None, 15, &[OUTPUT.to_owned()][..])
        );
        assert!(all.warnings[0].contains("documents changed since they were pinned: 15 of 15"), "{:?}", all.warnings);
        let moved = check(1..=3, true).canary.unwrap();
        assert_eq!((moved.instrument, moved.shifts[0].change.n()), (InstrumentStatus::Moved, 12));
        let other = golden.iter().map(|it| Golden { baseline_judge: Some("stub-v0".to_owned()), ..it.clone() });
        let cells: Vec<GradedCell> = (1..=15).map(|day| GradedCell::of(row(&sample(day), "stub-v1", 2.0))).collect();
        let other = check_golden(&other.collect::<Vec<_>>(), &cells, Moment(10), &BTreeMap::new(), 0.5, true);
        assert_eq!(other.canary.unwrap().instrument, InstrumentStatus::OtherJudge);
        let made = check(1..=15, false);
        assert_eq!((made.canary, made.warnings.len()), (None, 0), "a model makes another output each time");
    }

    /// PE-16, BR-12: a judge with another reported model than when it was pinned is reported; the file keeps the name.
    #[test]
    fn a_changed_alias_is_reported() {
        let answering = |name: &str| GradeRow {
            answered_as: [("alias".to_owned(), [name.to_owned()].into())].into(),
            ..row("2026-03-18", "stub-v1", 4.0)
        };
        let pinned = Golden::of(&[&answering("alias-01")], String::new()).unwrap();
        let pinned = Golden::read(&pinned.text()).unwrap();
        let told = |row: GradeRow| setup_warnings(std::slice::from_ref(&pinned), &[GradedCell::of(row)]);
        let moved = told(answering("alias-02"));
        assert!(moved[0].starts_with("`alias` reported alias-01 when it was pinned and alias-02 now"), "{moved:?}");
        assert_eq!((told(answering("alias-01")), told(row("2026-03-18", "stub-v1", 4.0))), (vec![], vec![]));
    }
}
