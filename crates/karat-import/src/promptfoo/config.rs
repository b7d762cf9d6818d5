//! A config as a live suite (IO-02): prompts become variants, providers models, tests rows.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::asserts::metrics::text_of;
use super::asserts::unsupported::Refusal;
use super::asserts::{Checks, HasInput, Questions, Shown, dropped};
use super::cases::{self, Case, Defaults};
use super::prompts::{Body, Prompt, PromptReader};
use super::providers::{self, Provider, ProviderReader, Target};
use super::rows::{self, RowWriter};
use super::settings::Settings;
use crate::draft::Draft;
use crate::error::ImportError;
use crate::names::Names;
use crate::report::{ImportReport, Shape};
use crate::source::Source;

/// Keys that are read.
const KEYS: [&str; 10] = [
    "description", "prompts", "providers", "targets", "defaultTest", "tests", "scenarios", "env", "evaluateOptions", "judge",
];

/// Keys without an effect on results.
const IGNORED: [&str; 7] =
    ["sharing", "outputPath", "commandLineOptions", "writeLatestResults", "$schema", "tags", "metadata"];

/// Column of rows with an output of their own, and the variant that reads it.
const OUTPUT: &str = "_output";

/// A config in the making of a suite.
pub(super) struct ConfigImport<'a> {
    pub source: &'a Source,
    /// The config's file.
    pub from: PathBuf,
    pub config: Map<String, Value>,
}

/// A variant of the suite: a prompt, for models or for one service.
struct Variant<'p> {
    id: String,
    prompt: &'p Prompt,
    /// Index of the service among the providers.
    service: Option<usize>,
}

