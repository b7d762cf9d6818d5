//! The rows of a suite, made of test cases, and the scorers that their asserts need.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::cases::{Case, Defaults};
use super::providers::Provider;
use super::variants::{Limits, OtherVariants, OutputForm, Trials, Variant};
use crate::draft::Draft;
use crate::error::ImportError;
use crate::promptfoo::asserts::{Checks, HasInput, Questions, RUBRIC_PROMPT, RowVars, Shown, Tools};
use crate::promptfoo::models::{Grading, Model, OwnModels};
use crate::promptfoo::nunjucks;
use crate::promptfoo::refusal::Refusal;
use crate::promptfoo::rows::{RowWriter, SAMPLES, Summary};
use crate::promptfoo::settings::Settings;
use crate::promptfoo::values::text_of;
use crate::report::{ImportReport, Shape};
use crate::source::Source;
use crate::text::names::Names;

/// Column of a row that has its output already.
pub(super) const OUTPUT: &str = "_output";

/// The variant that reads it.
pub(super) const RECORDED: &str = "recorded";

/// The model of promptfoo's comparisons of meaning where a config names none.
const EMBEDDINGS: &str = "openai:embedding:text-embedding-3-large";

/// A judge where a config names none.
const JUDGE: &str = "openai:gpt-5";

/// The tests of a config and what their rows depend on.
pub(super) struct DatasetImport<'a> {
    pub source: &'a Source,
    /// The config's file.
    pub from: &'a Path,
    pub cases: &'a [Case],
    pub defaults: &'a Defaults,
    pub variants: &'a [Variant<'a>],
    pub providers: &'a [Provider],
    pub settings: &'a Settings,
    pub form: &'a OutputForm,
}

