//! Results as a recorded suite: a sample a test, a variant a prompt and provider, the asserts as checks, and what
//! promptfoo said as given scores.
//!
//! The list of results is streamed: outputs go to their files, test cases are kept, since results stand in the order in
//! which they were completed.

pub(super) mod file;
mod systems;
mod table;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use self::file::{Head, read_head, read_lines, read_results};
use self::systems::{Named, Systems};
use crate::draft::Draft;
use crate::error::ImportError;
use crate::promptfoo::asserts::{Assert, Checks, Questions, Root, RowVars, Tools};
use crate::promptfoo::files;
use crate::promptfoo::models::Grading;
use crate::promptfoo::nunjucks::column_name;
use crate::promptfoo::rows::{ColumnRoles, fill_in, with_metadata};
use crate::promptfoo::settings::Settings;
use crate::promptfoo::values::{number, number_of, text_of};
use crate::recorded::{Output, Recording, Sample, TokenUse};
use crate::report::{Figure, ImportReport, Shape};
use crate::source::Source;
use crate::text::names::Names;

/// Scores of every output.
const SUCCESS: &str = "success";
const SCORE: &str = "score";

/// The reason of an assert that passes, which says nothing.
const PASSED: &str = "Assertion passed";

/// Address of the test cases of results: they all stand for one place.
const TEST_CASE: &str = "results[*].testCase";

/// `failureReason` of a result without a usable output.
const ERROR: u64 = 2;

/// Reads the results that `promptfoo eval -o results.json` wrote.
///
/// # Errors
/// A file that is not that, or of an earlier version.
pub(super) fn import(source: &Source, file: &Path, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    let head = read_head(source, file)?;
    draft.report.tool.version = head.version.clone();
    draft.suite.about = head.description.lines().next().unwrap_or_default().to_owned();
    let mut named = NamedSystems::default();
    read_results(source, file, &head, |result| named.add(result, file))?;
    if head.table.is_some() {
        draft.report.note("results.table", "version 2 of the format: outputs are texts, as the table has them");
    }
    let mut results = Results::open(source, file, head, &named, draft)?;
    let head = std::mem::take(&mut results.head);
    read_results(source, file, &head, |result| results.add(result, draft))?;
    results.head = head;
    results.close(draft)
}

/// Reads a file with one result a line.
///
/// # Errors
/// A line that is not a result.
pub(super) fn import_lines(source: &Source, file: &Path, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    let mut named = NamedSystems::default();
    read_lines(source, file, |result| named.add(&result, file))?;
    let mut results = Results::open(source, file, Head::default(), &named, draft)?;
    read_lines(source, file, |result| results.add(&result, draft))?;
    results.close(draft)
}

/// The systems that results name, in the order of their first ones, each with its prompt.
#[derive(Default)]
struct NamedSystems {
    all: Vec<(Named, Value)>,
    seen: HashSet<Named>,
}

impl NamedSystems {
    /// # Errors
    /// A result without the numbers of its test and prompt.
    fn add(&mut self, result: &Value, file: &Path) -> Result<(), ImportError> {
        let named = Named::of(result).filter(|_| result.get("testIdx").is_some_and(Value::is_u64));
        let named = named.ok_or_else(|| {
            ImportError::new(file.display(), "holds a result without `testIdx` and `promptIdx`")
                .with_hint("export it again with a current promptfoo: `promptfoo export eval ID -o results.json`")
        })?;
        if self.seen.insert(named.clone()) {
            self.all.push((named, result.get("prompt").cloned().unwrap_or_default()));
        }
        Ok(())
    }
}

/// Results in the making of a suite.
struct Results<'a> {
    checks: Checks<'a>,
    file: PathBuf,
    head: Head,
    recording: Recording,
    systems: Systems,
    /// Variants in the order of the systems.
    variants: Vec<Variant>,
    /// Test cases by their number.
    cases: BTreeMap<u64, Value>,
    ids: HashMap<u64, String>,
    names: Names,
    /// Tests and systems that have a result.
    seen: BTreeSet<(u64, usize)>,
    /// Takes remarks that are made while outputs are read.
    scratch: ImportReport,
}

