//! Test cases: where they come from, what `defaultTest` adds, and the rows that they become.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::csv_tests;
use super::raw_test::RawTest;
use crate::error::ImportError;
use crate::promptfoo::asserts::{Assert, RUBRIC_PROMPT};
use crate::promptfoo::files;
use crate::promptfoo::models::Grading;
use crate::promptfoo::refusal::{Refusal, drop_unknown_keys, rubric_prompt};
use crate::promptfoo::rows::fill_in;
use crate::promptfoo::settings::Settings;
use crate::promptfoo::values::number_of;
use crate::report::ImportReport;
use crate::source::Source;

/// Endings of files that are sent to a model as they are.
const MEDIA: [&str; 13] =
    ["png", "jpg", "jpeg", "gif", "webp", "bmp", "mp3", "wav", "m4a", "mp4", "mov", "webm", "pdf"];

/// Maximum number of rows that lists of values are multiplied into.
const MAX_ROWS: usize = 1_000_000;

const KEYS: [&str; 10] = [
    "description",
    "vars",
    "assert",
    "threshold",
    "options",
    "metadata",
    "providerOutput",
    "prompts",
    "providers",
    "provider",
];

/// Options of a test that are read, or that change nothing of its result.
const OPTIONS: [&str; 12] = [
    "prefix",
    "suffix",
    "provider",
    "transform",
    "postprocess",
    "transformVars",
    "rubricPrompt",
    "disableVarExpansion",
    "disableDefaultAsserts",
    "disableConversationVar",
    "runSerially",
    "tags",
];

/// A test with defaults filled in.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub path: String,
    pub description: Option<String>,
    pub vars: Map<String, Value>,
    pub metadata: Map<String, Value>,
    /// Its own asserts.
    pub asserts: Vec<Assert>,
    pub threshold: Option<f64>,
    pub prompts: Option<Vec<String>>,
    pub providers: Option<Vec<String>>,
    pub prefix: Option<String>,
    pub suffix: Option<String>,
    pub output: Option<Value>,
    /// The models that grade it, where its own options name some.
    pub grading: Grading,
    /// Options that change the outputs of this test, and are dropped: its checks see other outputs than there.
    pub unchecked: Vec<String>,
    /// True if its judges are asked by a prompt of its own.
    pub has_rubric_prompt: bool,
    pub expansion: Expansion,
    pub defaults: DefaultAsserts,
}

/// The meaning of a variable that is a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expansion {
    /// A row for each value.
    Matrix,
    /// One value.
    None,
}

/// The asserts of `defaultTest` in one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DefaultAsserts {
    Apply,
    Disabled,
}

/// `defaultTest`.
#[derive(Debug, Default)]
pub(super) struct Defaults {
    test: Map<String, Value>,
    pub asserts: Vec<Assert>,
}

impl Defaults {
    /// Reads the value of `defaultTest`. A file that cannot be read is listed as dropped.
    pub fn read(source: &Source, from: &Path, value: Option<&Value>, report: &mut ImportReport) -> Self {
        let value = match value {
            Some(Value::String(text)) => match files::file_name(text) {
                Some(name) if files::is_code(name) => {
                    report.drop(code().of_sample("defaultTest", text));
                    Value::Null
                }
                name => {
                    let content = source.beneath(from, name.unwrap_or(text)).and_then(|path| source.yaml(&path));
                    content.unwrap_or_else(|error| {
                        report.drop(Refusal::of_error(&error).of_sample("defaultTest", text));
                        Value::Null
                    })
                }
            },
            value => value.cloned().unwrap_or_default(),
        };
        let test = value.as_object().cloned().unwrap_or_default();
        drop_unknown_keys("defaultTest", &test, &KEYS, report);
        let asserts = Assert::list("defaultTest.assert", test.get("assert"), report);
        drop_options("defaultTest", &test, report);
        Self { test, asserts }
    }

    /// Names of the variables of all tests.
    pub fn vars(&self) -> Vec<&String> {
        self.test.get("vars").and_then(Value::as_object).into_iter().flat_map(Map::keys).collect()
    }

    /// The value of an option for all tests.
    pub fn option(&self, key: &str) -> Option<&Value> {
        self.test.get("options")?.get(key)
    }

