//! The names that templates and expressions may read, by place.

use std::collections::BTreeSet;

use crate::diagnostics::Problems;
use crate::diagnostics::nearest::{nearest, suggestion};
use crate::syntax::node::Place;
use crate::syntax::notation;

/// Names of a step's templates.
pub(crate) const STEP: &[&str] = &["sample", "input", "reference", "output", "model", "variant", "run"];
/// Names of a step that asks a service or program.
pub(crate) const OUTSIDE: &[&str] = &["sample", "input", "reference", "output", "model", "variant", "run", "services"];
/// Names of what starts a service.
pub(crate) const SERVICE: &[&str] = &["port"];
/// Names of a chunked step's templates.
pub(crate) const CHUNKED_STEP: &[&str] =
    &["sample", "input", "reference", "output", "model", "variant", "run", "chunk"];
/// Names of a chunked step that asks a service or program.
pub(crate) const CHUNKED_OUTSIDE: &[&str] =
    &["sample", "input", "reference", "output", "model", "variant", "run", "services", "chunk"];
/// Names of a recorded step: there is no output and no model yet.
pub(crate) const ROW: &[&str] = &["sample", "input", "reference", "variant", "run"];
/// Names of a row that a metric joins with a cell.
pub(crate) const JOINED: &[&str] = &["sample", "input", "reference", "model", "variant", "run"];
/// Names of a tool's result.
pub(crate) const TOOL: &[&str] = &["arguments", "sample", "calls"];
/// Names of a dataset's own templates and conditions.
pub(crate) const DATASET: &[&str] = &["sample"];
/// Names of a row and its roles.
pub(crate) const DATASET_ROLES: &[&str] = &["sample", "input", "reference"];
/// Names of a rubric: blind to model and variant.
pub(crate) const RUBRIC: &[&str] = &["sample", "input", "reference", "output", "run"];
/// Names of one line of a shown list.
pub(crate) const RUBRIC_LINE: &[&str] = &["item", "index", "sample", "input", "reference", "output", "run"];
/// Names of a rubric's own prompt.
pub(crate) const RUBRIC_PROMPT: &[&str] = &["ask", "sections", "dimensions", "format", "examples"];
/// Names of the condition under which the first judge of a cascade is unsure.
pub(crate) const CASCADE: &[&str] = &["first", "sample"];
/// Names of a gate's condition.
pub(crate) const GATE: &[&str] = &["sample", "model", "variant"];

/// Fields of the names that every suite has.
const FIELDS: &[(&str, &[&str])] =
    &[("chunk", &["text", "index"]), ("model", &["id", "name", "family"]), ("run", &["date"]), ("variant", &[])];

/// Names that other tools have for the row.
const ROW_ELSEWHERE: &[&str] = &[
    "vars", "row", "item", "input", "inputs", "record", "example", "data", "test", "case", "doc", "samples", "dataset",
];

/// A name whose column must exist.
#[derive(Debug, Clone)]
pub(crate) struct PendingName {
    pub name: String,
    pub place: Place,
    /// The metric that compares with it, where no text reads it.
    pub metric: Option<String>,
    /// The effect of a row that lacks its column.
    pub absence: Absence,
    /// True if nobody wrote it: a judge sees it where its rubric does not say what it sees.
    pub is_shown_by_default: bool,
}

/// The effect of a row that lacks a column which other rows have. Ordered by gravity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Absence {
    /// None, or it is told where the row is read.
    Harmless,
    /// The text has a default for it.
    Defaulted,
    /// The text reads it under a condition.
    MayFail,
    /// Every cell of the row fails.
    Fails,
}

/// Columns and roles that the rows of a dataset have.
pub(crate) struct AvailableNames<'a> {
    /// Every column of any row.
    pub columns: &'a BTreeSet<String>,
    /// Columns that are null in every row.
    pub unfilled: &'a BTreeSet<String>,
    pub has_input: bool,
    pub has_reference: bool,
}

impl AvailableNames<'_> {
    /// Returns whether a name can be read in a row.
    pub fn has(&self, waiting: &PendingName) -> bool {
        waiting.absence == Absence::Defaulted
            || waiting.column().is_none_or(|column| self.columns.contains(column)) && self.lacks_role(waiting).is_none()
    }

    /// The role that a name reads and no row has.
    fn lacks_role(&self, waiting: &PendingName) -> Option<&'static str> {
        match waiting.name.split('.').next() {
            Some("input") if !self.has_input => Some("input"),
            Some("reference") if !self.has_reference => Some("reference"),
            _ => None,
        }
    }
}

impl PendingName {
    /// The name that a text reads.
    pub fn read(name: String, place: Place) -> Self {
        Self { name, place, metric: None, absence: Absence::Harmless, is_shown_by_default: false }
    }

    /// The name that a text of a cell reads.
    fn of_cell(name: String, place: Place, text: &str) -> Self {
        // Of a part that is not always computed, nothing is known without computing it.
        let is_conditional = ["{%", " if ", " and ", " or "].iter().any(|word| text.contains(word));
        let absence = if is_conditional { Absence::MayFail } else { Absence::Fails };
        Self { absence, ..Self::read(name, place) }
    }

    /// The reference that a metric compares with.
    pub fn of_metric(metric: &str, place: Place) -> Self {
        Self { metric: Some(metric.to_owned()), ..Self::read("reference".to_owned(), place) }
    }

