//! The JSON Schema of a row: fills defaults, opens up short forms, types the cells of a table, then validates.
//!
//! Two keywords extend JSON Schema. `"x-main": "text"` on an object's schema accepts a bare text in place of the object
//! `{"text": …}`, as the suite language itself does: so an older shape of a file can be read with a notice.
//! `"x-near-names": "refuse"` lets an object have other members than the schema names, but none that is written almost
//! like one that it lacks: `key_action` beside no `key_actions` is a spelling mistake, and would be read as nothing at all.

use std::collections::BTreeMap;
use std::fmt;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use karat_text::schema::Schema;
use karat_types::json;
use serde_json::{Map, Number, Value};

use crate::dataset::DatasetError;
use crate::dataset::source::raw::RowPlace;
use crate::diagnostics::nearest::nearest;

/// Largest number of problems that are reported of one value.
const SHOWN: usize = 20;

/// A compiled row schema.
pub(crate) struct RowSchema {
    schema: Value,
    whole: Schema,
    columns: BTreeMap<String, Schema>,
}

/// A kind of lenient reading, counted over all rows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Leniency {
    /// An absent field got its default.
    Filled { field: String, default: String },
    /// A bare text was read as an object.
    Opened { field: String, main: String },
}

impl fmt::Display for Leniency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filled { field, default } => {
                write!(f, "rows without `{field}` are read with {default}, as their schema says")
            }
            Self::Opened { field, main } => {
                write!(f, "`{field}` contains bare texts (an older format); each is read as an object with `{main}`")
            }
        }
    }
}

impl RowSchema {
    /// Compiles a schema that is known to be valid.
    pub fn new(schema: &Value) -> Option<Self> {
        let whole = Schema::new(schema).ok()?;
        let properties = schema.get("properties").and_then(Value::as_object);
        let columns = properties
            .into_iter()
            .flatten()
            .filter_map(|(name, part)| Some((name.clone(), Schema::new(part).ok()?)))
            .collect();
        Some(Self { schema: schema.clone(), whole, columns })
    }

    /// The columns that the schema names.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.keys().map(String::as_str)
    }

    /// Returns whether the schema describes a path such as `gold.slides[*].title`: then rows need not have it.
    pub fn describes(&self, path: &str) -> bool {
        let parts = path.trim_start_matches("$.").split('.').flat_map(|part| {
            let (name, items) =
                part.split_once('[').map_or((part, 0), |(name, rest)| (name, 1 + rest.matches('[').count()));
            std::iter::once(Some(name)).chain(std::iter::repeat_n(None, items))
        });
        let mut schema = Some(&self.schema);
        for part in parts {
            schema = match part {
                Some(name) => schema.and_then(|schema| schema.get("properties")?.get(name)),
                None => schema.and_then(|schema| schema.get("items")),
            };
        }
        schema.is_some()
    }

    /// Fills, expands and validates a row of the source.
    pub fn row(
        &self,
        row: &mut Value,
        is_table: bool,
        at: &RowPlace,
        leniencies: &mut BTreeMap<Leniency, u64>,
    ) -> Result<(), DatasetError> {
        if is_table {
            type_cells(row, &self.schema);
        }
        adapt(row, &self.schema, "", leniencies);
        check(&self.whole, row, &self.schema, "", at)
    }

    /// Fills, opens and validates the value of a column that was added to the row, where the schema knows it.
    pub fn column(
        &self,
        name: &str,
        value: &mut Value,
        at: &RowPlace,
        leniencies: &mut BTreeMap<Leniency, u64>,
    ) -> Result<(), DatasetError> {
        let part = self.schema.get("properties").and_then(|properties| properties.get(name));
        let Some((compiled, part)) = self.columns.get(name).zip(part) else { return Ok(()) };
        adapt(value, part, name, leniencies);
        check(compiled, value, part, name, at)
    }
}

/// A member whose name is almost that of one that is lacking.
struct MisspelledField {
    owner: String,
    name: String,
    meant: String,
}

impl MisspelledField {
    fn problem(self, at: &RowPlace) -> DatasetError {
        let Self { owner, name, meant } = self;
        let owner = if owner.is_empty() { "the row".to_owned() } else { format!("`{owner}`") };
        at.problem_with_hint(
            &name,
            format!("{owner} has `{name}`, which is not in its schema"),
            Some(format!("did you mean `{meant}`?")),
        )
    }
}