    /// The case of a test, with defaults where the test has nothing of its own.
    pub fn case(&self, raw: RawTest, settings: &Settings, report: &mut ImportReport) -> Case {
        let RawTest { path, test, asserts } = raw;
        drop_unknown_keys(&path, &test, &KEYS, report);
        drop_options(&path, &test, report);
        let asserts = asserts.unwrap_or_else(|| Assert::list(&format!("{path}.assert"), test.get("assert"), report));
        let merged = |key: &str| {
            let mut map = self.test.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
            map.extend(test.get(key).and_then(Value::as_object).cloned().unwrap_or_default());
            map
        };
        let either = |key: &str| test.get(key).or_else(|| self.test.get(key));
        let options = merged("options");
        let text =
            |key: &str| options.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
        let is_set = |key: &str| options.get(key) == Some(&Value::Bool(true));
        let own = test.get("options").and_then(|options| options.get("provider"));
        let own = own.map(|value| Grading::read(value, &format!("{path}.options.provider"), settings, report));
        Case {
            description: test.get("description").and_then(Value::as_str).map(str::to_owned),
            vars: merged("vars"),
            metadata: merged("metadata"),
            asserts,
            threshold: either("threshold").and_then(number_of),
            prompts: either("prompts").and_then(listed_names),
            providers: either("providers")
                .and_then(listed_names)
                .or_else(|| either("provider").and_then(provider_names)),
            prefix: text("prefix"),
            suffix: text("suffix"),
            output: either("providerOutput").cloned(),
            grading: own.unwrap_or_default(),
            unchecked: dropped_transforms(&self.test, is_plain_transform)
                .union(&dropped_transforms(&test, |_| false))
                .cloned()
                .collect(),
            has_rubric_prompt: options.get(RUBRIC_PROMPT).is_some_and(|prompt| !prompt.is_null()),
            expansion: if is_set("disableVarExpansion") { Expansion::None } else { Expansion::Matrix },
            defaults: if is_set("disableDefaultAsserts") { DefaultAsserts::Disabled } else { DefaultAsserts::Apply },
            path,
        }
    }
}

/// The name of a test's own provider. One with settings of its own is none of the config's, so it has no name here.
fn provider_names(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Object(provider) if ["config", "env"].iter().any(|key| provider.contains_key(*key)) => Some(Vec::new()),
        Value::Array(_) => listed_names(value),
        single => name(single).map(|name| vec![name]),
    }
}

/// Names in a list. As there, anything else limits nothing.
fn listed_names(value: &Value) -> Option<Vec<String>> {
    value.as_array().map(|names| names.iter().filter_map(name).collect())
}

fn name(value: &Value) -> Option<String> {
    value.as_str().or_else(|| value.get("id")?.as_str()).map(str::to_owned)
}

/// Lists the options of a test that change its outputs and that a suite has no words for.
fn drop_options(path: &str, test: &Map<String, Value>, report: &mut ImportReport) {
    let Some(options) = test.get("options").and_then(Value::as_object) else { return };
    let path = format!("{path}.options");
    drop_unknown_keys(&path, options, &OPTIONS, report);
    for (key, value) in options {
        let refusal = match key.as_str() {
            "transform" | "postprocess"
                if path == "defaultTest.options" && value.as_str().and_then(parsed_path).is_some() =>
            {
                continue;
            }
            "transform" | "postprocess" | "transformVars" => {
                Refusal::new("is code").instead("`parse` and `take` in the step, or a `command` step behind it")
            }
            RUBRIC_PROMPT => rubric_prompt(),
            _ => continue,
        };
        report.drop(refusal.of_sample(&format!("{path}.{key}"), key));
    }
}

/// Transforms of outputs that are not carried over; those of all tests are, if they are a plain path.
fn dropped_transforms(test: &Map<String, Value>, is_carried: fn(&Value) -> bool) -> BTreeSet<String> {
    let options = test.get("options").and_then(Value::as_object).into_iter().flatten();
    let transforms = options.filter(|(key, _)| matches!(key.as_str(), "transform" | "postprocess"));
    transforms.filter(|(_, value)| !is_carried(value)).map(|(key, _)| key.clone()).collect()
}

fn is_plain_transform(value: &Value) -> bool {
    value.as_str().and_then(parsed_path).is_some()
}