    /// The column of the dataset that the name reads.
    pub fn column(&self) -> Option<&str> {
        self.name.strip_prefix("sample.").and_then(|rest| rest.split('.').next()).filter(|column| *column != "id")
    }
}

/// Checks the names that a text reads against the known roots. What needs the dataset's columns is kept for later.
pub(crate) fn check(
    reads: &[String],
    text: &str,
    place: &Place,
    roots: &[&str],
    pending: &mut Vec<PendingName>,
    problems: &mut Problems,
) {
    for name in reads {
        let root = name.split('.').next().unwrap_or(name);
        let at = notation::name_within(place, text, name, problems);
        match root {
            "services" if !roots.contains(&"services") => {
                problems
                    .error(&at, "a service's address cannot be used here")
                    .hint("only `http` and `command` steps read `services`");
            }
            // An unknown parameter is reported where parameters are inlined.
            "params" => {}
            _ if !roots.contains(&root) && !asks_for(text, root) => {
                problems.error(&at, format!("there is no name `{root}` here")).maybe_hint(hint_for(name, root, roots));
            }
            _ if roots.contains(&root) && !is_defaulted(text, name) => {
                if let Some((field, known)) = unknown_field(name) {
                    problems.error(&at, format!("`{root}` has no `{field}`")).maybe_hint(match known {
                        [] => Some(format!("write `{root}` alone: it is the id")),
                        known => suggestion(field, known.iter().copied()),
                    });
                    continue;
                }
                pending.push(match is_of_cell(roots) {
                    true => PendingName::of_cell(name.clone(), at, text),
                    false => PendingName::read(name.clone(), at),
                });
            }
            "sample" if is_of_cell(roots) && has_default(text, name) => {
                pending.push(PendingName { absence: Absence::Defaulted, ..PendingName::read(name.clone(), at) });
            }
            _ => {}
        }
    }
}

/// Returns whether these are the names of a text that is computed for a cell, not for a row of the dataset.
fn is_of_cell(roots: &[&str]) -> bool {
    roots.contains(&"output") || roots == ROW || roots == JOINED
}

/// Returns whether a name is this root or a part of it.
pub(crate) fn is_under(name: &str, root: &str) -> bool {
    name.split(['.', '[']).next() == Some(root)
}

/// The field that a name looks for where there is none, and those that there are.
fn unknown_field(name: &str) -> Option<(&str, &'static [&'static str])> {
    let (root, rest) = name.split_once('.')?;
    let (_, known) = FIELDS.iter().find(|(known, _)| *known == root)?;
    let field = rest.split('.').next().unwrap_or(rest);
    (!known.contains(&field)).then_some((field, *known))
}

fn hint_for(name: &str, root: &str, roots: &[&str]) -> Option<String> {
    let column = name.strip_prefix(root).and_then(|rest| rest.strip_prefix('.'));
    if let Some(column) = column.filter(|_| ROW_ELSEWHERE.contains(&root) && roots.contains(&"sample")) {
        return Some(format!("for a column of the dataset write `sample.{column}`"));
    }
    match root {
        "chunk" if roots.contains(&"model") => Some("only steps with `chunk` can read it".to_owned()),
        "model" | "variant" if roots.contains(&"sample") => {
            Some("judges are blind: they do not see which system made the output".to_owned())
        }
        _ => match nearest(root, roots.iter().copied()) {
            Some(name) => Some(format!("did you mean `{name}`?")),
            None if roots.contains(&"sample") => Some(format!("for a column of the dataset write `sample.{root}`")),
            None => suggestion(root, roots.iter().copied()),
        },
    }
}

/// Returns whether the template handles an absent value: `sample.x | default(…)`, or a test before it is read.
pub(crate) fn is_defaulted(text: &str, name: &str) -> bool {
    has_default(text, name) || asks_for(text, name)
}

fn has_default(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let filter = text[at + name.len()..].trim_start().strip_prefix('|');
        filter.is_some_and(|filter| filter.trim_start().starts_with("default"))
    })
}

/// Returns whether a text asks for a name before it reads it, as a prompt does that several steps share:
/// `chunk.text if chunk is defined else …`.
fn asks_for(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let rest = text[at + name.len()..].trim_start();
        rest.starts_with("is defined") || rest.starts_with("is not defined")
    })
}

/// Checks the names that waited for the dataset's columns and roles.
pub(crate) fn settle(pending: &[PendingName], held: &AvailableNames<'_>, problems: &mut Problems) {
    for waiting in pending.iter().filter(|it| it.metric.is_none() && it.absence != Absence::Defaulted) {
        let place = &waiting.place;
        if let Some(column) = waiting.column().filter(|column| !held.columns.contains(*column)) {
            problems
                .error(place, format!("the dataset has no column `{column}`"))
                .maybe_hint(suggestion(column, held.columns.iter().map(String::as_str)));
        }
        match held.lacks_role(waiting) {
            Some(role) if waiting.is_shown_by_default => {
                let message = format!(
                    "this rubric does not say what its judge sees, so it sees the {role} and the output, and the dataset names \
                     no {role}"
                );
                problems.error(place, message).hint(format!(
                    "add `{role}: COLUMN` to `dataset`, or list what the judge sees, such as \
                     `show: {{ answer: \"{{{{ output }}}}\" }}`"
                ));
            }
            Some(role) => {
                problems
                    .error(place, format!("the dataset names no {role}"))
                    .hint(format!("add `{role}: COLUMN` to `dataset`, or write `sample.COLUMN`"));
            }
            None => {}
        }
    }
}
