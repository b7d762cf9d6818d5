//! The instrument: the judges and rules of each scorer. If it changed between two runs, a difference of their figures
//! may come from the instrument rather than the systems.
//!
//! - `served_models`: the names under which models and judges answered
//! - `metric_names`: which metric stands for the run, and patterns such as `quality.*`

pub(crate) mod metric_names;
pub(crate) mod served_models;

use std::collections::{BTreeMap, BTreeSet};

use karat_types::{KeyBuilder, MetricSpec, PlanHeader, ScorerKind, ScorerSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::score::instrument::served_models::{NamesByAsked, ServedJudge, by_asked, joined_names, name_changes};

/// A longer rule is shown by its hash.
const SHOWN: usize = 40;

/// Fields that do not affect what is measured.
/// A cascade estimates what its judges would say of every cell, so it is no other instrument.
const ASIDE: [&str; 9] =
    ["id", "about", "margin", "aggregate", "judges", "timeout_ms", "reads", "cascade", "is_first_judge"];

/// The instruments of a run, by scorer.
pub(crate) type Instruments = BTreeMap<String, Instrument>;

/// The plan and instruments of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeasuredRun<'a> {
    /// Its plan.
    pub(crate) plan: &'a PlanHeader,
    /// Its judges and rules.
    pub(crate) instruments: &'a Instruments,
}

/// The judges and rules of a scorer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Instrument {
    /// Its judges with their models; empty without judges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<String>,
    /// Its rules by name; long ones as a hash.
    pub rules: BTreeMap<String, String>,
    /// Reported model names of its judges, by requested name; empty if no provider reports one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub answered_as: BTreeMap<String, BTreeSet<String>>,
}

impl Instrument {
    fn of(plan: &PlanHeader, answers: &[ServedJudge], scorer: &ScorerSpec) -> Self {
        let mut rules = BTreeMap::new();
        flatten("", &serde_json::to_value(scorer).unwrap_or_default(), &mut rules);
        let named = |id: &String| {
            let model = plan.judges.iter().find(|judge| judge.id == *id).map(|judge| judge.model.as_str());
            model.filter(|model| model != id).map_or_else(|| id.clone(), |model| format!("{id} ({model})"))
        };
        let ids: &[String] = match &scorer.kind {
            ScorerKind::Rubric(rubric) => &rubric.judges,
            ScorerKind::Metric { .. } => &[],
        };
        let own = answers.iter().filter(|judge| ids.contains(&judge.id));
        // Labels evaluate a judge; they are part of the instrument only if the judge is shown some.
        if matches!(&scorer.kind, ScorerKind::Rubric(rubric) if rubric.rubric.examples == 0) {
            rules.remove("labels");
        }
        let answered_as = by_asked(own.flat_map(|judge| &judge.answered_as));
        Self { judges: ids.iter().map(named).collect(), rules, answered_as }
    }

    /// Returns true if the same models answered for all judges of both, whatever was requested: pinning the name behind
    /// an alias changes nothing.
    fn is_answered_alike(&self, now: &Self) -> bool {
        let names =
            |instrument: &Self| instrument.answered_as.values().flatten().cloned().collect::<BTreeSet<String>>();
        let is_known = |instrument: &Self| instrument.answered_as.len() == instrument.judges.len();
        self.judges.len() == now.judges.len() && is_known(self) && is_known(now) && names(self) == names(now)
    }

    /// Describes the changes; `None` if there is none.
    fn change(&self, scorer: &str, now: &Self) -> Option<String> {
        let list = |judges: &[String]| if judges.is_empty() { "none".to_owned() } else { judges.join(", ") };
        let judges = (self.judges != now.judges && !self.is_answered_alike(now)).then(|| {
            let word = if self.judges.len().max(now.judges.len()) > 1 { "judges" } else { "judge" };
            format!("the {word} of `{scorer}` changed: {} → {}", list(&self.judges), list(&now.judges))
        });
        let names: BTreeSet<&String> = self.rules.keys().chain(now.rules.keys()).collect();
        let value =
            |instrument: &Self, name: &str| instrument.rules.get(name).cloned().unwrap_or_else(|| "none".to_owned());
        let rules = names.into_iter().filter(|name| self.rules.get(*name) != now.rules.get(*name));
        let rules = rules.map(|name| format!("`{name}` {} → {}", value(self, name), value(now, name)));
        let rules: Vec<String> = rules.collect();
        let rules = (!rules.is_empty()).then(|| format!("the rules of `{scorer}` changed: {}", rules.join(", ")));
        let aliases = name_changes(&self.answered_as, &now.answered_as);
        let aliases = aliases.into_iter().map(|(asked, then, now)| {
            format!(
                "the judge `{asked}` of `{scorer}` reported another model: {then} → {now} (set its `model` to the dated name)"
            )
        });
        let all: Vec<String> = judges.into_iter().chain(rules).chain(aliases).collect();
        (!all.is_empty())
            .then(|| format!("{}; a difference may come from this change rather than from the systems", all.join("; ")))
    }
}

