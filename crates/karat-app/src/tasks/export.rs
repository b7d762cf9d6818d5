//! Labels as files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use karat_report::csv::csv_field;
use serde_json::{Map, Value, json};

use crate::error::{AnnotateError, Names};
use crate::project::presets::suite_path;
use crate::stored::labels::agreement::agreement;
use crate::stored::labels::settle::settle_item;
use crate::stored::labels::settle::{SETTLED, label_rows};
use crate::stored::labels::state::TaskState;
use crate::stored::labels::task::LoadedTask;
use crate::tasks::Tasks;
use crate::{AppError, rfc3339};

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportForm {
    /// Rows of a labels file, as rubrics read them.
    Labels,
    /// Items with everything about them, as JSON lines behind a head.
    Jsonl,
    /// A row for each answer, behind a head of comments.
    Csv,
}

/// The request for an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportRequest {
    /// Its form.
    pub form: ExportForm,
    /// True for one settled value of each item instead of the labels of each person.
    pub settled: bool,
    /// True for every event instead of the present labels; the form is then JSON lines.
    pub audit: bool,
    /// True to call people `a1`, `a2` and so on.
    pub pseudonyms: bool,
}

/// The meaning of a name in `export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelSource {
    /// A task.
    Task,
    /// A suite, which has a labels file.
    Suite,
}

impl Tasks<'_> {
    /// The meaning of a name: a task comes before a suite file and a preset.
    ///
    /// # Errors
    /// It names none of them.
    pub fn label_source(&self, name: &str) -> Result<LabelSource, AppError> {
        let plain = name.split('@').next().unwrap_or(name);
        let tasks = if self.app.store.exists() { self.app.store_to_read()?.annotation_tasks()? } else { Vec::new() };
        let known: BTreeSet<String> = tasks.into_iter().map(|task| task.name).collect();
        if known.contains(plain) {
            return Ok(LabelSource::Task);
        }
        if suite_path(name).is_some() || Path::new(name).exists() {
            return Ok(LabelSource::Suite);
        }
        Err(AnnotateError::NoTaskOrSuite { name: name.to_owned(), known: Names::of(known) }.into())
    }

    /// The labels of a task as the text of a file.
    ///
    /// # Errors
    /// An unknown task; nothing to export in this form.
    pub fn export(&self, name: &str, asked: &ExportRequest) -> Result<String, AppError> {
        let task = self.app.stored().loaded_task(name)?;
        let events = match asked.audit {
            true => Some(self.app.store_to_read()?.annotation_events(task.stored.id, 0)?),
            false => None,
        };
        let text = self.app.stored().read_state(&task, |state| {
            let people = pseudonyms(state, events.as_deref().unwrap_or_default(), asked.pseudonyms);
            let rename = |name: &str| people.get(name).cloned().unwrap_or_else(|| name.to_owned());
            let mut lines = match (&events, asked.form) {
                (Some(events), _) => events.iter().map(|event| audit_line(&task, event, &rename)).collect(),
                (None, ExportForm::Labels) => label_rows(&task, state, asked.settled, &rename),
                (None, ExportForm::Jsonl) => item_rows(&task, state, asked.settled, &rename),
                (None, ExportForm::Csv) => return csv(&task, state, asked.settled, &rename),
            };
            if asked.form == ExportForm::Labels && events.is_none() {
                // A labels file has no line of its own for a head, and unknown fields of its rows are ignored.
                if let Some(first) = lines.first_mut() {
                    first["provenance"] = provenance(&task, state, &rename);
                }
            } else {
                lines.insert(0, json!({ "provenance": provenance(&task, state, &rename) }));
            }
            lines.iter().map(|line| format!("{line}\n")).collect::<String>()
        })?;
        if text.is_empty() {
            let task = task.stored.name.clone();
            let error =
                if asked.settled { AnnotateError::NoSettled { task } } else { AnnotateError::NoLabels { task } };
            return Err(error.into());
        }
        Ok(text)
    }
}

/// Pseudonyms of all people, in the order of their names, if they are wanted.
pub(super) fn pseudonyms(
    state: &TaskState,
    events: &[karat_store::AnnotationEvent],
    wanted: bool,
) -> BTreeMap<String, String> {
    let labels = state.items.iter().flat_map(|item| item.labels.keys().chain(item.skips.keys()));
    let flags = state.items.iter().flat_map(|item| item.flags.iter().map(|flag| &flag.person));
    let names = labels.chain(flags).chain(state.excluded.keys()).chain(events.iter().map(|event| &event.person));
    let owners = state.items.iter().filter_map(|item| item.adjudication.as_ref().map(|(person, ..)| person));
    let names: BTreeSet<&String> = names.chain(owners).chain(state.closed.iter().map(|(person, _)| person)).collect();
    let numbered = names.into_iter().enumerate().map(|(at, name)| (name.clone(), format!("a{}", at + 1)));
    numbered.filter(|_| wanted).collect()
}