/// The path in a transform that is `JSON.parse(output)` or `JSON.parse(output).PATH`.
pub(super) fn parsed_path(transform: &str) -> Option<String> {
    let path = transform.trim().trim_end_matches(';').strip_prefix("JSON.parse(output)")?;
    is_plain_path(path).then(|| path.trim_start_matches('.').to_owned())
}

/// Returns true if a text is a chain of `.name` and `[0]`.
pub(super) fn is_plain_path(path: &str) -> bool {
    let mut rest = path;
    while !rest.is_empty() {
        let behind = match (rest.strip_prefix('.'), rest.strip_prefix('[')) {
            (Some(name), _) => name.trim_start_matches(|char: char| char.is_alphanumeric() || char == '_'),
            (_, Some(index)) => match index.split_once(']') {
                Some((digits, behind)) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                    behind
                }
                _ => return false,
            },
            _ => return false,
        };
        if behind.len() + 1 == rest.len() {
            return false;
        }
        rest = behind;
    }
    true
}

fn code() -> Refusal {
    Refusal::of_program().instead("a file of tests, as JSONL or CSV")
}

/// The tests that `tests` names: a list, a file, or a list of files.
///
/// # Errors
/// A file that cannot be read or lies outside.
pub(super) fn read_tests(
    source: &Source,
    from: &Path,
    path: &str,
    value: &Value,
    report: &mut ImportReport,
) -> Result<Vec<RawTest>, ImportError> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::String(name) => read_files(source, from, path, name, report),
        Value::Array(items) => {
            let mut tests = Vec::new();
            for (at, item) in items.iter().enumerate() {
                let path = format!("{path}[{at}]");
                match item {
                    Value::Object(test) if test.contains_key("path") && !test.contains_key("vars") => {
                        let name = test.get("path").and_then(Value::as_str).unwrap_or_default();
                        tests.extend(read_files(source, from, &path, name, report)?);
                    }
                    Value::Object(test) => tests.push(RawTest { path, test: test.clone(), asserts: None }),
                    Value::String(name) => tests.extend(read_files(source, from, &path, name, report)?),
                    _ => report.drop(Refusal::new("is neither a test nor the name of a file").of_sample(&path, "test")),
                }
            }
            Ok(tests)
        }
        Value::Object(_) => read_tests(source, from, path, &json!([value]), report),
        _ => {
            Err(ImportError::new(from.display(), format!("`{path}` is neither a list of tests nor the name of a file")))
        }
    }
}

fn read_files(
    source: &Source,
    from: &Path,
    path: &str,
    reference: &str,
    report: &mut ImportReport,
) -> Result<Vec<RawTest>, ImportError> {
    let name = files::file_name(reference).unwrap_or(reference);
    if files::is_code(name) {
        report.drop(code().of_sample(path, reference));
        return Ok(Vec::new());
    }
    if reference.contains("://") && files::file_name(reference).is_none() {
        let refusal = Refusal::new("lies elsewhere, and an import opens no connection").instead("the file, downloaded");
        report.drop(refusal.of_sample(path, reference));
        return Ok(Vec::new());
    }
    let files = match files::matching(source, from, name) {
        Ok(files) => files,
        Err(error) => {
            report.drop(Refusal::of_error(&error).of_sample(path, reference));
            return Ok(Vec::new());
        }
    };
    let mut tests = Vec::new();
    for file in files {
        let name = files::relative_name(&file, from);
        match read_file(source, from, &file, &name, report) {
            Ok(Some(read)) => tests.extend(read),
            Ok(None) => {
                let refusal =
                    Refusal::new("is not a form of tests that this version reads").instead("a CSV, JSONL or YAML file");
                report.drop(refusal.of_sample(path, &name));
            }
            Err(error) => report.drop(Refusal::of_error(&error).of_sample(path, &name)),
        }
    }
    Ok(tests)
}

