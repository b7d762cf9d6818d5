//! The variants and models of a suite, made of prompts and providers.

use std::collections::BTreeSet;

use karat_text::template::{Context, Template};
use serde_json::{Map, Value, json};

use super::prompts::{Prompt, PromptBody};
use super::providers::{self, Asked, Provider, Target};
use crate::draft::Draft;
use crate::error::ImportError;
use crate::promptfoo::asserts::Root;
use crate::promptfoo::refusal::Refusal;
use crate::report::ImportReport;

/// A variant of the suite: a prompt, for models or for one service.
pub(super) struct Variant<'p> {
    id: String,
    prompt: &'p Prompt,
    /// Index of the service among the providers.
    service: Option<usize>,
}

impl Variant<'_> {
    /// Returns true if its prompt stands for prompts that were dropped.
    pub fn is_placeholder(&self) -> bool {
        self.prompt.is_placeholder()
    }

    /// Returns true if these names of prompts mean its prompt.
    pub fn is_of_prompt(&self, wanted: &[String]) -> bool {
        self.prompt.is_among(wanted)
    }
}

/// The form of outputs, which differs where services are asked or transforms parse.
pub(super) struct OutputForm {
    /// Path of the text that is scored; the whole output without it.
    pub path: Option<String>,
    /// `parse` of the steps with a prompt.
    parse: Option<Value>,
    /// The output as code of asserts sees it.
    pub root: Root,
}

impl OutputForm {
    pub fn of(providers: &[Provider], tools: &Map<String, Value>, parsed: Option<String>) -> Self {
        let is_service = |provider: &Provider| matches!(provider.target, Target::Service { .. });
        let asks_service = providers.iter().any(is_service);
        let root = match parsed.is_some() {
            true => Root::Json,
            false if asks_service && providers.iter().all(is_service) => Root::Either,
            // promptfoo reads what such a model replies as JSON.
            false if !providers.is_empty() && providers.iter().all(|provider| provider.is_structured) => Root::Json,
            false => Root::Text,
        };
        match parsed {
            // An output that may call tools is an object.
            _ if !tools.is_empty() => Self { path: Some("text".to_owned()), parse: None, root },
            // Answers of services are objects, so the replies of models become such, too.
            _ if asks_service => {
                let parse = json!({"as": "text", "into": "text"});
                Self { path: Some("text".to_owned()), parse: Some(parse), root }
            }
            Some(path) => {
                let path = Some(path).filter(|path| !path.is_empty());
                Self { path, parse: Some(json!({"as": "json"})), root }
            }
            None => Self { path: None, parse: None, root },
        }
    }
}

/// Prompts that are filled in with the rows at import, so that none fails when the suite runs.
pub(super) struct Trials<'p> {
    prompts: Vec<(&'p Prompt, Vec<Template>, Vec<Template>)>,
    env: Map<String, Value>,
    /// Ids of the prompts that need the tolerant form.
    pub tolerant: BTreeSet<String>,
}

impl<'p> Trials<'p> {
    pub fn of(variants: &[Variant<'p>], env: Map<String, Value>) -> Self {
        let compiled = |texts: Vec<&str>| texts.into_iter().filter_map(|text| Template::compile(text).ok()).collect();
        let mut prompts: Vec<(&Prompt, _, _)> = Vec::new();
        for variant in variants {
            if prompts.iter().all(|(known, ..)| known.id != variant.prompt.id) {
                let prompt = variant.prompt;
                prompts.push((prompt, compiled(prompt.body.texts()), compiled(prompt.tolerant.texts())));
            }
        }
        Self { prompts, env, tolerant: BTreeSet::new() }
    }

    /// Fills the prompts in with a row.
    pub fn add(&mut self, row: &Map<String, Value>, path: &str, report: &mut ImportReport) {
        let context = Context::new().with("sample", row).with("params", &self.env);
        let problem = |templates: &[Template]| templates.iter().find_map(|it| it.render(&context).err());
        for (prompt, plain, tolerant) in &self.prompts {
            if self.tolerant.contains(&prompt.id) || problem(plain).is_some() {
                self.tolerant.insert(prompt.id.clone());
                if let Some(error) = problem(tolerant) {
                    // What the environment holds is not known here.
                    let error = error.to_string();
                    if !error.contains("params") {
                        let refusal = Refusal::new(format!("cannot be filled in with this test: {error}"));
                        report.drop(refusal.of_sample(path, &format!("prompt {}", prompt.id)));
                    }
                }
            }
        }
    }
}

/// Texts around prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Affixes {
    None,
    /// In the columns `_prefix` and `_suffix`.
    Columns,
}

/// Every prompt for all models, and for each service a variant of its own.
pub(super) fn variants<'p>(prompts: &'p [Prompt], providers: &[Provider]) -> Vec<Variant<'p>> {
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

/// Variants of the suite beside those of prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OtherVariants {
    None,
    /// The variant with outputs that tests hold.
    Some,
}

/// The prompts and providers that a test is limited to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits<'a> {
    pub prompts: Option<&'a [String]>,
    pub providers: Option<&'a [String]>,
}

