//! Writes the workflow that runs a suite in CI.
//!
//! The workflows are texts: `github.yml` and `gitlab.yml`, with a few places to fill. This file finds out what goes there:
//! the folder of the suite within the repository, the variables of keys, and the commands that run the suite.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use karat_providers::{ProviderError, Providers, Settings};
use karat_types::ModelSpec;

use crate::error::{FileError, SuiteError};
use crate::project::Project;
use crate::project::atomic_file;
use crate::{AppError, Invocation};

/// The recording that a run without keys replays.
const RECORDING: &str = "ci-recording.jsonl";

/// A CI service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CiService {
    /// GitHub Actions.
    Github,
    /// GitLab CI.
    Gitlab,
}

impl CiService {
    fn template(self) -> &'static str {
        match self {
            Self::Github => include_str!("github.yml"),
            Self::Gitlab => include_str!("gitlab.yml"),
        }
    }

    /// The path of its workflow in a repository.
    fn path(self) -> &'static str {
        match self {
            Self::Github => ".github/workflows/karat.yml",
            Self::Gitlab => ".gitlab-ci.yml",
        }
    }

    /// A run id that no other run of the pipeline has, as the shell expands it.
    fn run_id(self) -> &'static str {
        match self {
            Self::Github => "ci-$GITHUB_RUN_ID-$GITHUB_RUN_ATTEMPT",
            Self::Gitlab => "ci-$CI_JOB_ID",
        }
    }

    /// Spaces before each line of the commands.
    fn indent(self) -> usize {
        match self {
            Self::Github => 10,
            Self::Gitlab => 6,
        }
    }
}

/// A workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CiWorkflow {
    /// Its text.
    pub text: String,
    /// Its path in the repository.
    pub path: PathBuf,
    /// The variables that the service must provide.
    pub keys: Vec<String>,
    /// The recording that a run without keys replays, if there are keys.
    pub recording: Option<PathBuf>,
}

impl Project<'_> {
    /// Makes the workflow that runs a suite. `folder` is the present folder.
    ///
    /// # Errors
    /// A suite that cannot be loaded, or with a path that no workflow can contain.
    pub fn ci_workflow(&self, service: CiService, suite: &str, folder: &Path) -> Result<CiWorkflow, AppError> {
        let plan = self.load(&Invocation::of(suite))?;
        let models = plan.header.all_models();
        let keys = key_variables(models.cloned().collect());
        let root = repository_root(folder).unwrap_or(folder);
        let below = folder.strip_prefix(root).unwrap_or(Path::new(""));
        let below = below.to_str().ok_or_else(|| unusable(suite))?;
        let dir = if below.is_empty() { String::new() } else { format!("{below}/") };
        for part in [suite, below] {
            if part.contains("${{") || part.contains(|c: char| c.is_control() || "'\"`$\\#:@*?[]{}&|;<>()!".contains(c))
            {
                return Err(unusable(part));
            }
        }
        let text = service
            .template()
            .replace("@ENV@", &environment(&keys))
            .replace("@DEFAULTS@", &defaults(below))
            .replace("@RUN@", &run_commands(service, suite, &keys))
            .replace("@DIR@", &dir)
            .replace("@KEYS@", &if keys.is_empty() { "this suite needs none".to_owned() } else { keys.join(", ") })
            .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
            .replace("@REPOSITORY@", env!("CARGO_PKG_REPOSITORY"));
        let recording = (!keys.is_empty()).then(|| folder.join(RECORDING));
        Ok(CiWorkflow { text, path: root.join(service.path()), keys, recording })
    }

    /// Writes a workflow to a file.
    ///
    /// # Errors
    /// The file exists and must not be replaced, or cannot be written.
    pub fn write_ci_workflow(&self, workflow: &CiWorkflow, target: &Path, replace: bool) -> Result<(), AppError> {
        if target.exists() && !replace {
            return Err(SuiteError::WorkflowExists { path: target.display().to_string() }.into());
        }
        atomic_file::write(target, workflow.text.as_bytes())
            .map_err(|error| FileError::writing(target, error).with_hint("name another file with `-o`").into())
    }
}