/// Where labels come from, and how far their people agree.
pub(super) fn provenance(task: &LoadedTask, state: &TaskState, rename: &dyn Fn(&str) -> String) -> Value {
    let people: BTreeSet<String> =
        state.items.iter().flat_map(|item| item.labels.keys()).map(|name| rename(name)).collect();
    let found = agreement(task, state);
    let questions = task.body.questions.iter().zip(found["questions"].as_array().into_iter().flatten());
    let questions: Map<String, Value> = questions
        .map(|(question, found)| {
            let alpha = found.get("alpha").cloned().unwrap_or_default();
            (question.id.clone(), json!({ "rule": question.rule(), "alpha": alpha }))
        })
        .collect();
    let excluded: Map<String, Value> =
        state.excluded.iter().map(|(name, reason)| (rename(name), reason.clone().into())).collect();
    json!({
        "task": task.stored.name, "version": task.stored.version, "hash": task.stored.hash.to_string(),
        "source": task.body.source, "labels_per_item": task.body.places, "targeted": task.body.targeted, "design": task.body.design(),
        "people": people, "excluded": excluded, "questions": questions,
        "closed_at": state.closed.as_ref().map(|(_, at)| rfc3339(*at)),
    })
}

/// Items with their outputs, systems, labels and settled values. The blinding is open to the owner only.
fn item_rows(task: &LoadedTask, state: &TaskState, settled_only: bool, rename: &dyn Fn(&str) -> String) -> Vec<Value> {
    let row = |(position, item): (usize, &crate::stored::labels::task::ItemBody)| {
        let labels = state.items.get(position).into_iter().flat_map(|item| &item.labels).map(|(person, label)| {
            json!({
                "person": rename(person), "answers": label.body.answers, "note": label.body.note,
                "at": rfc3339(label.at), "ms": label.body.ms, "counted": label.body.counted,
                "earlier": label.body.earlier, "excluded": state.excluded.contains_key(person),
            })
        });
        let reasons = |items: Vec<&crate::stored::labels::state::StandingReason>| -> Vec<Value> {
            let reason = |it: &&crate::stored::labels::state::StandingReason| json!({ "person": rename(&it.person), "reason": it.body.reason, "note": it.body.note });
            items.iter().map(reason).collect()
        };
        let place = state.items.get(position);
        let labels: Vec<Value> = if settled_only { Vec::new() } else { labels.collect() };
        json!({
            "item": task.id(position), "sample": item.sample, "context": item.context, "outputs": item.outputs,
            "gold": item.gold, "settled": settle_item(task, state, position), "labels": labels,
            "skips": reasons(place.into_iter().flat_map(|it| it.skips.values()).collect()),
            "flags": reasons(place.into_iter().flat_map(|it| &it.flags).collect()),
        })
    };
    task.items.iter().enumerate().map(row).collect()
}

/// An event as it is stored: all of them replay to the present state.
fn audit_line(task: &LoadedTask, event: &karat_store::AnnotationEvent, rename: &dyn Fn(&str) -> String) -> Value {
    let item = event.item.and_then(|at| usize::try_from(at).ok()).map(|at| task.id(at));
    let mut body: Value = serde_json::from_str(&event.body).unwrap_or_default();
    if event.kind == crate::stored::labels::state::kind::EXCLUDE {
        let person = body["note"].as_str().map(rename);
        body["note"] = person.into();
    }
    json!({
        "seq": event.seq, "at": rfc3339(event.at), "item": item, "person": rename(&event.person), "kind": event.kind,
        "body": body,
    })
}

/// A row for each answer.
fn csv(task: &LoadedTask, state: &TaskState, settled: bool, rename: &dyn Fn(&str) -> String) -> String {
    let mut text = format!("# {}\nitem,sample,question,person,answer,state\n", provenance(task, state, rename));
    let cell = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut add = |cells: [&str; 6]| {
        // A negative number is not a formula.
        let field = |cell: &&str| cell.parse::<f64>().map_or_else(|_| csv_field(cell), |_| (*cell).to_owned());
        let cells: Vec<String> = cells.iter().map(field).collect();
        text.push_str(&cells.join(","));
        text.push('\n');
    };
    for (position, item) in task.items.iter().enumerate() {
        if settled {
            for (id, found) in settle_item(task, state, position).questions {
                let value = found.value.as_ref().map(cell).unwrap_or_default();
                let status = serde_json::to_value(found.state).map(|state| cell(&state)).unwrap_or_default();
                add([task.id(position), &item.sample, &id, SETTLED, &value, &status]);
            }
            continue;
        }
        for (person, label) in state.labels(position) {
            let status = if label.body.counted { "counted" } else { "extra" };
            for (id, answer) in &label.body.answers {
                add([task.id(position), &item.sample, id, &rename(person), &cell(answer), status]);
            }
        }
    }
    text
}