impl ConfigImport<'_> {
    pub fn run(self, draft: &mut Draft<'_>) -> Result<(), ImportError> {
        drop_keys(&self.config, &mut draft.report);
        let part = |key: &str| self.config.get(key).cloned().unwrap_or_default();
        let env = part("env").as_object().cloned().unwrap_or_default();
        let mut settings = Settings { env, ..Settings::default() };
        let prompts = self.prompts(&mut settings, &mut draft.report)?;
        let providers = self.providers(&mut settings, &mut draft.report)?;
        let defaults = Defaults::read(self.source, &self.from, self.config.get("defaultTest"), &mut draft.report)?;
        let cases = self.cases(&defaults, &mut draft.report)?;
        let variants = variants(&prompts, &providers);
        let parsed = defaults.option("transform").and_then(Value::as_str).and_then(cases::parsed_path);
        let form = OutputForm::of(&providers, parsed);
        draft.suite.name = super::suite_name(self.source);
        draft.suite.about = part("description").as_str().unwrap_or_default().lines().next().unwrap_or_default().to_owned();
        self.write_rows(&cases, &defaults, &variants, &providers, &settings, &form, draft)?;
        let wraps = cases.iter().any(|case| case.prefix.is_some() || case.suffix.is_some());
        let affixes = if wraps { Affixes::Columns } else { Affixes::None };
        let recorded = cases.iter().filter(|case| case.output.is_some()).count();
        if recorded < cases.len() {
            write_models(&providers, &variants, draft);
            write_variants(&variants, &providers, &form, affixes, draft)?;
        }
        if recorded > 0 {
            draft.suite.variants.insert("recorded".to_owned(), json!([{"recorded": {"column": OUTPUT}}]));
            draft.report.counts.systems += 1;
        }
        draft.suite.params = settings.params();
        draft.suite.run = run_settings(&part("evaluateOptions"));
        Ok(())
    }

    fn prompts(&self, settings: &mut Settings, report: &mut ImportReport) -> Result<Vec<Prompt>, ImportError> {
        let all = json!(["{{ prompt }}"]);
        let value = self.config.get("prompts").unwrap_or(&all);
        PromptReader { source: self.source, from: &self.from, reads: &mut settings.reads }.read(value, report)
    }

    fn providers(&self, settings: &mut Settings, report: &mut ImportReport) -> Result<Vec<Provider>, ImportError> {
        let (key, value) = match self.config.get("providers") {
            Some(value) => ("providers", Some(value)),
            None => ("targets", self.config.get("targets")),
        };
        let mut reader = ProviderReader { settings, models: Names::default(), services: Names::default() };
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

    fn cases(&self, defaults: &Defaults, report: &mut ImportReport) -> Result<Vec<Case>, ImportError> {
        let part = |key: &str| self.config.get(key).unwrap_or(&Value::Null);
        let mut raw = cases::read_tests(self.source, &self.from, "tests", part("tests"), report)?;
        raw.extend(cases::read_scenarios(self.source, &self.from, part("scenarios"), report)?);
        if raw.is_empty() {
            raw.push(cases::RawTest { path: "tests".to_owned(), test: Map::new(), asserts: None });
        }
        Ok(raw.into_iter().map(|raw| defaults.case(raw, report)).collect())
    }

    fn write_rows(
        &self,
        cases: &[Case],
        defaults: &Defaults,
        variants: &[Variant<'_>],
        providers: &[Provider],
        settings: &Settings,
        form: &OutputForm,
        draft: &mut Draft<'_>,
    ) -> Result<(), ImportError> {
        let env = settings.known_env();
        let mut checks = Checks {
            source: self.source,
            from: self.from.clone(),
            env: env.clone(),
            output: form.path.clone(),
            shape: Shape::Live,
            questions: Questions::default(),
        };
        let mut unchecked = Vec::new();
        let of_rows = if cases.iter().any(Case::has_own_rule) {
            defaults.asserts.clone()
        } else {
            let mut scorers = Map::new();
            let rest = checks.of_suite(&defaults.asserts, &mut scorers, &mut unchecked, &mut draft.report)?;
            draft.suite.scorers.extend(scorers);
            rest
        };
        let is_mixed = cases.iter().any(|case| case.output.is_some()) && cases.iter().any(|case| case.output.is_none());
        let affixes = cases.iter().any(|case| case.prefix.is_some() || case.suffix.is_some());
        let mut writer = RowWriter::new(draft.rows(rows::SAMPLES)?);
        let report = &mut draft.report;
        for case in cases {
            let only = only(case, variants, providers);
            for vars in case.rows(self.source, &self.from, &env, report)? {
                let mut row = writer.row(&vars, case.metadata.get("id").map(text_of));
                let missing = settings.reads.vars.iter().filter(|name| !vars.contains_key(*name));
                missing.for_each(|name| row.fill(name, json!("")));
                if affixes {
                    for (column, affix) in [("_prefix", &case.prefix), ("_suffix", &case.suffix)] {
                        let affix = affix.as_deref().unwrap_or_default();
                        row.set(column, json!(super::nunjucks::render(affix, &vars, &env).unwrap_or(affix.to_owned())));
                    }
                }
                match &case.output {
                    Some(output) => {
                        row.set(OUTPUT, output.clone());
                        row.only(is_mixed.then(|| json!({"variants": ["recorded"]})));
                    }
                    None => row.only(only.clone()),
                }
                let asserts = case.all_asserts(&of_rows);
                let vars = super::asserts::RowVars { vars: &vars, judge: case.judge.as_deref() };
                let mut row_checks = checks.of_row(&asserts, case.threshold, vars, report)?;
                row_checks.unchecked.splice(0..0, unchecked.iter().cloned());
                row.finish(case.description.as_deref(), &case.metadata, row_checks);
                writer.write(row)?;
            }
        }
        let summary = writer.finish()?;
        // What is dropped of all tests stands there once, for all rows.
        let of_all = |path: &str| path.starts_with("defaultTest.options") || !unchecked.is_empty();
        let defaults_dropped = draft.report.dropped.iter_mut().filter(|it| it.path.starts_with("defaultTest"));
        defaults_dropped.filter(|it| of_all(&it.path)).for_each(|it| it.samples = summary.rows);
        self.write_scorers(defaults, &checks.questions, &summary, (form, &settings.reads.vars), draft);
        draft.report.counts.samples = summary.rows;
        draft.report.counts.checks = summary.checks + draft.suite.scorers.len() as u64;
        draft.suite.dataset = summary.dataset(&settings.reads.vars);
        Ok(())
    }

    /// Adds the scorers that ask a model, and the judges.
    fn write_scorers(
        &self,
        defaults: &Defaults,
        questions: &Questions,
        summary: &rows::Summary,
        (form, reads): (&OutputForm, &BTreeSet<String>),
        draft: &mut Draft<'_>,
    ) {
        let judge = defaults.option("provider");
        let embedding = judge.and_then(|judge| judge.get("embedding")).and_then(providers::judge_name);
        let has_input = if summary.has_input(reads) { HasInput::Yes } else { HasInput::No };
        let shown = Shown { output: form.path.as_deref(), embeddings: embedding.as_deref(), has_input };
        draft.suite.scorers.extend(questions.to_scorers(shown));
        if !questions.are_judged() && !summary.is_judged {
            return;
        }
        let path = "defaultTest.options.provider";
        let name = judge.and_then(providers::judge_name);
        if name.is_none() {
            let text = "no judge is named that a suite can ask by name; `openai:gpt-5` stands in its place";
            draft.report.note(path, text);
        }
        if judge.is_some_and(|judge| judge.get("config").is_some()) {
            let refusal = Refusal::new("is a setting of the judge").instead("`judges: [{ id, parameters }]`");
            draft.report.drop(dropped(&format!("{path}.config"), "config", refusal));
        }
        draft.suite.judges = vec![json!(name.unwrap_or_else(|| "openai:gpt-5".to_owned()))];
    }
}

/// The form of outputs, which differs where services are asked or transforms parse.
struct OutputForm {
    /// Path of the text that is scored; the whole output without it.
    path: Option<String>,
    /// `parse` of the steps with a prompt.
    parse: Option<Value>,
}

impl OutputForm {
    fn of(providers: &[Provider], parsed: Option<String>) -> Self {
        let asks_service = providers.iter().any(|provider| matches!(provider.target, Target::Service { .. }));
        match parsed {
            // Answers of services are objects, so the replies of models become such, too.
            _ if asks_service => {
                Self { path: Some("text".to_owned()), parse: Some(json!({"as": "text", "into": "text"})) }
            }
            Some(path) => Self { path: Some(path).filter(|path| !path.is_empty()), parse: Some(json!({"as": "json"})) },
            None => Self { path: None, parse: None },
        }
    }
}

/// Texts around prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Affixes {
    None,
    /// In the columns `_prefix` and `_suffix`.
    Columns,
}