/// The tests of a file; `None` of a form that is not read.
fn read_file(
    source: &Source,
    from: &Path,
    file: &Path,
    name: &str,
    report: &mut ImportReport,
) -> Result<Option<Vec<RawTest>>, ImportError> {
    Ok(Some(match files::ending(name).as_str() {
        "csv" => csv_tests::read(source, file, name, report)?,
        "jsonl" => {
            let mut tests = Vec::new();
            for (at, line) in source.text(file)?.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
                let path = format!("{name}:{}", at + 1);
                match serde_json::from_str::<Value>(line) {
                    Ok(test) => {
                        let read = read_tests(source, from, &path, &test, report)?;
                        tests.extend(read.into_iter().map(|test| RawTest { path: path.clone(), ..test }));
                    }
                    Err(error) => {
                        let refusal = Refusal::new(format!("is not a test as JSON: {error}"));
                        report.drop(refusal.of_sample(&path, "test"));
                    }
                }
            }
            tests
        }
        "json" => read_tests(source, from, name, &source.json(file)?, report)?,
        "yaml" | "yml" => read_tests(source, from, name, &source.yaml(file)?, report)?,
        _ => return Ok(None),
    }))
}

/// The tests of `scenarios`: each of their settings with each of their tests.
///
/// # Errors
/// A file that cannot be read or lies outside.
pub(super) fn read_scenarios(
    source: &Source,
    from: &Path,
    value: &Value,
    report: &mut ImportReport,
) -> Result<Vec<RawTest>, ImportError> {
    let scenarios = match value {
        Value::String(name) => {
            let files = files::matching(source, from, files::file_name(name).unwrap_or(name));
            let read =
                files.and_then(|files| files.iter().map(|file| source.yaml(file)).collect::<Result<Vec<_>, _>>());
            let read = read.unwrap_or_else(|error| {
                report.drop(Refusal::of_error(&error).of_sample("scenarios", name));
                Vec::new()
            });
            let scenarios = read.into_iter().flat_map(|content| match content {
                Value::Array(scenarios) => scenarios,
                scenario => vec![scenario],
            });
            scenarios.collect()
        }
        value => value.as_array().cloned().unwrap_or_default(),
    };
    let mut tests = Vec::new();
    for (at, scenario) in scenarios.iter().enumerate() {
        let path = format!("scenarios[{at}]");
        let Some(scenario) = scenario.as_object() else {
            report.drop(Refusal::new("is not a scenario with `config` and `tests`").of_sample(&path, "scenario"));
            continue;
        };
        drop_unknown_keys(&path, scenario, &["description", "config", "tests"], report);
        let part = |key: &str| scenario.get(key).cloned().unwrap_or_default();
        let configs = read_tests(source, from, &format!("{path}.config"), &part("config"), report)?;
        let own = read_tests(source, from, &format!("{path}.tests"), &part("tests"), report)?;
        let own =
            if own.is_empty() { vec![RawTest { path: path.clone(), test: Map::new(), asserts: None }] } else { own };
        let description = scenario.get("description");
        for config in &configs {
            tests.extend(own.iter().map(|test| scenario_test(config, test, description, report)));
        }
    }
    Ok(tests)
}

