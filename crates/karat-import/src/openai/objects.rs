//! Objects of the API, from any file.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{is_blank, list_at, text_at};

/// The parts of one eval.
#[derive(Debug, Default)]
pub(super) struct Objects {
    pub eval: Option<Value>,
    /// Rows of an export.
    pub rows: Vec<Value>,
    /// Rows of files beside the objects.
    pub files: Vec<Value>,
    pub runs: Vec<Run>,
    /// Objects of other kinds, and their numbers.
    pub unknown: BTreeMap<String, u64>,
}

/// A run with its outputs.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// Null if there are only output items.
    pub object: Value,
    pub items: Vec<Value>,
}

/// The reason why a value is not taken; `None` if it is not an object of the API.
type Problem = Option<String>;

impl Objects {
    pub fn is_empty(&self) -> bool {
        self.eval.is_none() && self.runs.is_empty() && self.rows.is_empty()
    }

    /// True if some output item has an output or an error.
    pub fn has_outputs(&self) -> bool {
        let has_output = |item: &Value| item.get("sample").is_some_and(|sample| !is_blank(sample));
        self.runs.iter().flat_map(|run| &run.items).any(has_output)
    }

    /// Name of the eval, or its id where only runs are there.
    pub fn name(&self) -> String {
        let eval = self.eval.as_ref().and_then(|eval| text_at(eval, "name").or_else(|| text_at(eval, "id")));
        let run = || self.runs.iter().find_map(|run| text_at(&run.object, "eval_id"));
        eval.or_else(run).unwrap_or("eval").to_owned()
    }

    /// The testing criteria.
    pub fn criteria(&self) -> &[Value] {
        self.eval.as_ref().map_or(&[], |eval| list_at(eval, "testing_criteria"))
    }

    /// Takes a value apart: an object, a list of objects, a page of a list, or an export.
    pub fn add(&mut self, value: Value) -> Result<(), Problem> {
        if let Value::Array(objects) = value {
            return objects.into_iter().try_for_each(|object| self.add(object));
        }
        match text_at(&value, "object").unwrap_or_default() {
            "eval" => self.add_eval(value),
            "eval.run" => {
                let id = text_at(&value, "id").map(str::to_owned);
                self.run_of(id).object = value;
                Ok(())
            }
            "eval.run.output_item" => {
                let run = text_at(&value, "run_id").map(str::to_owned);
                self.run_of(run).items.push(value);
                Ok(())
            }
            "list" => list_at(&value, "data").iter().try_for_each(|object| self.add(object.clone())),
            "" => self.add_export(value),
            other => {
                *self.unknown.entry(other.to_owned()).or_default() += 1;
                Ok(())
            }
        }
    }

    fn add_eval(&mut self, eval: Value) -> Result<(), Problem> {
        match &self.eval {
            Some(known) if known.get("id") != eval.get("id") => {
                let name =
                    |eval: &Value| text_at(eval, "name").or_else(|| text_at(eval, "id")).unwrap_or("?").to_owned();
                Err(Some(format!(
                    "holds a second eval, `{}`, beside `{}`; import each on its own",
                    name(&eval),
                    name(known)
                )))
            }
            _ => {
                self.eval = Some(eval);
                Ok(())
            }
        }
    }

    /// `{eval, rows, runs: [{run, output_items}]}`, or one `{run, output_items}`.
    fn add_export(&mut self, export: Value) -> Result<(), Problem> {
        let Value::Object(mut export) = export else { return Err(None) };
        if !["eval", "run", "runs", "output_items"].iter().any(|key| export.contains_key(*key)) {
            return Err(None);
        }
        if let Some(eval) = export.remove("eval").filter(Value::is_object) {
            self.add_eval(eval)?;
        }
        if let Some(Value::Array(rows)) = export.remove("rows") {
            self.rows.extend(rows);
        }
        if let Some(Value::Array(runs)) = export.remove("runs") {
            runs.into_iter().try_for_each(|run| self.add(run))?;
        }
        let run = export.remove("run");
        if let Some(run) = run.clone() {
            self.add(run)?;
        }
        if let Some(Value::Array(items)) = export.remove("output_items") {
            // Items of an export belong to the run that they stand with.
            let id = run.as_ref().and_then(|run| text_at(run, "id")).map(str::to_owned);
            for item in items {
                let of_item = text_at(&item, "run_id").map(str::to_owned);
                self.run_of(id.clone().or(of_item)).items.push(item);
            }
        }
        for key in export.keys() {
            *self.unknown.entry(key.clone()).or_default() += 1;
        }
        Ok(())
    }

    /// The run with an id; one is added if there is none.
    fn run_of(&mut self, id: Option<String>) -> &mut Run {
        let is_it = |run: &Run| {
            let own = text_at(&run.object, "id").or_else(|| run.items.first().and_then(|item| text_at(item, "run_id")));
            own == id.as_deref()
        };
        let index = self.runs.iter().position(is_it).unwrap_or(self.runs.len());
        if index == self.runs.len() {
            self.runs.push(Run::default());
        }
        &mut self.runs[index]
    }
}

impl Run {
    /// The name, or the id, of the run.
    pub fn name(&self) -> &str {
        let named = text_at(&self.object, "name").or_else(|| text_at(&self.object, "id"));
        named.or_else(|| self.items.first().and_then(|item| text_at(item, "run_id"))).unwrap_or("run")
    }

    pub fn data_source(&self) -> &Value {
        self.object.get("data_source").unwrap_or(&Value::Null)
    }
}