fn drop_keys(config: &Map<String, Value>, report: &mut ImportReport) {
    for (key, value) in config.iter().filter(|(key, _)| !KEYS.contains(&key.as_str()) && !IGNORED.contains(&key.as_str())) {
        let refusal = match key.as_str() {
            "extensions" | "nunjucksFilters" | "assertScoringFunction" | "transform" => {
                Refusal::new("is code, which an import neither runs nor copies")
            }
            "derivedMetrics" => Refusal::new("is computed by formulas of promptfoo").instead("`metric: combine`"),
            "redteam" => Refusal::new("belongs to promptfoo's red teaming"),
            "tracing" => Refusal::new("collects traces of promptfoo's own").instead("`karat serve`, which takes traces"),
            _ => Refusal::new("is no key that this version knows"),
        };
        match value {
            Value::Array(items) if key == "extensions" => {
                for (at, item) in items.iter().enumerate() {
                    report.drop(dropped(&format!("{key}[{at}]"), &text_of(item), refusal.clone()));
                }
            }
            _ => report.drop(dropped(key, key, refusal)),
        }
    }
}

/// Every prompt for all models, and for each service a variant of its own.
fn variants<'p>(prompts: &'p [Prompt], providers: &[Provider]) -> Vec<Variant<'p>> {
    let has_models = providers.iter().any(|provider| matches!(provider.target, Target::Model { .. }));
    let has_services = providers.iter().any(|provider| matches!(provider.target, Target::Service { .. }));
    let mut variants = Vec::new();
    for prompt in prompts {
        if has_models || !has_services {
            variants.push(Variant { id: prompt.id.clone(), prompt, service: None });
        }
        for (at, provider) in providers.iter().enumerate() {
            let gets = provider.prompts.as_ref().is_none_or(|wanted| prompt.is_among(wanted));
            if let (Target::Service { id, .. }, true) = (&provider.target, gets) {
                variants.push(Variant { id: providers::service_variant(&prompt.id, id), prompt, service: Some(at) });
            }
        }
    }
    variants
}

/// The cells that a test is limited to; nothing where it has all.
fn only(case: &Case, variants: &[Variant<'_>], providers: &[Provider]) -> Option<Value> {
    let wants = |provider: &Provider| case.providers.as_ref().is_none_or(|wanted| provider.is_among(wanted));
    let models = || providers.iter().filter(|provider| matches!(provider.target, Target::Model { .. }));
    let wanted: Vec<&str> = models().filter(|provider| wants(provider)).map(Provider::id).collect();
    let is_wanted = |variant: &&Variant<'_>| {
        let by_prompt = case.prompts.as_ref().is_none_or(|wanted| variant.prompt.is_among(wanted));
        by_prompt
            && match variant.service {
                Some(at) => providers.get(at).is_some_and(wants),
                None => !wanted.is_empty() || models().next().is_none(),
            }
    };
    let chosen: Vec<&str> = variants.iter().filter(is_wanted).map(|variant| variant.id.as_str()).collect();
    let mut only = Map::new();
    if chosen.len() < variants.len() {
        only.insert("variants".to_owned(), json!(chosen));
    }
    if !wanted.is_empty() && wanted.len() < models().count() {
        only.insert("models".to_owned(), json!(wanted));
    }
    (!only.is_empty()).then_some(Value::Object(only))
}

