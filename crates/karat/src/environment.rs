//! Environment variables: of `.env`, then `.env.local`, then the credentials of systemd, then the process, which wins.
//! Nothing else reads them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Variables of the process and of the files.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    process: Arc<BTreeMap<String, String>>,
    files: Arc<BTreeMap<String, String>>,
}

impl Environment {
    /// Reads the process environment and the files of the working directory.
    pub fn read() -> Self {
        #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
        let process =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let process: BTreeMap<String, String> = process.collect();
        // systemd passes secrets as files (`LoadCredential=keys:FILE`).
        let credentials = process.get("CREDENTIALS_DIRECTORY").map(|folder| Path::new(folder).join("keys"));
        let mut files = BTreeMap::new();
        for file in [Path::new(".env").to_owned(), Path::new(".env.local").to_owned()].into_iter().chain(credentials) {
            if file.is_file()
                && let Ok(entries) = dotenvy::from_path_iter(&file)
            {
                files.extend(entries.filter_map(Result::ok));
            }
        }
        Self { process: Arc::new(process), files: Arc::new(files) }
    }

    /// Returns the value of a variable; an empty one counts as unset.
    pub fn get(&self, name: &str) -> Option<String> {
        self.process.get(name).or_else(|| self.files.get(name)).filter(|value| !value.is_empty()).cloned()
    }

    /// Returns the commands with values from the files as defaults of their flags. The command line and the process
    /// environment win over them, and an empty variable counts as unset.
    pub fn with_file_values(&self, command: clap::Command) -> clap::Command {
        let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
        let command = command.mut_args(|arg| self.with_file_value(arg));
        names.into_iter().fold(command, |command, name| command.mut_subcommand(name, |sub| self.with_file_values(sub)))
    }

    fn with_file_value(&self, arg: clap::Arg) -> clap::Arg {
        let Some(name) = arg.get_env().and_then(|name| name.to_str()).map(str::to_owned) else { return arg };
        match (self.process.get(&name), self.get(&name)) {
            (Some(value), _) if value.is_empty() => arg.env(clap::builder::Resettable::Reset),
            (None, Some(value)) => arg.default_value(value),
            _ => arg,
        }
    }
}