/// The instruments of a run, given the model names that its judges reported. Rows that are shown to a judge are hashed, so
/// this is done once a run.
pub(crate) fn instruments(plan: &PlanHeader, judges: &[ServedJudge]) -> Instruments {
    plan.scorers.iter().map(|scorer| (scorer.id.clone(), Instrument::of(plan, judges, scorer))).collect()
}

/// One note for each scorer of both sides whose instrument changed.
pub(crate) fn changes(then: &Instruments, now: &Instruments) -> Vec<String> {
    now.iter().filter_map(|(id, instrument)| then.get(id)?.change(id, instrument)).collect()
}

/// Describes how the instrument of a metric changed; for `pass`, the instruments of all its checks. `None` if it did
/// not change, or the earlier one is unknown.
pub(crate) fn metric_change(then: &Instruments, run: MeasuredRun<'_>, metric: &MetricSpec) -> Option<String> {
    let plan = run.plan;
    let own = [metric.scorer];
    let scorers: BTreeSet<usize> = match plan.scorers.get(metric.scorer) {
        Some(_) => own.into(),
        None => plan.checks().map(|check| check.scorer).collect(),
    };
    let scorers: BTreeSet<&String> = scorers.iter().filter_map(|at| Some(&plan.scorers.get(*at)?.id)).collect();
    let changed = scorers.into_iter().filter_map(|id| then.get(id)?.change(id, run.instruments.get(id)?));
    let changed: Vec<String> = changed.collect();
    (!changed.is_empty()).then(|| changed.join("; "))
}

/// The instrument that graded a pinned sample, as far as its file states it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct SampleInstrument {
    /// Its judge: a model, or the id used in suites; for merged judges all of them: `a + b`.
    pub(crate) judge: Option<String>,
    /// Version of the rubric.
    pub(crate) version: Option<String>,
    /// Reported model names of the judges.
    pub(crate) answered_as: NamesByAsked,
}

/// Describes how the judge or rubric of a scorer differs from the one that graded a sample; `None` if it does not, or
/// is unknown.
pub(crate) fn sample_change(then: &SampleInstrument, run: MeasuredRun<'_>, scorer: &ScorerSpec) -> Option<String> {
    let plan = run.plan;
    let ScorerKind::Rubric(rubric) = &scorer.kind else { return None };
    let judges = || rubric.judges.iter().filter_map(|id| plan.judges.iter().find(|judge| judge.id == *id));
    let ids = joined_names(judges().map(|judge| judge.id.as_str()));
    let models = joined_names(judges().map(|judge| judge.model.as_str()));
    let is_same_judge = then.judge.is_none() || [&ids, &models].contains(&&then.judge);
    let (judge, version) = (if is_same_judge { &then.judge } else { &models }, &rubric.rubric.version);
    let instrument = |judge: &Option<String>, version: &Option<String>, answered_as: NamesByAsked| Instrument {
        judges: judge.iter().cloned().collect(),
        rules: version.iter().map(|version| ("version".to_owned(), version.clone())).collect(),
        answered_as,
    };
    let version = if then.version.is_none() { &None } else { version };
    let answered_as = run.instruments.get(&scorer.id).map(|now| now.answered_as.clone()).unwrap_or_default();
    let now = instrument(judge, version, answered_as);
    instrument(&then.judge, &then.version, then.answered_as.clone()).change(&scorer.id, &now)
}