/// A test of a scenario, on top of one of its settings.
fn scenario_test(config: &RawTest, test: &RawTest, description: Option<&Value>, report: &mut ImportReport) -> RawTest {
    let mut whole = config.test.clone();
    if let Some(description) = description {
        whole.entry("description").or_insert_with(|| description.clone());
    }
    let asserts = |raw: &RawTest, report: &mut ImportReport| {
        let listed = || Assert::list(&format!("{}.assert", raw.path), raw.test.get("assert"), report);
        raw.asserts.clone().unwrap_or_else(listed)
    };
    let all = [asserts(config, report), asserts(test, report)].concat();
    for (key, value) in &test.test {
        match (whole.get_mut(key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => below.extend(above.clone()),
            _ => drop(whole.insert(key.clone(), value.clone())),
        }
    }
    RawTest { path: test.path.clone(), test: whole, asserts: Some(all) }
}

/// The variables of a row.
type Vars = Map<String, Value>;

impl Case {
    /// Returns true if the asserts of all tests cannot be scorers of the suite because of this test: it does without them,
    /// or weighs them with its own.
    pub fn has_own_rule(&self) -> bool {
        self.threshold.is_some() || self.defaults == DefaultAsserts::Disabled
    }

    /// Returns true if texts stand around its prompts.
    pub fn has_affixes(&self) -> bool {
        self.prefix.is_some() || self.suffix.is_some()
    }

    /// The asserts of all tests that apply, then its own.
    pub fn all_asserts(&self, of_all: &[Assert]) -> Vec<Assert> {
        let of_all = if self.defaults == DefaultAsserts::Apply { of_all } else { &[] };
        [of_all, &self.asserts].concat()
    }

    /// The variables of each row, and those that are not carried over: files are read, lists are multiplied, and variables
    /// that name variables are filled in.
    ///
    /// # Errors
    /// More rows than a suite can hold.
    pub fn rows(
        &self,
        source: &Source,
        from: &Path,
        env: &Map<String, Value>,
        report: &mut ImportReport,
    ) -> Result<(Vec<Vars>, Vec<String>), ImportError> {
        let mut rows = vec![Map::new()];
        let mut unchecked = Vec::new();
        for (name, value) in &self.vars {
            let path = format!("{}.vars.{name}", self.path);
            let (values, is_whole) = self.values(source, from, &path, value, report);
            if !is_whole {
                unchecked.push(format!("vars.{name}"));
            }
            if rows.len().saturating_mul(values.len()) > MAX_ROWS {
                let problem = format!("the lists in `{}.vars` make more than {MAX_ROWS} rows", self.path);
                return Err(ImportError::new(from.display(), problem).with_hint("use shorter lists, or several tests"));
            }
            let each = |row: Map<String, Value>| {
                values.iter().map(move |value| {
                    let mut row = row.clone();
                    row.insert(name.clone(), value.clone());
                    row
                })
            };
            rows = rows.into_iter().flat_map(each).collect();
        }
        for row in &mut rows {
            let lost = fill_in(row, &self.path, env, report);
            unchecked.extend(lost.into_iter().map(|name| format!("vars.{name}")));
        }
        unchecked.sort();
        unchecked.dedup();
        // As there: a line break at the end of a variable would break prompts that are JSON.
        for value in rows.iter_mut().flat_map(Map::values_mut) {
            if let Value::String(text) = value
                && text.ends_with('\n')
            {
                text.pop();
            }
        }
        Ok((rows, unchecked))
    }

    /// The values that a variable takes, and true if all of them are carried over. An empty text stands for a file that cannot
    /// be read as text.
    fn values(
        &self,
        source: &Source,
        from: &Path,
        path: &str,
        value: &Value,
        report: &mut ImportReport,
    ) -> (Vec<Value>, bool) {
        // Only a list of texts is several values; a list of anything else is one.
        let listed = match value {
            Value::Array(values)
                if self.expansion == Expansion::Matrix && values.first().is_some_and(Value::is_string) =>
            {
                values.as_slice()
            }
            single => std::slice::from_ref(single),
        };
        let (mut values, mut is_whole) = (Vec::new(), true);
        for value in listed {
            let Some(name) = value.as_str().and_then(files::file_name) else {
                values.push(value.clone());
                continue;
            };
            if files::is_code(name) {
                let refusal = Refusal::of_program().instead("the value itself, or a column with `fetch`");
                report.drop(refusal.of_sample(path, &format!("file://{name}")));
                is_whole = false;
                values.push(json!(""));
                continue;
            }
            let read = |file: &PathBuf| match files::ending(name).as_str() {
                ending if MEDIA.contains(&ending) => {
                    let problem = "is an image, a recording or a document, and variables are texts";
                    let hint = "the part of a message that holds it, written into the prompt";
                    Err(ImportError::new(files::relative_name(file, from), problem).with_hint(hint))
                }
                "json" => source.json(file),
                "yaml" | "yml" => source.yaml(file),
                _ => source.text(file).map(|text| json!(text.trim())),
            };
            let read = files::matching(source, from, name)
                .and_then(|files| files.iter().map(read).collect::<Result<Vec<_>, _>>());
            match read {
                Ok(read) => values.extend(read),
                Err(error) => {
                    report.drop(Refusal::of_error(&error).of_sample(path, &format!("file://{name}")));
                    is_whole = false;
                    values.push(json!(""));
                }
            }
        }
        (values, is_whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IO-02: of transforms only a path within the output's JSON is carried over.
    #[test]
    fn only_plain_paths_are_transforms() {
        assert_eq!(parsed_path("JSON.parse(output).a.b[0]").as_deref(), Some("a.b[0]"));
        assert_eq!(parsed_path("JSON.parse(output)").as_deref(), Some(""));
        for code in ["output.trim()", "JSON.parse(output).a.trim()", "JSON.parse(output).", "JSON.parse(output)[x]"] {
            assert_eq!(parsed_path(code), None, "{code}");
        }
    }
}