impl DatasetImport<'_> {
    /// Writes the rows, and fills the suite's dataset, scorers and judges. Returns the ids of the prompts that some row can
    /// only fill in as Nunjucks does, where a member of an absent value is empty.
    ///
    /// # Errors
    /// A config of which no test is left, or more rows than a suite can hold.
    pub fn run(&self, draft: &mut Draft<'_>) -> Result<BTreeSet<String>, ImportError> {
        let env = self.settings.known_env();
        let usual = self.usual_grading(&mut draft.report);
        let mut checks = Checks {
            source: self.source,
            from: self.from.to_owned(),
            env,
            output: self.form.path.clone(),
            root: self.form.root,
            shape: Shape::Live,
            tools: if draft.suite.tools.is_empty() { Tools::None } else { Tools::Offered },
            questions: Questions::default(),
            settings: self.settings.with(&Map::new()),
            usual: usual.clone(),
        };
        // Asserts of all tests are scorers of the suite, unless a test does without them or weighs them with its own.
        let mut unchecked = Vec::new();
        let has_rubric_prompt = self.defaults.option(RUBRIC_PROMPT).is_some_and(|prompt| !prompt.is_null());
        let has_own_rule = |case: &Case| case.has_own_rule() || case.has_rubric_prompt != has_rubric_prompt;
        let of_rows = if self.cases.iter().any(has_own_rule) {
            self.defaults.asserts.clone()
        } else {
            let (scorers, report) = (&mut draft.suite.scorers, &mut draft.report);
            checks.of_suite(&self.defaults.asserts, has_rubric_prompt, scorers, &mut unchecked, report)?
        };
        // Dropped settings of providers concern every row.
        unchecked.extend(self.providers.iter().flat_map(|provider| provider.unchecked.iter().cloned()));
        let mut trials = Trials::of(self.variants, checks.env.clone());
        let mut writer = RowWriter::new(draft.rows(SAMPLES)?);
        for case in self.cases {
            let asserts = case.all_asserts(&of_rows);
            let Some(only) = self.only(case, &mut draft.report) else { continue };
            let (rows, lost) = case.rows(self.source, self.from, &checks.env, &mut draft.report)?;
            for vars in rows {
                let mut row = writer.row(&vars, case.metadata.get("id").map(text_of));
                self.fill(case, &vars, &checks.env).into_iter().for_each(|(column, value)| row.set(&column, value));
                row.only(only.clone());
                if case.output.is_none() {
                    trials.add(row.columns(), &case.path, &mut draft.report);
                }
                let judged = RowVars { vars: &vars, grading: &case.grading, has_rubric_prompt: case.has_rubric_prompt };
                let mut row_checks = checks.of_row(&asserts, case.threshold, judged, &mut draft.report)?;
                row_checks.unchecked.splice(0..0, unchecked.iter().chain(&case.unchecked).chain(&lost).cloned());
                row.finish(case.description.as_deref(), &case.metadata, row_checks);
                writer.write(row)?;
            }
        }
        let summary = writer.finish()?;
        if summary.rows == 0 {
            let problem = "has no test that is carried over: all of them are for providers or prompts that are not";
            return Err(ImportError::new(self.from.display(), problem)
                .with_hint("import its results instead: `promptfoo eval -o results.json`"));
        }
        // A construct dropped from `defaultTest` is listed once, with the number of all rows.
        for dropped in draft.report.dropped.iter_mut().filter(|dropped| dropped.path.starts_with("defaultTest")) {
            if dropped.samples <= 1 && (dropped.path.starts_with("defaultTest.options") || !unchecked.is_empty()) {
                dropped.samples = summary.rows;
            }
        }
        self.write_scorers(&checks.questions, &usual, &summary, draft);
        draft.report.counts.samples = summary.rows;
        draft.report.counts.checks = summary.checks + draft.suite.scorers.len() as u64;
        draft.suite.dataset = summary.dataset(&self.settings.reads.vars);
        Ok(trials.tolerant)
    }

    /// The models that grade where neither a test nor an assert names one.
    fn usual_grading(&self, report: &mut ImportReport) -> Grading {
        let path = "defaultTest.options.provider";
        let named = self.defaults.option("provider");
        let named = named.map(|value| Grading::read(value, path, self.settings, report)).unwrap_or_default();
        // promptfoo's own, which are asked where the environment of the config says.
        let mut usual = |id: &str| Model::of_value(&json!(id), path, self.settings, report).map_err(drop);
        let embedding = named.embedding.or_else(|| Some(usual(EMBEDDINGS)));
        Grading { text: named.text, embedding }
    }

    /// The cells that a test is limited to; `None` if it is left out, because its prompt or provider was.
    fn only(&self, case: &Case, report: &mut ImportReport) -> Option<Option<Value>> {
        if case.output.is_some() {
            let is_mixed = self.cases.iter().any(|case| case.output.is_none());
            return Some(is_mixed.then(|| json!({"variants": [RECORDED]})));
        }
        let mut limits = Limits { prompts: case.prompts.as_deref(), providers: case.providers.as_deref() };
        if limits.prompts.is_some_and(|wanted| !self.variants.iter().any(|variant| variant.is_of_prompt(wanted))) {
            // A placeholder stands for all prompts of a config.
            if !self.variants.iter().any(Variant::is_placeholder) {
                let refusal = Refusal::new("names no prompt that is carried over, so the test is left out");
                report.drop(refusal.of_sample(&format!("{}.prompts", case.path), "prompts"));
                return None;
            }
            limits.prompts = None;
        }
        if self.providers.is_empty() {
            // The model is still to be named.
            limits.providers = None;
        }
        if limits.providers.is_some_and(|wanted| !self.providers.iter().any(|provider| provider.is_among(wanted))) {
            // Other providers would get what is meant for this one.
            let refusal = Refusal::new("names no provider that is carried over, so the test is left out");
            report.drop(refusal.of_sample(&format!("{}.providers", case.path), "providers"));
            return None;
        }
        let has_outputs = self.cases.iter().any(|case| case.output.is_some());
        let others = if has_outputs { OtherVariants::Some } else { OtherVariants::None };
        Some(limits.only(self.variants, self.providers, others))
    }

    /// Columns of a row beside its variables: empty texts for those that prompts read and the row lacks, the texts around
    /// prompts, and an output.
    fn fill(&self, case: &Case, vars: &Map<String, Value>, env: &Map<String, Value>) -> Vec<(String, Value)> {
        let missing = self.settings.reads.vars.iter().filter(|name| !vars.contains_key(*name));
        let mut columns: Vec<(String, Value)> = missing.map(|name| (nunjucks::column_name(name), json!(""))).collect();
        if self.cases.iter().any(Case::has_affixes) {
            for (column, affix) in [("_prefix", &case.prefix), ("_suffix", &case.suffix)] {
                let affix = affix.as_deref().unwrap_or_default();
                let text = nunjucks::render(affix, vars, env).unwrap_or_else(|_| affix.to_owned());
                columns.push((column.to_owned(), json!(text)));
            }
        }
        columns.extend(case.output.iter().map(|output| (OUTPUT.to_owned(), output.clone())));
        columns
    }

    /// Adds the scorers that ask a model, and the judges. Models that single scorers ask with settings of their own stand in a
    /// registry file.
    fn write_scorers(&self, questions: &Questions, usual: &Grading, summary: &Summary, draft: &mut Draft<'_>) {
        let has_input = if summary.roles.has_input(&self.settings.reads.vars) { HasInput::Yes } else { HasInput::No };
        let shown = Shown { output: self.form.path.as_deref(), has_input };
        let mut own = OwnModels::default();
        draft.suite.scorers.extend(questions.to_scorers(shown, &mut own));
        draft.suite.registry = own.entries;
        if !questions.ask_usual_judge() && !summary.is_judged {
            return;
        }
        let path = "defaultTest.options.provider";
        let judge = match &usual.text {
            Some(judge) => judge.clone().ok(),
            None => {
                let text = format!("the config names no judge; `{JUDGE}` stands in place of promptfoo's own");
                draft.report.note(path, text);
                Model::of_value(&json!(JUDGE), path, self.settings, &mut draft.report).ok()
            }
        };
        draft.suite.judges = judge.map(|judge| judge.entry(None, &mut Names::default()).1).into_iter().collect();
    }
}