/// Collects the leaf values of a scorer by field name.
fn flatten(name: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) if name.is_empty() || ["kind", "metric", "rubric", "with"].contains(&name) => {
            let fields = fields.iter().filter(|(field, _)| !ASIDE.contains(&field.as_str()));
            fields.for_each(|(field, value)| flatten(field, value, into));
        }
        Value::Null => {}
        value => {
            let text = value.to_string();
            let long = text.chars().count() > SHOWN;
            let text = if long { KeyBuilder::new("ruler").value(value).finish().to_string() } else { text };
            into.insert(name.to_owned(), text.chars().take(SHOWN).collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::judged_run;
    use serde_json::json;

    /// BY-01, CL-24: other judges, options and metrics are reported with both values; a longer timeout is not.
    #[test]
    fn a_changed_instrument_is_described_with_both_versions() {
        let plan = judged_run(1, 1, &["j1"], json!([])).header.plan.as_ref().clone();
        let with = |key: &str, value: Value| {
            let mut changed = serde_json::to_value(&plan).unwrap();
            let scorer = &mut changed["scorers"][0];
            let place = if key == "judges" { &mut scorer["kind"]["rubric"] } else { scorer };
            place[key] = value;
            instruments(&serde_json::from_value(changed).unwrap(), &[])
        };
        let same = instruments(&plan, &[]);
        let told = |now: &Instruments| changes(&same, now).join("\n");
        assert_eq!(told(&same), "");
        let other = told(&with("judges", json!(["j2"])));
        assert!(other.starts_with("the judge of `quality` changed: j1") && other.contains("→ j2"), "{other}");
        let longer = told(&with("reduce", json!("median")));
        assert!(longer.contains("the rules of `quality` changed: `reduce` \"mean\" → \"median\""), "{longer}");
        assert_eq!(told(&with("about", json!("another text"))), "");
    }

    /// BR-12, CL-24: a pinned sample states its judge, by model or id, and its rubric's version; unstated values count
    /// as unchanged.
    #[test]
    fn a_sample_stores_its_judge() {
        let plan = judged_run(1, 1, &["j1", "j2"], json!([])).header.plan;
        let ScorerKind::Rubric(scorer) = &plan.scorers[0].kind else { panic!("no rubric") };
        let told = |judge: Option<&str>, version: Option<&str>| {
            let (judge, version) = (judge.map(str::to_owned), version.map(str::to_owned));
            let then = SampleInstrument { judge, version, ..SampleInstrument::default() };
            let run = MeasuredRun { plan: &plan, instruments: &instruments(&plan, &[]) };
            sample_change(&then, run, &plan.scorers[0]).unwrap_or_default()
        };
        let models = joined_names(plan.judges.iter().map(|judge| judge.model.as_str()));
        for same in [None, Some("j1 + j2"), models.as_deref()] {
            assert_eq!(told(same, scorer.rubric.version.as_deref()), "");
        }
        let other = told(Some("j3"), Some("v0"));
        assert!(
            other.contains("the judge of `quality` changed: j3 → ") && other.contains("`version` v0 → "),
            "{other}"
        );
    }

    /// PE-16: pinning the name behind an alias keeps the instrument; an alias that moved changes it.
    #[test]
    fn the_model_that_answers_is_the_judge() {
        let instrument = |asked: &str, name: &str| Instrument {
            judges: vec![format!("j ({asked})")],
            answered_as: [(asked.to_owned(), [name.to_owned()].into())].into(),
            ..Instrument::default()
        };
        let told = |then: &Instrument, now: &Instrument| then.change("quality", now).unwrap_or_default();
        assert_eq!(told(&instrument("alias", "m-01"), &instrument("m-01", "m-01")), "");
        assert!(
            told(&instrument("alias", "m-01"), &instrument("alias", "m-02"))
                .contains("reported another model: m-01 → m-02")
        );
        let other = told(&instrument("alias", "m-01"), &instrument("m-02", "m-02"));
        assert!(other.starts_with("the judge of `quality` changed: j (alias) → j (m-02)"), "{other}");
        let unknown = Instrument { answered_as: BTreeMap::new(), ..instrument("alias", "") };
        assert!(told(&unknown, &instrument("m-01", "m-01")).contains("changed"));
        assert_eq!(told(&unknown, &instrument("alias", "m-02")), "");
    }
}
