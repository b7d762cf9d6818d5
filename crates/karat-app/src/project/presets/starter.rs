//! The small suites that `karat init` writes: one for each task, for the models of one provider. Their files are in
//! `starters/`; `@NAME@` in them stands for what the provider decides. Scripted stand-ins answer until the line
//! `registry:` is deleted, so each suite runs at once.

use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use karat_providers::HttpProvider;
use karat_suite::Registry;
use karat_types::Pricing;

use crate::AppError;
use crate::error::{Names, SuiteError};
use crate::project::catalog;
use crate::project::presets::files_below;

static STARTERS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/embedded/starters");

/// The tasks, and what each of them is.
const TASKS: [(&str, &str); 6] = [
    ("answer", "answer questions about a text"),
    ("agent", "let a model call tools"),
    ("classify", "sort texts into categories"),
    ("extract", "turn texts into JSON"),
    ("rag", "answer from retrieved passages, with sources"),
    ("summary", "summarize texts"),
];

/// The providers, each with a model to test and a model that judges. Names without an entry in the registry were checked
/// against the providers' lists and retirement notices on 2026-11-25; those of Azure are deployments, which users name.
const PROVIDERS: [(&str, &str, &str); 13] = [
    ("openai", "gpt-5-mini", "gpt-4.1"),
    ("anthropic", "claude-haiku-4-5", "claude-sonnet-4"),
    ("gemini", "gemini-2.5-flash", "gemini-2.5-pro"),
    ("azure", "azure:gpt-5.4-mini", "azure:gpt-5.4"),
    ("openrouter", "openrouter:openai/gpt-5.4-mini", "openrouter:anthropic/claude-sonnet-5"),
    ("groq", "groq:openai/gpt-oss-20b", "groq:openai/gpt-oss-120b"),
    ("mistral", "mistral:mistral-small-latest", "mistral:mistral-large-latest"),
    ("deepseek", "deepseek:deepseek-v4-flash", "deepseek:deepseek-v4-pro"),
    ("together", "together:meta-llama/Llama-3.3-70B-Instruct-Turbo", "together:openai/gpt-oss-120b"),
    (
        "fireworks",
        "fireworks:accounts/fireworks/models/deepseek-v4-flash",
        "fireworks:accounts/fireworks/models/gpt-oss-120b",
    ),
    ("xai", "xai:grok-4.20-non-reasoning", "xai:grok-4.3"),
    ("ollama", "ollama:llama3.2", "ollama:qwen2.5:14b"),
    ("vllm", "vllm:meta-llama/Llama-3.1-8B-Instruct", "vllm:Qwen/Qwen2.5-14B-Instruct"),
];

/// A suite to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StarterRequest {
    /// The task.
    pub task: String,
    /// The provider of its models.
    pub provider: String,
}

/// The tasks by name, each with a description.
pub fn starter_tasks() -> &'static [(&'static str, &'static str)] {
    &TASKS
}

/// The providers by name, each with the model that is tested.
pub fn starter_providers() -> Vec<(&'static str, &'static str)> {
    PROVIDERS.iter().map(|(provider, model, _)| (*provider, *model)).collect()
}

impl StarterRequest {
    /// The request without any answer: the task `answer`, with the first provider whose key is set.
    pub fn usual(lookup: &dyn Fn(&str) -> Option<String>) -> Self {
        let hosts = karat_providers::http_providers();
        let has_key = |name: &str| {
            let variables = hosts.iter().filter(|host| host.name == name).flat_map(|host| host.key_variables);
            variables.into_iter().any(|variable| lookup(variable).is_some())
        };
        let provider = PROVIDERS.iter().map(|(name, ..)| *name).find(|name| has_key(name)).unwrap_or(PROVIDERS[0].0);
        Self { task: TASKS[0].0.to_owned(), provider: provider.to_owned() }
    }

