//! Evals of the registry of OpenAI's open-source package `evals`.
//!
//! - `registry` reads the file and finds what it names: rows in `data`, rubrics in `modelgraded`.
//! - `rows` reads the rows of an eval.
//! - `graders` makes scorers of its class; `model_graded` those that ask a model.
//!
//! A file of the registry holds several evals; all of them become one suite, in which each row names its evals. Models are
//! chosen there when an eval is run, so the suite names none. Read this file, then `graders`.

mod graders;
mod model_graded;
mod registry;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use self::graders::{Grader, REFERENCE};
use self::registry::{Eval, Registry};
use self::rows::{EvalRow, InputForm, RowFile};
use crate::draft::Draft;
use crate::error::ImportError;
use crate::report::{Dropped, Shape};
use crate::source::Source;
use crate::text::names::{Names, valid_id};

pub(crate) use self::registry::is_registry_file;

/// Evals with the same rows.
struct Group {
    names: Vec<String>,
    rows: Vec<EvalRow>,
    /// Positions among all graders.
    graders: Vec<usize>,
}

/// # Errors
/// A file without an eval that can be carried over.
pub(crate) fn import(source: &Source, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    "OpenAI Evals".clone_into(&mut draft.report.tool.name);
    let registry = Registry::read(source)?;
    let mut groups: BTreeMap<RowFile, Group> = BTreeMap::new();
    let mut graders: Vec<Grader> = Vec::new();
    for eval in registry.evals() {
        let grader = match Grader::of(&eval, &registry) {
            Ok(grader) => grader,
            Err(lost) => {
                draft.report.drop(lost.of_eval(&eval));
                continue;
            }
        };
        let file = match RowFile::of(&eval) {
            Ok(file) => file,
            Err(lost) => {
                draft.report.drop(lost.of_eval(&eval));
                continue;
            }
        };
        if !groups.contains_key(&file) {
            let rows = match file.read(&registry, draft) {
                Ok(rows) => rows,
                Err(lost) => {
                    draft.report.drop(lost.of_eval(&eval));
                    continue;
                }
            };
            groups.insert(file.clone(), Group { names: Vec::new(), rows, graders: Vec::new() });
        }
        grader.note_settings(&eval, draft);
        let at = graders.iter().position(|known| *known == grader).unwrap_or(graders.len());
        if at == graders.len() {
            graders.push(grader);
        }
        if let Some(group) = groups.get_mut(&file) {
            group.names.push(eval.name.clone());
            if !group.graders.contains(&at) {
                group.graders.push(at);
            }
        }
    }
    if groups.is_empty() {
        return Err(registry.nothing_carried(&draft.report));
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    // In the order in which the file names them.
    groups.sort_by_key(|group| registry.position(group.names.first().map_or("", String::as_str)));
    write(source, groups, &graders, draft)
}

fn write(source: &Source, groups: Vec<Group>, graders: &[Grader], draft: &mut Draft<'_>) -> Result<(), ImportError> {
    let first = groups.first().and_then(|group| group.names.first()).cloned().unwrap_or_default();
    let is_one = groups.len() == 1;
    draft.suite.name = valid_id(&if is_one { first.clone() } else { source.stem() }, "evals");
    draft.suite.about = format!("OpenAI Evals: {}", crate::text::escape::literal(&source.stem()));
    let all: Vec<usize> = (0..graders.len()).collect();
    // Where each row has every grader, all read the same column.
    let is_uniform = groups.iter().all(|group| group.graders == all);
    let mut names = Names::default();
    let ids: Vec<String> = graders.iter().map(|grader| names.take(grader.name(), "match")).collect();
    let columns: Vec<String> = ids
        .iter()
        .map(|id| {
            if is_uniform { REFERENCE.to_owned() } else { format!("{REFERENCE}_{}", id.replace(['#', '-', '.'], "_")) }
        })
        .collect();
    let form = if groups.iter().flat_map(|group| &group.rows).any(|row| row.input.is_array()) {
        InputForm::Messages
    } else {
        InputForm::Text
    };
    let mut file = draft.rows("data/samples.jsonl")?;
    let mut count = 0;
    for group in groups {
        let prefix =
            if is_one { String::new() } else { format!("{}/", group.names.first().map_or("", String::as_str)) };
        for row in group.rows {
            count += 1;
            let id = format!("{prefix}{}", row.number);
            let mut columns_of =
                Map::from_iter([("id".to_owned(), json!(id)), ("input".to_owned(), row.input_as(form))]);
            for at in &group.graders {
                if let Some(grader) = graders.get(*at) {
                    let column = columns.get(*at).map_or(REFERENCE, String::as_str);
                    columns_of.extend(grader.columns(&row, column, is_uniform));
                }
            }
            if !is_one || group.names.len() > 1 {
                columns_of.insert("metadata".to_owned(), json!({"eval": group.names.join(", ")}));
            }
            file.push(&Value::Object(columns_of))?;
        }
    }
    file.finish()?;
    draft.suite.dataset.extend([
        ("source".to_owned(), json!("data/samples.jsonl")),
        ("id".to_owned(), json!("id")),
        ("input".to_owned(), json!("input")),
    ]);
    if is_uniform && graders.iter().any(Grader::reads_reference) {
        draft.suite.dataset.insert("reference".to_owned(), json!(REFERENCE));
    }
    for ((grader, id), column) in graders.iter().zip(&ids).zip(&columns) {
        let scorer = grader.scorer(id, column, is_uniform, draft)?;
        draft.suite.scorers.insert(id.clone(), scorer);
    }
    let key = if form == InputForm::Messages { "messages" } else { "text" };
    draft.suite.variants.insert("answer".to_owned(), json!([{"prompt": {key: "{{ input }}"}}]));
    draft.name_no_model("the registry names no model: whoever runs an eval does");
    if graders.iter().any(Grader::is_judged) {
        draft.report.note("judges", "the registry names no judge: name one under `judges` or with `--judges`; until then the scorers that ask one are off");
    }
    draft.report.shape = Shape::Live;
    draft.report.counts.samples = count;
    draft.report.counts.systems = 1;
    draft.report.counts.checks = graders.len() as u64;
    Ok(())
}

/// A part of an eval that has no counterpart.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Lost {
    construct: String,
    why: String,
    instead: Option<&'static str>,
}

impl Lost {
    fn new(construct: impl Into<String>, why: impl Into<String>) -> Self {
        Self { construct: construct.into(), why: why.into(), instead: None }
    }

    fn instead(self, instead: &'static str) -> Self {
        Self { instead: Some(instead), ..self }
    }

    fn of_eval(self, eval: &Eval) -> Dropped {
        let path = format!("{}.{}", eval.key, self.construct);
        self.at(path, 0)
    }

    fn at(self, path: String, samples: u64) -> Dropped {
        let Self { construct, why, instead } = self;
        Dropped { path, line: None, construct, why, instead: instead.map(str::to_owned), samples }
    }
}