#[derive(Debug, Default)]
struct Variant {
    index: usize,
    results: u64,
    passed: u64,
    decided: u64,
    /// The number of results with a score of a name.
    named: BTreeMap<String, u64>,
}

impl<'a> Results<'a> {
    fn open(
        source: &'a Source,
        file: &Path,
        head: Head,
        named: &NamedSystems,
        draft: &mut Draft<'_>,
    ) -> Result<Self, ImportError> {
        draft.report.shape = Shape::Recorded;
        draft.suite.name = files::suite_name(source);
        let checks = Checks {
            source,
            from: file.to_owned(),
            env: Map::new(),
            output: None,
            root: Root::Either,
            shape: Shape::Recorded,
            tools: Tools::None,
            questions: Questions::default(),
            settings: Settings::default(),
            usual: Grading::default(),
        };
        let systems = Systems::of(&named.all, &head.prompts, &mut draft.report);
        let mut recording = Recording::open(draft)?;
        let mut variants = Vec::new();
        for system in &systems.all {
            let index = recording.add_variant(draft, &system.name)?;
            variants.push(Variant { index, ..Variant::default() });
        }
        Ok(Self {
            checks,
            file: file.to_owned(),
            recording,
            systems,
            variants,
            cases: BTreeMap::new(),
            ids: HashMap::new(),
            names: Names::default(),
            seen: BTreeSet::new(),
            scratch: ImportReport::new("promptfoo", source),
            head,
        })
    }

    /// Adds one result.
    fn add(&mut self, result: &Value, draft: &mut Draft<'_>) -> Result<(), ImportError> {
        let test = result.get("testIdx").and_then(Value::as_u64).unwrap_or_default();
        let Some(system) = Named::of(result).and_then(|named| self.systems.find(&named)) else { return Ok(()) };
        if !self.seen.insert((test, system)) {
            let name = &self.systems.all[system].name;
            let text = "another result of the same test and system stands before it, which counts";
            draft.report.note(format!("results[testIdx={test}] of {name}"), text);
            return Ok(());
        }
        let case = result.get("testCase").unwrap_or(&Value::Null);
        if !self.ids.contains_key(&test) {
            let number = (test + 1).to_string();
            let own = case.get("metadata").and_then(|metadata| metadata.get("id")).map(text_of);
            let id = self.names.take(own.as_deref().unwrap_or(&number), &number);
            self.ids.insert(test, id);
            self.cases.insert(test, case.clone());
        }
        let mut output = output(result, self.ids.get(&test).cloned().unwrap_or_default());
        self.add_scores(result, case, &mut output)?;
        let Some(variant) = self.variants.get_mut(system) else { return Ok(()) };
        variant.results += 1;
        if output.error.is_none() {
            let is_pass = result.get("success") == Some(&json!(true));
            variant.passed += u64::from(is_pass);
            variant.decided += 1;
            let named = result.get("namedScores").and_then(Value::as_object).into_iter().flatten();
            named.for_each(|(name, _)| *variant.named.entry(name.clone()).or_default() += 1);
        }
        self.recording.add_output(variant.index, &output)
    }

