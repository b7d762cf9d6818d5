//! A working directory of its own, and the binary in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use testkit::Scratch;

/// A working directory for `karat`. Variables of the outer environment that could matter are removed.
pub struct Place {
    scratch: Scratch,
    /// The address of the store, where it is not in the directory.
    store: Option<String>,
}

/// The exit code and the output of a command.
pub struct CommandOutput {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    pub fn new() -> Self {
        Self { scratch: testkit::scratch().unwrap(), store: None }
    }

    /// A directory whose commands use a database on a server. `None` where PostgreSQL is not installed.
    pub fn on_server() -> Option<Self> {
        let store = Some(testkit::postgres()?.database().unwrap());
        Some(Self { store, ..Self::new() })
    }

    /// A directory whose commands use the store at an address.
    pub fn with_store(url: &str) -> Self {
        Self { store: Some(url.to_owned()), ..Self::new() }
    }

    /// The address of the store on a server.
    pub fn store(&self) -> &str {
        self.store.as_deref().unwrap()
    }

    pub fn path(&self) -> &Path {
        self.scratch.path()
    }

    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        self.scratch.write(name, content).unwrap()
    }

    /// The content of a file.
    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_karat"));
        command.args(arguments).current_dir(self.path());
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if ["KARAT_", "OPENAI_", "ANTHROPIC_", "HTTP", "NO_PROXY", "http"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
            {
                command.env_remove(&name);
            }
        }
        if let Some(store) = &self.store {
            command.env("KARAT_STORE", store);
        }
        command
    }

    pub fn karat(&self, arguments: &[&str]) -> CommandOutput {
        CommandOutput::of(self.command(arguments).output().unwrap())
    }

    /// Runs a command that must succeed.
    pub fn succeed(&self, arguments: &[&str]) -> CommandOutput {
        let result = self.karat(arguments);
        assert_eq!(result.code, 0, "karat {}\n{}\n{}", arguments.join(" "), result.stdout, result.stderr);
        result
    }

    /// The canonical report of a run, as text.
    pub fn canonical(&self, run: &str) -> String {
        self.succeed(&["report", run, "--canonical", "--format", "json", "-o", "-"]).stdout
    }

    /// The report of a run.
    pub fn report(&self, run: &str) -> Value {
        serde_json::from_str(&self.succeed(&["report", run, "--format", "json", "-o", "-"]).stdout).unwrap()
    }
}

impl CommandOutput {
    pub fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Returns all of it, for the message of an assertion.
    pub fn all(&self) -> String {
        format!("exit {}\n{}\n{}", self.code, self.stdout, self.stderr)
    }
}

/// Questions whose answers the fake provider knows.
pub fn questions(n: usize) -> String {
    (0..n)
        .map(|i| {
            format!("{{\"id\":\"q{i}\",\"question\":\"Question {i}: [[answer {i}]]\",\"target\":\"answer {i}\"}}\n")
        })
        .collect()
}

/// The short-form suite against a provider.
pub fn suite(base_url: &str) -> String {
    format!(
        r#"name: bench
dataset: {{ source: data.jsonl, id: id, input: question, reference: target }}
models: [ {{ id: mock, provider: openai, model: mock-model, base_url: "{base_url}", api_key_env: MOCK_KEY, price: {{ input: 1.0, output: 2.0 }} }} ]
variants: {{ direct: [ {{ prompt: {{ text: "{{{{ sample.question }}}}" }} }} ] }}
scorers: {{ hit: {{ metric: contains }} }}
run: {{ max_concurrency: 16, budget_usd: 1000 }}
"#
    )
}

/// Puts a program named `claude` into a place; gives a PATH on which it is first.
pub fn fake_claude(place: &Place, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = place.write("bin/claude", &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", place.path().join("bin").display(), std::env::var("PATH").unwrap_or_default())
}