/// The first misspelled field of a value, where its schema refuses them.
fn misspelled_field(value: &Value, schema: &Value, field: &str) -> Option<MisspelledField> {
    match value {
        Value::Object(members) => {
            let known = schema.get("properties").and_then(Value::as_object)?;
            let inner = |name: &str| if field.is_empty() { name.to_owned() } else { format!("{field}.{name}") };
            let refuses = schema.get("x-near-names").is_some_and(|it| it == "refuse");
            let lacking = || known.keys().map(String::as_str).filter(|name| !members.contains_key(*name));
            members.iter().find_map(|(name, value)| match known.get(name) {
                Some(part) => misspelled_field(value, part, &inner(name)),
                None if refuses => nearest(name, lacking()).map(|meant| MisspelledField {
                    owner: field.to_owned(),
                    name: name.clone(),
                    meant: meant.to_owned(),
                }),
                None => None,
            })
        }
        Value::Array(items) => {
            let part = schema.get("items")?;
            items.iter().find_map(|item| misspelled_field(item, part, field))
        }
        _ => None,
    }
}

/// Everything that is wrong with a value, up to what anybody would read.
fn check(compiled: &Schema, value: &Value, schema: &Value, within: &str, at: &RowPlace) -> Result<(), DatasetError> {
    let wrong = compiled.errors(value).map_err(|why| at.problem(within, why.to_string()))?;
    let wrong = wrong.iter().take(SHOWN).map(|error| problem(error, within, at));
    let misspelled = misspelled_field(value, schema, within).map(|field| field.problem(at));
    DatasetError::of_all(wrong.chain(misspelled)).map_or(Ok(()), Err)
}

fn problem(error: &ValidationError<'_>, within: &str, at: &RowPlace) -> DatasetError {
    let pointer = error.instance_path().to_string();
    let below = pointer.trim_start_matches('/').replace('/', ".");
    let field = match (within.is_empty(), below.is_empty()) {
        (true, _) => below.clone(),
        (false, true) => within.to_owned(),
        (false, false) => format!("{within}.{below}"),
    };
    let last = field.rsplit('.').find(|part| part.parse::<usize>().is_err()).unwrap_or_default().to_owned();
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let owner = if field.is_empty() { "the row".to_owned() } else { format!("`{field}`") };
            let hint = error.instance().as_object().and_then(|object| {
                nearest(name, object.keys().map(String::as_str)).map(|near| format!("it has `{near}`"))
            });
            at.problem_with_hint(&last, format!("{owner} has no `{name}`, which is required"), hint)
        }
        _ if field.is_empty() => at.problem("", format!("this row does not match its schema: {error}")),
        _ => at.problem(&last, format!("`{field}` does not match its schema: {error}")),
    }
}

fn adapt(value: &mut Value, schema: &Value, field: &str, leniencies: &mut BTreeMap<Leniency, u64>) {
    if let (Value::String(text), Some(main)) = (&*value, schema.get("x-main").and_then(Value::as_str)) {
        let object = Map::from_iter([(main.to_owned(), Value::String(text.clone()))]);
        *value = Value::Object(object);
        *leniencies.entry(Leniency::Opened { field: field.to_owned(), main: main.to_owned() }).or_default() += 1;
    }
    match value {
        Value::Object(object) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, part) in properties.into_iter().flatten() {
                let inner = if field.is_empty() { name.clone() } else { format!("{field}.{name}") };
                match (object.get_mut(name), part.get("default")) {
                    (Some(value), _) => adapt(value, part, &inner, leniencies),
                    (None, Some(default)) => {
                        *leniencies
                            .entry(Leniency::Filled { field: inner, default: default.to_string() })
                            .or_default() += 1;
                        object.insert(name.clone(), default.clone());
                    }
                    (None, None) => {}
                }
            }
        }
        Value::Array(items) => {
            if let Some(part) = schema.get("items") {
                items.iter_mut().for_each(|item| adapt(item, part, field, leniencies));
            }
        }
        _ => {}
    }
}

/// The cells of a table are texts; where the schema wants a number or a boolean, a cell that is one becomes it, and an
/// empty cell of a type other than text is absent.
fn type_cells(row: &mut Value, schema: &Value) {
    let (Some(row), Some(properties)) = (row.as_object_mut(), schema.get("properties").and_then(Value::as_object))
    else {
        return;
    };
    for (name, part) in properties {
        let wanted = part.get("type").and_then(Value::as_str).unwrap_or("string");
        let Some(Value::String(text)) = row.get(name) else { continue };
        if wanted != "string" && text.is_empty() {
            row.shift_remove(name);
            continue;
        }
        let typed = match wanted {
            "integer" => match text.parse::<i64>() {
                Ok(number) => Some(Value::from(number)),
                // One of more than 64 bits keeps its digits.
                Err(_) => json::number(text).filter(|number| !number.is_f64()).map(Value::Number),
            },
            "number" => {
                let float = text.parse::<f64>().ok().and_then(Number::from_f64);
                let is_longer = |exact: &Number| float.as_ref().is_none_or(|float| !json::same_number(float, exact));
                json::number(text).filter(is_longer).or(float.clone()).map(Value::Number)
            }
            "boolean" => text.parse::<bool>().ok().map(Value::Bool),
            _ => None,
        };
        if let Some(typed) = typed {
            row.insert(name.clone(), typed);
        }
    }
}