    /// Adds what promptfoo said of an output: of the whole, by metric, and of asserts that no check decides.
    fn add_scores(&mut self, result: &Value, case: &Value, output: &mut Output) -> Result<(), ImportError> {
        if output.error.is_some() {
            return Ok(());
        }
        let part = |key: &str| result.get(key).filter(|part| part.is_boolean() || part.is_number()).cloned();
        output.scores.extend([(SUCCESS.to_owned(), part("success").unwrap_or_default())]);
        output.scores.extend([(SCORE.to_owned(), part("score").unwrap_or_default())]);
        let grading = result.get("gradingResult").unwrap_or(&Value::Null);
        if let Some(reason) =
            grading.get("reason").and_then(Value::as_str).filter(|_| part("success") == Some(json!(false)))
        {
            output.reasons.push((SUCCESS.to_owned(), reason.to_owned()));
        }
        let named = result.get("namedScores").or_else(|| grading.get("namedScores")).and_then(Value::as_object);
        for (name, score) in named.into_iter().flatten() {
            output.scores.push((name.clone(), json!(number_of(score).map(number))));
        }
        let vars = case.get("vars").and_then(Value::as_object).cloned().unwrap_or_default();
        let models = Grading::default();
        let row = RowVars { vars: &vars, grading: &models, has_rubric_prompt: false };
        let mut others: Vec<(String, Vec<f64>, Option<String>)> = Vec::new();
        for component in grading.get("componentResults").and_then(Value::as_array).into_iter().flatten() {
            let Some(spec) = component.get("assertion").and_then(Value::as_object) else { continue };
            let assert = Assert { path: String::new(), line: None, spec: spec.clone() };
            let Some(name) = spec.get("type").and_then(Value::as_str).filter(|_| assert.metric().is_none()) else {
                continue;
            };
            if self.checks.decides(&assert, row, &mut self.scratch)? {
                continue;
            }
            let score = component.get("score").and_then(number_of);
            let reason =
                component.get("reason").and_then(Value::as_str).filter(|reason| *reason != PASSED).map(str::to_owned);
            match others.iter_mut().find(|(known, ..)| known == name) {
                Some((_, scores, _)) => scores.extend(score),
                None => others.push((name.to_owned(), score.into_iter().collect(), reason)),
            }
        }
        for (name, scores, reason) in others {
            let mean = scores.iter().sum::<f64>() / scores.len() as f64;
            output.scores.push((name.clone(), json!(Some(mean).filter(|mean| mean.is_finite()))));
            output.reasons.extend(reason.map(|reason| (name, reason)));
        }
        Ok(())
    }

    fn close(mut self, draft: &mut Draft<'_>) -> Result<(), ImportError> {
        if self.seen.is_empty() {
            return Err(ImportError::new(self.file.display(), "holds no results")
                .with_hint("import the config itself, or run it: `promptfoo eval -o results.json`"));
        }
        let mut row_checks = 0;
        let mut roles = ColumnRoles::default();
        let mut has_metadata = false;
        for (test, case) in std::mem::take(&mut self.cases) {
            let (columns, count) = self.columns(&case, &mut draft.report)?;
            roles.add_row(&columns);
            has_metadata |= columns.contains_key("metadata");
            row_checks += count;
            let id = self.ids.get(&test).cloned().unwrap_or_default();
            self.recording.add_sample(Sample { id, columns, ..Sample::default() })?;
        }
        self.list_figures(&mut draft.report);
        self.recording.close(draft)?;
        roles.declare(&BTreeSet::new(), &mut draft.suite.dataset);
        draft.suite.dataset.extend(has_metadata.then(|| ("metadata".to_owned(), json!(["metadata"]))));
        draft.report.counts.checks += row_checks;
        Ok(())
    }

    /// The columns of a test's row, and the number of its checks.
    fn columns(&mut self, case: &Value, report: &mut ImportReport) -> Result<(Map<String, Value>, u64), ImportError> {
        let map = |key: &str| case.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
        let mut vars = map("vars");
        fill_in(&mut vars, TEST_CASE, &Map::new(), report);
        let asserts = Assert::list(&format!("{TEST_CASE}.assert"), case.get("assert"), report);
        let threshold = case.get("threshold").and_then(number_of);
        let models = Grading::default();
        let row = RowVars { vars: &vars, grading: &models, has_rubric_prompt: false };
        let checks = self.checks.of_row(&asserts, threshold, row, report)?;
        let count = checks.items.len() as u64;
        let mut own = map("metadata");
        // promptfoo names the conversation of each scenario itself.
        let is_own = |value: &Value| value.as_str().is_some_and(|text| text.starts_with("__scenario_"));
        own.retain(|key, value| key != "conversationId" || !is_own(value));
        let metadata = with_metadata(case.get("description").and_then(Value::as_str), &own, &checks.unchecked);
        let mut columns: Map<String, Value> =
            vars.iter().map(|(name, value)| (column_name(name), value.clone())).collect();
        columns.insert("assert".to_owned(), Value::Array(checks.items));
        if metadata.as_object().is_some_and(|metadata| !metadata.is_empty()) {
            columns.insert("metadata".to_owned(), metadata);
        }
        Ok((columns, count))
    }