impl Limits<'_> {
    /// `only` of a row; nothing where it has all cells.
    pub fn only(self, variants: &[Variant<'_>], providers: &[Provider], others: OtherVariants) -> Option<Value> {
        let wants = |provider: &Provider| self.providers.is_none_or(|wanted| provider.is_among(wanted));
        let models = || providers.iter().filter(|provider| matches!(provider.target, Target::Model { .. }));
        let wanted: Vec<&str> = models().filter(|provider| wants(provider)).map(Provider::id).collect();
        let is_wanted = |variant: &&Variant<'_>| {
            let by_provider = match variant.service {
                Some(at) => providers.get(at).is_some_and(wants),
                None => !wanted.is_empty() || models().next().is_none(),
            };
            by_provider && self.prompts.is_none_or(|wanted| variant.is_of_prompt(wanted))
        };
        let chosen: Vec<&str> = variants.iter().filter(is_wanted).map(|variant| variant.id.as_str()).collect();
        let mut only = Map::new();
        if chosen.len() < variants.len() || others == OtherVariants::Some {
            only.insert("variants".to_owned(), json!(chosen));
        }
        if !wanted.is_empty() && wanted.len() < models().count() {
            only.insert("models".to_owned(), json!(wanted));
        }
        (!only.is_empty()).then_some(Value::Object(only))
    }
}

/// Fills the suite's models.
pub(super) fn write_models(providers: &[Provider], variants: &[Variant<'_>], draft: &mut Draft<'_>) {
    let models = providers.iter().filter_map(|provider| match &provider.target {
        Target::Model { entry, .. } => Some(entry.clone()),
        Target::Service { .. } => None,
    });
    draft.suite.models = models.collect();
    if draft.suite.models.is_empty() && variants.iter().any(|variant| variant.service.is_none()) {
        draft.name_no_model("none of the providers is a model that a suite can ask");
    }
    echo_chats(draft, variants);
}

/// `echo` replies to a chat with its JSON.
fn echo_chats(draft: &mut Draft<'_>, variants: &[Variant<'_>]) {
    if !variants.iter().any(|variant| matches!(variant.prompt.body, PromptBody::Chat(_))) {
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

/// Fills the suite's variants, and writes files of prompts.
///
/// # Errors
/// A file that cannot be written.
pub(super) fn write_variants(
    variants: &[Variant<'_>],
    providers: &[Provider],
    form: &OutputForm,
    affixes: Affixes,
    tolerant: &BTreeSet<String>,
    draft: &mut Draft<'_>,
) -> Result<(), ImportError> {
    for variant in variants {
        let mut prompt = variant.prompt.clone();
        if tolerant.contains(&prompt.id) {
            prompt.body = prompt.tolerant.clone();
        }
        let prompt = with_affixes(prompt, affixes, draft);
        let step = match variant.service.and_then(|at| providers.get(at)).map(|provider| &provider.target) {
            Some(Target::Service { service, .. }) => {
                draft.report.counts.systems += 1;
                if let Asked::Program(program) = service {
                    program.write_adapter(draft)?;
                }
                service.to_step(&prompt)
            }
            _ => {
                let gets = |provider: &&Provider| {
                    provider.prompts.as_ref().is_none_or(|wanted| variant.prompt.is_among(wanted))
                };
                let models = || providers.iter().filter(|provider| matches!(provider.target, Target::Model { .. }));
                let allowed: Vec<&str> = models().filter(gets).map(Provider::id).collect();
                let mut step =
                    Map::from_iter([("prompt".to_owned(), prompt.to_action(|path, text| draft.write(path, text))?)]);
                step.extend(form.parse.iter().map(|parse| ("parse".to_owned(), parse.clone())));
                if allowed.len() < models().count() {
                    step.insert("requires".to_owned(), json!({"models": allowed}));
                }
                draft.report.counts.systems += allowed.len().max(1) as u64;
                Value::Object(step)
            }
        };
        let step = with_tools(step, &draft.suite.tools);
        draft.suite.variants.insert(variant.id.clone(), json!([step]));
    }
    Ok(())
}

/// The step with its prompt offering the suite's tools.
fn with_tools(mut step: Value, tools: &Map<String, Value>) -> Value {
    if tools.is_empty() {
        return step;
    }
    let prompt = match step.get_mut("prompt") {
        Some(Value::String(file)) => json!({"file": file}),
        Some(prompt) => prompt.take(),
        None => return step,
    };
    if let Value::Object(mut prompt) = prompt {
        prompt.insert("tools".to_owned(), tools.keys().cloned().collect());
        step["prompt"] = Value::Object(prompt);
    }
    step
}

/// The prompt with the texts around it.
fn with_affixes(mut prompt: Prompt, affixes: Affixes, draft: &mut Draft<'_>) -> Prompt {
    match (&mut prompt.body, affixes) {
        (_, Affixes::None) => {}
        (PromptBody::Text(text), Affixes::Columns) => {
            *text = format!("{{{{ sample._prefix }}}}{text}{{{{ sample._suffix }}}}")
        }
        (PromptBody::Chat(_), Affixes::Columns) => {
            let refusal = Refusal::new("stands around the JSON of a chat").instead("a part of the message's text");
            draft.report.drop(refusal.of_all("tests[*].options", "prefix and suffix"));
        }
    }
    prompt
}
