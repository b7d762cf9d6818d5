//! The file of results, read in a stream: its head first, then the results one by one.

use std::fmt;
use std::io::BufRead;
use std::path::Path;

use karat_types::json::{self, Parsed};
use serde::Deserialize;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::table;
use crate::error::ImportError;
use crate::source::{Source, invalid_json};

/// Version of the format with a list of results, and the one before, with a table.
const VERSION: u64 = 3;
const TABLE_VERSION: u64 = 2;

/// Everything but the results.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub prompts: Vec<Value>,
    pub description: String,
    /// The names of the variables of a table, where the results stand in one.
    pub table: Option<Vec<String>>,
    /// Version of promptfoo.
    pub version: Option<String>,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    results: Option<ResultsBody>,
    #[serde(default)]
    config: Option<Config>,
    #[serde(default)]
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct ResultsBody {
    #[serde(default)]
    version: Option<u64>,
    #[serde(default)]
    prompts: Vec<Value>,
    #[serde(default)]
    table: Option<Table>,
    #[serde(default)]
    results: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Table {
    #[serde(default)]
    head: Value,
    #[serde(default)]
    body: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    description: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default, rename = "promptfooVersion")]
    version: Option<String>,
}

/// A JSON file with the key `results`.
#[derive(Deserialize)]
struct Probe {
    #[serde(default)]
    results: Option<IgnoredAny>,
}

/// Returns true if a JSON file holds results.
///
/// # Errors
/// A file that is not a JSON object.
pub(in crate::promptfoo) fn holds_results(source: &Source, file: &Path) -> Result<bool, ImportError> {
    let probe: Probe = serde_json::from_reader(source.reader(file)?).map_err(|error| invalid_json(file, &error))?;
    Ok(probe.results.is_some())
}

/// The head of a file of results.
///
/// # Errors
/// Another version of the format.
pub(super) fn read_head(source: &Source, file: &Path) -> Result<Head, ImportError> {
    let again = "write it again with a current promptfoo: `promptfoo export eval ID -o results.json`";
    let read: File = serde_json::from_reader(source.reader(file)?).map_err(|error| {
        let problem = format!("does not look like results of promptfoo: {error}");
        ImportError::new(file.display(), problem).at_line(error.line().max(1)).with_hint(again)
    })?;
    let body = read.results.ok_or_else(|| ImportError::new(file.display(), "has no `results`"))?;
    let version = body.version.unwrap_or(if body.table.is_some() { 1 } else { 0 });
    let table = body.table.filter(|table| version == TABLE_VERSION && table.body.is_some());
    if table.is_none() && (version != VERSION || body.results.is_none()) {
        let problem = format!(
            "holds results in version {version} of the format; version {VERSION}, or {TABLE_VERSION} with its table, was \
             expected"
        );
        return Err(ImportError::new(file.display(), problem).with_hint(again));
    }
    Ok(Head {
        prompts: table.as_ref().map_or(body.prompts, |table| table::prompts(&table.head)),
        table: table.map(|table| table::variables(&table.head)),
        description: read.config.and_then(|config| config.description).unwrap_or_default(),
        version: read.metadata.and_then(|metadata| metadata.version),
    })
}

/// Calls `take` for each result, of a table for each output.
///
/// # Errors
/// Broken JSON, or an error of `take`.
pub(super) fn read_results(
    source: &Source,
    file: &Path,
    head: &Head,
    mut take: impl FnMut(&Value) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let Some(variables) = &head.table else {
        return read_members(source, file, &["results", "results"], |result| take(&result));
    };
    let mut test = 0;
    read_members(source, file, &["results", "table", "body"], |row| {
        let results = table::results(&row, test, &head.prompts, variables);
        test += 1;
        results.iter().try_for_each(&mut take)
    })
}

/// Calls `take` for each member of the list below these keys.
fn read_members(
    source: &Source,
    file: &Path,
    keys: &'static [&'static str],
    mut take: impl FnMut(Value) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut refused = None;
    let reader = source.reader(file)?;
    let mut deserializer = serde_json::Deserializer::from_reader(reader);
    let mut take = |value: Value| match take(value) {
        Ok(()) => Ok(()),
        Err(error) => {
            let text = error.to_string();
            refused = Some(error);
            Err(text)
        }
    };
    let read = Members { keys, take: &mut take }.deserialize(&mut deserializer);
    match (refused, read) {
        (Some(error), _) => Err(error),
        (None, Err(error)) => Err(invalid_json(file, &error)),
        (None, Ok(())) => Ok(()),
    }
}

/// Calls `take` for each line.
///
/// # Errors
/// A line that is not JSON, or an error of `take`.
pub(super) fn read_lines(
    source: &Source,
    file: &Path,
    mut take: impl FnMut(Value) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    for (at, line) in source.reader(file)?.lines().enumerate() {
        let line = line.map_err(|error| ImportError::reading(file, &error))?;
        if line.trim().is_empty() {
            continue;
        }
        let result = json::parse(&line)
            .map_err(|error| ImportError::new(file.display(), format!("is not valid JSON: {error}")).at_line(at + 1))?;
        take(result)?;
    }
    Ok(())
}

type Take<'t> = dyn FnMut(Value) -> Result<(), String> + 't;

/// Visits the members of a list below these keys.
struct Members<'t, 'f> {
    keys: &'static [&'static str],
    take: &'f mut Take<'t>,
}

impl<'de> DeserializeSeed<'de> for Members<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.keys {
            [] => deserializer.deserialize_seq(self),
            _ => deserializer.deserialize_map(self),
        }
    }
}

impl<'de> Visitor<'de> for Members<'_, '_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.keys {
            [] => out.write_str("a list of results"),
            [key, ..] => write!(out, "a map with `{key}`"),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match self.keys.split_first() {
                Some((wanted, keys)) if key == *wanted => map.next_value_seed(Members { keys, take: self.take })?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(Parsed { value, .. }) = list.next_element()? {
            (self.take)(value).map_err(serde::de::Error::custom)?;
        }
        Ok(())
    }
}
