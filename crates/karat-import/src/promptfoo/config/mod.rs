//! A config as a live suite: prompts become variants, providers models, tests rows.
//!
//! - `prompts`, `providers` with the services of `http` and the programs of `program`, and `cases` with the tables of
//!   `csv_tests` read the parts of a config; `tools` are those of its models, `raw_test` is a test as it stands in a file.
//! - `variants` and `dataset` make the parts of the suite.
//!
//! Read this file, then `dataset`.

mod cases;
mod csv_tests;
mod dataset;
mod http;
#[cfg(test)]
mod peer_tests;
mod program;
mod prompts;
mod providers;
mod raw_test;
#[cfg(test)]
mod tests;
mod tools;
mod variants;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use self::cases::{Case, Defaults};
use self::dataset::{DatasetImport, OUTPUT, RECORDED};
use self::prompts::{Prompt, PromptReader};
use self::providers::{Provider, ProviderReader};
use self::raw_test::RawTest;
use self::tools::read_tools;
use self::variants::{Affixes, OutputForm, variants, write_models, write_variants};
use super::files;
use super::references;
use super::refusal::Refusal;
use super::settings::Settings;
use super::values::{duration, text_of};
use crate::draft::Draft;
use crate::error::ImportError;
use crate::report::{Dropped, ImportReport};
use crate::source::Source;
use crate::text::names::Names;

/// Keys that are read.
const KEYS: [&str; 9] =
    ["description", "prompts", "providers", "targets", "defaultTest", "tests", "scenarios", "env", "evaluateOptions"];

/// Keys without an effect on results.
const IGNORED: [&str; 9] = [
    "sharing",
    "outputPath",
    "commandLineOptions",
    "writeLatestResults",
    "$schema",
    "tags",
    "metadata",
    "version",
    "assertionTemplates",
];

/// A config in the making of a suite.
pub(super) struct ConfigImport<'a> {
    pub source: &'a Source,
    /// The config's file.
    pub from: PathBuf,
    pub config: Map<String, Value>,
}

impl ConfigImport<'_> {
    pub fn run(mut self, draft: &mut Draft<'_>) -> Result<(), ImportError> {
        self.config = references::resolve(self.config);
        drop_keys(&self.config, &mut draft.report);
        let part = |key: &str| self.config.get(key).cloned().unwrap_or_default();
        let env = part("env").as_object().cloned().unwrap_or_default();
        let mut settings = Settings { env, ..Settings::default() };
        let mut prompts = self.prompts(&mut settings, &mut draft.report)?;
        let providers = self.providers(&mut settings, &mut draft.report)?;
        let defaults = Defaults::read(self.source, &self.from, self.config.get("defaultTest"), &mut draft.report);
        let cases = self.cases(&prompts, &defaults, &settings, &mut draft.report)?;
        if prompts.is_empty() {
            let vars: Vec<String> = cases.first().map(|case| case.vars.keys().cloned().collect()).unwrap_or_default();
            settings.reads.vars.extend(vars.iter().cloned());
            draft.report.note("prompts", "none of them is carried over: write yours in the variant `placeholder`");
            prompts.push(Prompt::placeholder(&vars));
        }
        let variants = variants(&prompts, &providers);
        let parsed = defaults.option("transform").and_then(Value::as_str).and_then(cases::parsed_path);
        draft.suite.tools = read_tools(self.source, &self.from, &providers, &mut draft.report)?;
        let form = OutputForm::of(&providers, &draft.suite.tools, parsed);
        draft.suite.name = files::suite_name(self.source);
        draft.suite.about =
            part("description").as_str().unwrap_or_default().lines().next().unwrap_or_default().to_owned();
        let dataset = DatasetImport {
            source: self.source,
            from: &self.from,
            cases: &cases,
            defaults: &defaults,
            variants: &variants,
            providers: &providers,
            settings: &settings,
            form: &form,
        };
        let tolerant = dataset.run(draft)?;
        if cases.iter().any(|case| case.output.is_none()) {
            let affixes = if cases.iter().any(Case::has_affixes) { Affixes::Columns } else { Affixes::None };
            write_models(&providers, &variants, draft);
            write_variants(&variants, &providers, &form, affixes, &tolerant, draft)?;
        }
        if cases.iter().any(|case| case.output.is_some()) {
            draft.suite.variants.insert(RECORDED.to_owned(), json!([{"recorded": {"column": OUTPUT}}]));
            draft.report.counts.systems += 1;
        }
        draft.suite.params = settings.params(&mut draft.report);
        draft.suite.run = run_settings(&part("evaluateOptions"));
        Ok(())
    }

    fn prompts(&self, settings: &mut Settings, report: &mut ImportReport) -> Result<Vec<Prompt>, ImportError> {
        let all = json!(["{{ prompt }}"]);
        let value = self.config.get("prompts").unwrap_or(&all);
        PromptReader { source: self.source, from: &self.from, reads: &mut settings.reads }.read(value, report)
    }

    fn providers(&self, settings: &mut Settings, report: &mut ImportReport) -> Result<Vec<Provider>, ImportError> {
        let (key, value) = match self.config.get("providers").filter(|it| !it.is_null()) {
            Some(value) => ("providers", Some(value)),
            None => ("targets", self.config.get("targets")),
        };
        let (source, from) = (self.source, self.from.as_path());
        let mut reader =
            ProviderReader { source, from, settings, models: Names::default(), services: Names::default() };
        let mut read_file = |name: &str| self.source.yaml(&self.source.beneath(&self.from, name)?);
        let mut providers = Vec::new();
        match value {
            Some(Value::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    providers.extend(reader.read_item(&format!("{key}[{at}]"), item, &mut read_file, report)?);
                }
            }
            Some(item) => providers.extend(reader.read_item(key, item, &mut read_file, report)?),
            None => {}
        }
        Ok(providers)
    }

    fn cases(
        &self,
        prompts: &[Prompt],
        defaults: &Defaults,
        settings: &Settings,
        report: &mut ImportReport,
    ) -> Result<Vec<Case>, ImportError> {
        let part = |key: &str| self.config.get(key).unwrap_or(&Value::Null);
        let mut raw = cases::read_tests(self.source, &self.from, "tests", part("tests"), report)?;
        raw.extend(cases::read_scenarios(self.source, &self.from, part("scenarios"), report)?);
        if raw.is_empty() {
            self.check_lone_test(prompts, defaults, settings, report)?;
            raw.push(RawTest { path: "tests".to_owned(), test: Map::new(), asserts: None });
        }
        Ok(raw.into_iter().map(|raw| defaults.case(raw, settings, report)).collect())
    }
}