fn unusable(path: &str) -> AppError {
    SuiteError::UnusablePath { path: path.to_owned() }.into()
}

/// The nearest folder upwards that holds a repository.
fn repository_root(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|it| it.join(".git").exists())
}

/// The variables that hold the keys of models: those that they declare, and those that a connection without any variable
/// misses.
fn key_variables(models: Vec<ModelSpec>) -> Vec<String> {
    let mut keys: BTreeSet<String> = models.iter().filter_map(|model| model.api_key_env.clone()).collect();
    let missing = Providers::connect_all(&models, &Default::default(), Settings::new(|_| None)).err();
    keys.extend(missing.unwrap_or_default().into_iter().filter_map(|error| match error {
        ProviderError::MissingKey { variable, .. } => Some(variable),
        _ => None,
    }));
    let is_name = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    keys.into_iter().filter(is_name).collect()
}

/// The `env` of a GitHub job.
fn environment(keys: &[String]) -> String {
    if keys.is_empty() {
        return String::new();
    }
    let lines = keys.iter().map(|key| format!("      {key}: ${{{{ secrets.{key} }}}}\n"));
    format!("    env:\n{}", lines.collect::<String>())
}

/// The `defaults` of a GitHub job whose suite is in a folder of the repository.
fn defaults(below: &str) -> String {
    if below.is_empty() {
        return String::new();
    }
    format!("    defaults:\n      run:\n        working-directory: {below}\n")
}

/// The commands that run the suite and keep its exit code in `code`.
fn run_commands(service: CiService, suite: &str, keys: &[String]) -> String {
    let mut lines = vec!["code=0".to_owned(), "set --".to_owned()];
    if !keys.is_empty() {
        lines.push("missing=\"\"".to_owned());
        lines.extend(keys.iter().map(|key| format!("if [ -z \"${{{key}:-}}\" ]; then missing=\"$missing {key}\"; fi")));
        lines.push("# Without keys, as in a pull request from a fork, recorded calls are replayed.".to_owned());
        lines.push(format!("if [ -n \"$missing\" ] && [ -f {RECORDING} ]; then set -- --replay {RECORDING}; fi"));
    }
    let id = service.run_id();
    lines.push(format!(
        "karat run '{suite}' --run-id \"{id}\" -o karat-report --format md,json,junit \"$@\" || code=$?"
    ));
    let indent = " ".repeat(service.indent());
    lines.iter().map(|line| format!("{indent}{line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(id: &str, provider: &str, variable: Option<&str>) -> ModelSpec {
        let mut spec: ModelSpec = serde_json::from_value(
            serde_json::json!({ "id": id, "provider": provider, "model": id, "price": "unmetered" }),
        )
        .unwrap();
        spec.api_key_env = variable.map(str::to_owned);
        spec
    }

    /// SV-30: the keys of a workflow are those that the models declare or that their providers need.
    #[test]
    fn keys_are_those_that_models_need() {
        let models =
            vec![model("a", "openai", Some("MY_KEY")), model("b", "anthropic", None), model("c", "scripted", None)];
        assert_eq!(key_variables(models), ["ANTHROPIC_API_KEY", "MY_KEY"]);
        assert!(key_variables(vec![model("c", "scripted", None)]).is_empty());
    }

    /// SV-30: the folder of a repository is found from below.
    #[test]
    fn the_repository_is_the_nearest_folder_with_git() {
        let place = testkit::scratch().unwrap();
        place.write("repo/.git/HEAD", "").unwrap();
        place.write("repo/evals/karat.yaml", "").unwrap();
        let root = place.path().join("repo");
        assert_eq!(repository_root(&root.join("evals")), Some(root.as_path()));
    }
}
