//! Figures of a log, and scorers that the suite computes itself.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::is_blank;
use super::log::{Header, base_name};
use crate::draft::Draft;
use crate::recorded::Recording;
use crate::report::{Approximate, Figure};

/// Metrics that are the mean of a score over the samples.
const MEANS: [&str; 2] = ["accuracy", "mean"];

/// Reducers of epochs that a suite has by the same name.
const REDUCERS: [&str; 3] = [MEAN, "median", "max"];

/// The default of both.
pub(super) const MEAN: &str = "mean";

/// The scorer whose figures come out the same here; the others are approximate.
const EQUAL: &str = "includes";

/// Takes the scorers back that compare with a target, where no sample has one.
pub(super) fn leave_out_scorers(draft: &mut Draft<'_>) {
    let scorers = std::mem::take(&mut draft.suite.scorers);
    for name in scorers.keys() {
        draft.report.approximate.retain(|it| it.construct != *name);
        draft.report.figures.retain(|figure| figure.metric != *name);
        draft.report.note(
            format!("eval.scorers.{name}"),
            "is not computed again, for no sample has a target: the scores that were given stay",
        );
    }
}

/// Adds the scorers that have an equal in Karat: they score the recorded outputs again, beside the given scores.
pub(super) fn add_scorers<'a>(headers: impl Iterator<Item = &'a Header>, draft: &mut Draft<'_>) {
    for header in headers {
        for scorer in header.eval("scorers").as_array().into_iter().flatten() {
            let name = scorer.get("name").and_then(Value::as_str).map(base_name).unwrap_or_default();
            let options = scorer.get("options").unwrap_or(&Value::Null);
            if draft.suite.scorers.contains_key(name) {
                continue;
            }
            if let Some(rule) = own_scorer(name, options) {
                draft.suite.scorers.insert(name.to_owned(), rule);
                let difference = match name {
                    "f1" => {
                        "there it is rounded to two decimals, words end at hyphens, and numbers are compared by value"
                    }
                    "exact" => "there numbers are compared by value, so that `4` equals `4.0`",
                    _ => continue,
                };
                draft.report.approximate(Approximate {
                    path: format!("eval.scorers.{name}"),
                    construct: name.to_owned(),
                    metric: if name == "f1" { "token_f1" } else { "exact" }.to_owned(),
                    difference: difference.to_owned(),
                });
            }
        }
    }
}

/// A scorer with the same rule, unless options change it.
fn own_scorer(name: &str, options: &Value) -> Option<Value> {
    let option = |key: &str| options.get(key).unwrap_or(&Value::Null);
    let is_plain = is_blank(option("answer_fn")) && is_blank(option("stop_words"));
    match name {
        "includes" => {
            let ignore_case = option("ignore_case").as_bool().unwrap_or(true);
            Some(json!({"metric": "contains", "with": {"need": "any", "ignore_case": ignore_case}}))
        }
        "exact" if is_plain => Some(json!({"metric": "exact", "with": {"squad": true}})),
        "f1" if is_plain => Some(json!({"metric": "token_f1"})),
        _ => None,
    }
}

/// The way in which a log makes one score of several epochs, by its name in a suite; `None` if a suite lacks it.
pub(super) fn reduction(header: &Header) -> Option<&'static str> {
    match header.reducers().as_slice() {
        _ if header.epochs() <= 1 => Some(MEAN),
        [] => Some(MEAN),
        [one] => REDUCERS.into_iter().find(|reducer| reducer == one),
        _ => None,
    }
}

/// The way of all logs, or the mean if they differ.
pub(super) fn common_reduction<'a>(headers: impl Iterator<Item = &'a Header>) -> &'static str {
    let mut all: BTreeSet<Option<&'static str>> = headers.map(reduction).collect();
    let first = all.pop_first().flatten();
    first.filter(|_| all.is_empty()).unwrap_or(MEAN)
}

/// Books the means of the log, which the run of the suite must give again.
pub(super) fn add(
    header: &Header,
    variant: usize,
    recording: &Recording,
    place: &impl Fn(&str) -> String,
    draft: &mut Draft<'_>,
) {
    for (index, score) in header.scores().iter().enumerate() {
        let text = |key: &str| score.get(key).and_then(Value::as_str).unwrap_or_default();
        let (name, scorer) = (text("name"), text("scorer"));
        // A score of several keys is named by key, and one of the others by its scorer.
        let names = [format!("{scorer}.{name}"), name.to_owned(), scorer.to_owned()];
        let Some(given) = names.iter().find_map(|name| recording.scorer_id(name)) else { continue };
        let own = Some(base_name(scorer)).filter(|own| *own == EQUAL && draft.suite.scorers.contains_key(*own));
        for (metric, figure) in score.get("metrics").and_then(Value::as_object).into_iter().flatten() {
            let value = figure.get("value").and_then(Value::as_f64);
            let Some(value) = value.filter(|_| MEANS.contains(&base_name(metric))) else { continue };
            draft.report.figures.extend(std::iter::once(given.as_str()).chain(own).map(|metric_id| Figure {
                path: place(&format!("results.scores[{index}].metrics.{metric}")),
                variant: recording.variant_id(variant).to_owned(),
                metric: metric_id.to_owned(),
                value,
            }));
        }
    }
}