impl ConfigImport<'_> {
    /// Without tests, promptfoo makes one of `defaultTest`. It is a row where that is what the config means.
    ///
    /// # Errors
    /// Tests that cannot be read, a config of red teaming, prompts whose variables no test has, or no prompts either.
    fn check_lone_test(
        &self,
        prompts: &[Prompt],
        defaults: &Defaults,
        settings: &Settings,
        report: &ImportReport,
    ) -> Result<(), ImportError> {
        let refused = |problem: String| ImportError::new(self.from.display(), problem);
        let results = IMPORT_RESULTS;
        let dropped_at =
            |keys: &[&str]| report.dropped.iter().find(|it| keys.iter().any(|key| it.path.starts_with(key)));
        let because = |problem: &str, dropped: &Dropped| {
            let Dropped { construct, path, why, instead, .. } = dropped;
            let hint = instead.as_ref().map_or(results.to_owned(), |instead| format!("{instead}; or {results}"));
            refused(format!("{problem}: `{construct}` at {path} {why}")).with_hint(hint)
        };
        if let Some(dropped) = dropped_at(&["tests", "scenarios"]) {
            return Err(because("has no test that can be read", dropped));
        }
        if self.config.contains_key("redteam") {
            return Err(red_teaming_alone(&self.from));
        }
        let given = defaults.vars();
        if prompts.is_empty() && given.is_empty() && defaults.asserts.is_empty() {
            let problem = "has no test, and no prompt that can be carried over";
            return Err(match dropped_at(&["prompts"]) {
                Some(dropped) => because(problem, dropped),
                None => refused(problem.to_owned()).with_hint(results),
            });
        }
        match settings.reads.vars.iter().find(|name| !given.contains(name)) {
            Some(name) => Err(refused(format!("has no test, and its prompts read the variable `{name}`"))
                .with_hint("write a test with `vars`, and import it again")),
            None => Ok(()),
        }
    }
}

/// The advice where a config itself cannot be carried over.
const IMPORT_RESULTS: &str = "import its results instead: `promptfoo eval -o results.json`";

/// The refusal of a config without a test of its own.
pub(super) fn red_teaming_alone(file: &Path) -> ImportError {
    ImportError::new(file.display(), "holds red teaming alone, whose tests promptfoo makes when it runs")
        .with_hint(IMPORT_RESULTS)
}

fn drop_keys(config: &Map<String, Value>, report: &mut ImportReport) {
    // Keys of this form hold parts that anchors repeat elsewhere.
    let is_ignored = |key: &str| IGNORED.contains(&key) || key.starts_with("x-") || key.starts_with('.');
    for (key, value) in config.iter().filter(|(key, _)| !KEYS.contains(&key.as_str()) && !is_ignored(key)) {
        let refusal = match key.as_str() {
            "extensions" | "nunjucksFilters" | "assertScoringFunction" | "transform" => {
                Refusal::new("is code, which an import neither runs nor copies")
            }
            "derivedMetrics" => Refusal::new("is computed by formulas of promptfoo").instead("`metric: combine`"),
            "redteam" => Refusal::new("belongs to promptfoo's red teaming"),
            "tracing" => {
                Refusal::new("collects traces of promptfoo's own").instead("`karat serve`, which takes traces")
            }
            _ => Refusal::new("is not a key that this version knows"),
        };
        match value {
            Value::Array(items) if key == "extensions" => {
                for (at, item) in items.iter().enumerate() {
                    report.drop(refusal.clone().of_all(&format!("{key}[{at}]"), &text_of(item)));
                }
            }
            _ => report.drop(refusal.of_all(key, key)),
        }
    }
}

fn run_settings(options: &Value) -> Map<String, Value> {
    let number = |key: &str| options.get(key).and_then(Value::as_u64).filter(|number| *number > 0);
    let parts = [
        ("trials", number("repeat").filter(|repeat| *repeat > 1).map(|it| json!(it))),
        ("max_concurrency", number("maxConcurrency").map(|it| json!(it))),
        ("timeout", number("timeoutMs").map(|ms| json!(duration(ms)))),
    ];
    parts.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// The config's file in a folder.
///
/// # Errors
/// A folder without one.
pub(super) fn file_in(folder: &Path, source: &Source) -> Result<PathBuf, ImportError> {
    let files = source.files()?;
    let named = |endings: &[&str]| {
        endings.iter().find_map(|ending| {
            let name = format!("promptfooconfig.{ending}");
            files.iter().find(|file| file.file_name().is_some_and(|found| found.to_string_lossy() == name))
        })
    };
    if let Some(file) =
        named(&["yaml", "yml", "json"]).or_else(|| named(&["js", "cjs", "mjs", "ts", "mts", "cts", "py"]))
    {
        return Ok(file.clone());
    }
    Err(ImportError::new(folder.display(), "holds no `promptfooconfig.yaml`")
        .with_hint("name the config's file itself"))
}