    /// Its files by path.
    pub(crate) fn files(&self) -> Result<Vec<(PathBuf, Vec<u8>)>, AppError> {
        let tasks = || TASKS.iter().map(|(task, _)| *task);
        let dir = STARTERS.get_dir(&self.task).filter(|_| tasks().any(|task| task == self.task));
        let dir = dir.ok_or_else(|| SuiteError::NoTask { task: self.task.clone(), tasks: Names::of(tasks()) })?;
        let chosen = PROVIDERS.iter().find(|(name, ..)| *name == self.provider);
        let (_, model, judge) = chosen.ok_or_else(|| SuiteError::NoStarterProvider {
            provider: self.provider.clone(),
            providers: Names::of(PROVIDERS.iter().map(|(name, ..)| *name)),
        })?;
        let own = files_below(dir);
        // The first by name: an agent's tools have files of their own behind it.
        let data =
            own.iter().filter(|(path, _)| path.extension().is_some_and(|it| it == "jsonl") && is_at_top(path)).min();
        let data = data.map(|(path, _)| path.display().to_string()).unwrap_or_default();
        let mut texts = Texts::of(&self.provider, model, judge);
        let prompt = own.iter().any(|(path, _)| path.ends_with("prompt.md"));
        let prompt = if prompt { "| `prompt.md` | the prompt under test |\n" } else { "" };
        texts.0.extend([("@TASK@", self.task.clone()), ("@DATA@", data), ("@PROMPT@\n", prompt.to_owned())]);
        let shared = STARTERS.get_dir("every").map(files_below).unwrap_or_default();
        let fill = |content: &[u8]| texts.fill(&String::from_utf8_lossy(content)).into_bytes();
        Ok(own.into_iter().chain(shared).map(|(path, content)| (path, fill(content))).collect())
    }
}

fn is_at_top(path: &Path) -> bool {
    path.parent().is_none_or(|folder| folder.as_os_str().is_empty())
}

/// The texts that stand for `@NAME@` in the files.
struct Texts(Vec<(&'static str, String)>);

impl Texts {
    fn of(provider: &str, model: &str, judge: &str) -> Self {
        let hosts = karat_providers::http_providers();
        let host = hosts.iter().find(|host| host.name == provider);
        let registry = Registry::builtin().with_providers(&catalog::compose());
        let is_unpriced = |id: &str| registry.find(id).is_none_or(|model| model.price == Pricing::Unknown);
        let is_unpriced = is_unpriced(model) || is_unpriced(judge);
        let is_free = host.is_some_and(|host| host.free);
        let price = format!(
            "# Karat knows no price of these models. Look it up and write it down, and a budget can hold them:\n\
             # models: [ {{ id: \"{model}\", price: {{ input: 0.50, output: 1.50 }} }} ]    # $ per million tokens\n"
        );
        let budget = if is_unpriced || is_free { "" } else { " --budget-usd 1" };
        Self(vec![
            ("@MODEL@", model.to_owned()),
            ("@JUDGE@", judge.to_owned()),
            ("@READY@", ready_clause(provider, host, model, judge)),
            ("@PREPARE@", prepare_commands(provider, host, model, judge)),
            ("@PRICE@\n", if is_unpriced { price } else { String::new() }),
            ("@BUDGET@", budget.to_owned()),
        ])
    }

    fn fill(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }
}

/// The last words of "delete the line `registry:` and …".
fn ready_clause(provider: &str, host: Option<&HttpProvider>, model: &str, judge: &str) -> String {
    let bare = |id: &str| id.split_once(':').map_or(id, |(_, name)| name).to_owned();
    match (provider, host.map(|host| host.key_variables).and_then(|variables| variables.first())) {
        ("azure", Some(key)) => format!("set {key} and AZURE_OPENAI_ENDPOINT"),
        (_, Some(key)) => format!("set {key}"),
        ("ollama", None) => format!("start Ollama with {} and {}", bare(model), bare(judge)),
        _ => format!("start a server for {} and {}", bare(model), bare(judge)),
    }
}

/// The commands that make the provider ready.
fn prepare_commands(provider: &str, host: Option<&HttpProvider>, model: &str, judge: &str) -> String {
    let bare = |id: &str| id.split_once(':').map_or(id, |(_, name)| name).to_owned();
    match (provider, host.map(|host| host.key_variables).and_then(|variables| variables.first())) {
        ("azure", Some(key)) => {
            format!("export {key}=…\nexport AZURE_OPENAI_ENDPOINT=https://YOUR-RESOURCE.openai.azure.com")
        }
        (_, Some(key)) => format!("export {key}=…"),
        ("ollama", None) => format!("ollama pull {}\nollama pull {}", bare(model), bare(judge)),
        _ => format!("vllm serve {}    # and the judge, at the address that its entry's `base_url` names", bare(model)),
    }
}