fn write_models(providers: &[Provider], variants: &[Variant<'_>], draft: &mut Draft<'_>) {
    let models = providers.iter().filter_map(|provider| match &provider.target {
        Target::Model { entry, .. } => Some(entry.clone()),
        Target::Service { .. } => None,
    });
    draft.suite.models = models.collect();
    if draft.suite.models.is_empty() && variants.iter().any(|variant| variant.service.is_none()) {
        draft.report.note("providers", "none of them is a model that a suite can ask; `stub`, which replies nothing, stands in its place");
        draft.suite.models.push(json!({"id": "stub", "provider": "stub"}));
    }
    echo_chats(draft, variants);
}

/// `echo` replies to a chat with its JSON.
fn echo_chats(draft: &mut Draft<'_>, variants: &[Variant<'_>]) {
    if !variants.iter().any(|variant| matches!(variant.prompt.body, Body::Chat(_))) {
        return;
    }
    let is_echo = |model: &&mut Value| model.get("provider") == Some(&json!("scripted"));
    for model in draft.suite.models.iter_mut().filter(is_echo) {
        let reply = "{% if messages | length == 1 %}{{ prompt }}{% else %}{{ messages | tojson(indent=2) }}{% endif %}";
        if let Some(model) = model.as_object_mut() {
            model.insert("with".to_owned(), json!({"reply": reply}));
        }
    }
}

fn write_variants(
    variants: &[Variant<'_>],
    providers: &[Provider],
    form: &OutputForm,
    affixes: Affixes,
    draft: &mut Draft<'_>,
) -> Result<(), ImportError> {
    for variant in variants {
        let prompt = with_affixes(variant.prompt, affixes, draft);
        let step = match variant.service.and_then(|at| providers.get(at)).map(|provider| &provider.target) {
            Some(Target::Service { service, .. }) => {
                draft.report.counts.systems += 1;
                service.to_step(&prompt)
            }
            _ => {
                let gets = |provider: &&Provider| provider.prompts.as_ref().is_none_or(|wanted| variant.prompt.is_among(wanted));
                let models = || providers.iter().filter(|provider| matches!(provider.target, Target::Model { .. }));
                let allowed: Vec<&str> = models().filter(gets).map(Provider::id).collect();
                let mut step = Map::from_iter([("prompt".to_owned(), prompt.to_action(|path, text| draft.write(path, text))?)]);
                step.extend(form.parse.iter().map(|parse| ("parse".to_owned(), parse.clone())));
                if allowed.len() < models().count() {
                    step.insert("requires".to_owned(), json!({"models": allowed}));
                }
                draft.report.counts.systems += allowed.len().max(1) as u64;
                Value::Object(step)
            }
        };
        draft.suite.variants.insert(variant.id.clone(), json!([step]));
    }
    if draft.suite.variants.is_empty() {
        return Err(ImportError::new("prompts", "holds no prompt that can be carried over")
            .with_hint("results of promptfoo can be imported instead: `promptfoo eval -o results.json`"));
    }
    Ok(())
}

/// The prompt with the texts around it.
fn with_affixes(prompt: &Prompt, affixes: Affixes, draft: &mut Draft<'_>) -> Prompt {
    let mut prompt = prompt.clone();
    match (&mut prompt.body, affixes) {
        (_, Affixes::None) => {}
        (Body::Text(text), Affixes::Columns) => *text = format!("{{{{ sample._prefix }}}}{text}{{{{ sample._suffix }}}}"),
        (Body::Chat(_), Affixes::Columns) => {
            let refusal = Refusal::new("stands around the JSON of a chat").instead("a part of the message's text");
            draft.report.drop(dropped("tests[*].options", "prefix and suffix", refusal));
        }
    }
    prompt
}

fn run_settings(options: &Value) -> Map<String, Value> {
    let number = |key: &str| options.get(key).and_then(Value::as_u64).filter(|number| *number > 0);
    let timeout = number("timeoutMs").map(|ms| if ms % 1000 == 0 { format!("{}s", ms / 1000) } else { format!("{ms}ms") });
    let parts = [
        ("trials", number("repeat").filter(|repeat| *repeat > 1).map(|it| json!(it))),
        ("max_concurrency", number("maxConcurrency").map(|it| json!(it))),
        ("timeout", timeout.map(|it| json!(it))),
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
    if let Some(file) = named(&["yaml", "yml", "json"]).or_else(|| named(&["js", "cjs", "mjs", "ts", "mts", "cts", "py"])) {
        return Ok(file.clone());
    }
    Err(ImportError::new(folder.display(), "holds no `promptfooconfig.yaml`").with_hint("name the config's file itself"))
}
