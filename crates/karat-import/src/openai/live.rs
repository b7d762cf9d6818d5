//! Prompts of runs without outputs, as variants of a live suite.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::calls::{messages, model_id, parameters};
use super::graders;
use super::objects::{Objects, Run};
use super::rows::{self, Rows};
use super::schema;
use super::template::{Piece, pieces, translate};
use super::{drop_entry, is_blank, text_at};
use crate::draft::Draft;
use crate::error::ImportError;
use crate::report::Shape;
use crate::text::names::Names;

/// A prompt with its settings, and the models that run it.
#[derive(Debug, PartialEq)]
struct Prompt {
    messages: Value,
    parameters: Map<String, Value>,
    models: BTreeSet<String>,
}

pub(super) fn import(objects: &Objects, rows: &Rows, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    let graders = graders::add(objects.criteria(), rows, Shape::Live, draft)?;
    let unchecked: Vec<String> = draft
        .report
        .dropped
        .iter()
        .filter(|drop| drop.path.starts_with("eval.testing_criteria[") && drop.path.ends_with(']'))
        .map(|drop| drop.construct.clone())
        .collect();
    add_dataset(rows, &unchecked, draft)?;
    schema::add(objects, rows, draft)?;
    let prompts = prompts(objects, rows, draft);
    add_variants(prompts, objects, rows, draft);
    draft.report.shape = Shape::Live;
    draft.report.counts.samples = rows.len() as u64;
    draft.report.counts.systems = (draft.suite.variants.len() * draft.suite.models.len().max(1)) as u64;
    draft.report.counts.checks = graders.iter().filter(|grader| grader.scorer.is_some()).count() as u64;
    Ok(())
}

fn add_dataset(rows: &Rows, unchecked: &[String], draft: &mut Draft<'_>) -> Result<(), ImportError> {
    let mut file = draft.rows("data/samples.jsonl")?;
    let columns: Vec<Map<String, Value>> = rows
        .samples()
        .map(|sample| std::iter::once(("id".to_owned(), json!(sample.id))).chain(sample.columns).collect())
        .collect();
    if columns.is_empty() {
        let name = &draft.report.source.name;
        return Err(ImportError::new(name, "holds an eval without its rows: rows are missing").with_hint(
            "save them beside it: `rows` of the export, output items of its runs, or the uploaded file as `files/NAME.jsonl`",
        ));
    }
    let roles = rows::roles(|name| columns.iter().any(|row| row.get(name).is_some_and(|value| !value.is_null())));
    for mut row in columns {
        if !unchecked.is_empty() {
            row.insert("metadata".to_owned(), json!({"unchecked": unchecked}));
        }
        file.push(&Value::Object(row))?;
    }
    file.finish()?;
    draft.suite.dataset.insert("source".to_owned(), json!("data/samples.jsonl"));
    draft.suite.dataset.insert("id".to_owned(), json!("id"));
    draft.suite.dataset.extend(roles);
    Ok(())
}

/// The distinct prompts of all runs.
fn prompts(objects: &Objects, rows: &Rows, draft: &mut Draft<'_>) -> Vec<Prompt> {
    let mut prompts: Vec<Prompt> = Vec::new();
    for (index, run) in objects.runs.iter().enumerate() {
        let path = format!("runs[{index}].run.data_source");
        let Some(messages) = prompt_messages(run, rows, &path, draft) else { continue };
        let settings = run.data_source().get("sampling_params").unwrap_or(&Value::Null);
        let parameters = parameters(settings, &format!("{path}.sampling_params"), rows.len() as u64, draft);
        let model = text_at(run.data_source(), "model").or_else(|| text_at(&run.object, "model"));
        let models = model.map(model_id).into_iter().collect();
        match prompts.iter_mut().find(|known| known.messages == messages && known.parameters == parameters) {
            Some(known) => known.models.extend(models),
            None => prompts.push(Prompt { messages, parameters, models }),
        }
    }
    prompts
}

/// The prompt of a run as a step's; `None`, and listed, if there is none or a suite cannot make it.
fn prompt_messages(run: &Run, rows: &Rows, path: &str, draft: &mut Draft<'_>) -> Option<Value> {
    let input = run.data_source().get("input_messages").filter(|input| !is_blank(input))?;
    let path = format!("{path}.input_messages");
    let lost = |why: &str| drop_entry(path.clone(), "input_messages", why, rows.len() as u64);
    if let Some(reference) = text_at(input, "item_reference") {
        return match pieces(&format!("{{{{{reference}}}}}")).as_slice() {
            [Piece::Item(item)] => Some(json!({"messages": format!("{{{{ {} }}}}", rows.columns.expression(item))})),
            _ => {
                draft.report.drop(lost("it refers to no column of an item"));
                None
            }
        };
    }
    let Some(messages) = messages(input, "template") else {
        draft.report.drop(lost("only texts are carried over"));
        return None;
    };
    let translated: Result<Vec<_>, _> =
        messages.iter().map(|(role, text)| Ok((role.as_str(), translate(text, &rows.columns)?))).collect();
    match translated {
        Ok(messages) => Some(prompt(&messages)),
        Err(name) => {
            let name: String = name;
            draft.report.drop(lost(&format!("it reads `{name}`, which a suite does not have")));
            None
        }
    }
}

/// Messages in the shortest form of a prompt.
fn prompt(messages: &[(&str, String)]) -> Value {
    match messages {
        [("user", text)] => json!({"text": text}),
        [("system", system), ("user", user)] => json!({"system": system, "user": user}),
        messages => {
            let messages: Vec<_> =
                messages.iter().map(|(role, content)| json!({"role": role, "content": content})).collect();
            json!({"messages": messages})
        }
    }
}

fn add_variants(mut prompts: Vec<Prompt>, objects: &Objects, rows: &Rows, draft: &mut Draft<'_>) {
    if prompts.is_empty() {
        let schema = schema::of_item(objects).unwrap_or_default();
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
        let column =
            rows.column_to_send(properties).map_or_else(|| "sample.id".to_owned(), |it| rows.columns.expression(it));
        draft
            .report
            .note("runs", "name no prompt: the variant `prompt` sends a column as it is; write your prompt there");
        let messages = json!({"text": format!("{{{{ {column} }}}}")});
        prompts.push(Prompt { messages, parameters: Map::new(), models: BTreeSet::new() });
    }
    let models: BTreeSet<String> = prompts.iter().flat_map(|prompt| prompt.models.clone()).collect();
    if models.is_empty() {
        draft.name_no_model("runs of the eval name none");
    }
    let mut names = Names::default();
    for prompt in prompts {
        let mut step = json!({"prompt": prompt.messages});
        if !prompt.parameters.is_empty() {
            step["parameters"] = Value::Object(prompt.parameters);
        }
        if !prompt.models.is_empty() && prompt.models != models {
            step["requires"] = json!({"models": prompt.models});
        }
        draft.suite.variants.insert(names.take("prompt", "prompt"), json!([step]));
    }
    draft.suite.models = models.into_iter().map(Value::String).collect();
}