    /// Lists the figures of promptfoo that are means over samples.
    fn list_figures(&self, report: &mut ImportReport) {
        for (system, variant) in self.systems.all.iter().zip(&self.variants) {
            let listed = system.listed.and_then(|at| Some((at, self.head.prompts.get(at)?.get("metrics")?)));
            let Some((number, metrics)) = listed else { continue };
            let path = format!("results.prompts[{number}].metrics");
            let count = |key: &str| metrics.get(key).and_then(Value::as_u64);
            let counts = ["testPassCount", "testFailCount", "testErrorCount"].map(count);
            let counted: u64 = counts.iter().flatten().sum();
            if counts[0].is_some() && counted != variant.results {
                let text = format!(
                    "promptfoo counted {counted} results of `{}`; the file holds {}",
                    system.name, variant.results
                );
                report.note(path.clone(), text);
            }
            let id = self.recording.variant_id(variant.index).to_owned();
            let mut figure = |path: String, score: &str, value: f64| {
                if let Some(metric) = self.recording.scorer_id(score).filter(|_| value.is_finite()) {
                    report.figures.push(Figure { path, variant: id.clone(), metric, value });
                }
            };
            if let Some(passed) = metrics.get("testPassCount").and_then(Value::as_f64) {
                figure(format!("{path}.testPassCount"), SUCCESS, passed / variant.decided as f64);
            }
            let sums = |key: &str| metrics.get(key).and_then(Value::as_object);
            for (name, sum) in sums("namedScores").into_iter().flatten() {
                let results = variant.named.get(name).copied().unwrap_or_default();
                let asserts = sums("namedScoresCount").and_then(|counts| counts.get(name)).and_then(Value::as_u64);
                // With several asserts of one metric in a test, promptfoo's sum counts asserts and not samples.
                if let (Some(sum), true) = (sum.as_f64(), asserts == Some(results)) {
                    figure(format!("{path}.namedScores.{name}"), name, sum / results as f64);
                }
            }
        }
    }
}

/// The output of a result, without scores.
fn output(result: &Value, sample: String) -> Output {
    let response = result.get("response").unwrap_or(&Value::Null);
    let text =
        |value: Option<&Value>| value.filter(|value| !value.is_null()).map(text_of).filter(|text| !text.is_empty());
    // `error` alone is also the reason of an assert that failed.
    let is_error = result.get("failureReason").and_then(Value::as_u64) == Some(ERROR);
    let given = response.get("output").filter(|output| !output.is_null()).cloned();
    let error = text(response.get("error"))
        .or_else(|| is_error.then(|| text(result.get("error")).unwrap_or_else(|| "the call failed".to_owned())));
    let error = error.or_else(|| given.is_none().then(|| "there is no output".to_owned()));
    let tokens = response.get("tokenUsage").or_else(|| result.get("tokenUsage"));
    let count = |key: &str| tokens.and_then(|tokens| tokens.get(key)).and_then(Value::as_u64);
    let provider = result.get("provider").and_then(|provider| provider.get("id").or(Some(provider)));
    let usage = TokenUse {
        model: provider.map(text_of).unwrap_or_default(),
        input: count("prompt"),
        output: count("completion"),
        cached: count("cached").filter(|cached| *cached > 0),
    };
    let has_tokens = [usage.input, usage.output, usage.cached].iter().flatten().any(|tokens| *tokens > 0);
    Output {
        sample,
        trial: 1,
        output: given.filter(|_| error.is_none()).unwrap_or_default(),
        error,
        latency_ms: result.get("latencyMs").and_then(Value::as_f64),
        usage: has_tokens.then_some(usage).into_iter().collect(),
        cost_usd: result.get("cost").and_then(Value::as_f64),
        ..Output::default()
    }
}
