//! Environment variables: of `.env`, then `.env.local`, then the credentials of systemd, then the process, which wins.
//! Nothing else reads them. A file of the folder may come with a cloned repository, so it is known which file a value is of.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Variables of the process and of the files.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    process: Arc<BTreeMap<String, String>>,
    /// Values with the file of the folder that they are of; none for the credentials of systemd.
    files: Arc<BTreeMap<String, (String, Option<&'static str>)>>,
}

/// The files of the folder, the one that wins last.
const FILES: [&str; 2] = [".env", ".env.local"];

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
        let of_folder = FILES.map(|name| (Path::new(name).to_owned(), Some(name)));
        for (file, name) in of_folder.into_iter().chain(credentials.map(|file| (file, None))) {
            if file.is_file()
                && let Ok(text) = std::fs::read_to_string(&file)
            {
                let foreign = foreign_values(&text, &process);
                files.extend(variables(&text).map(|(variable, value)| (variable, (without(value, &foreign), name))));
            }
        }
        Self { process: Arc::new(process), files: Arc::new(files) }
    }

    /// Returns the value of a variable; an empty one counts as unset.
    pub fn get(&self, name: &str) -> Option<String> {
        let of_files = || self.files.get(name).map(|(value, _)| value);
        self.process.get(name).or_else(of_files).filter(|value| !value.is_empty()).cloned()
    }

    /// Returns the file of the folder that the value of a variable is of; `None` if it is of the environment itself.
    pub fn file_of(&self, name: &str) -> Option<&'static str> {
        let is_of_process = self.process.contains_key(name);
        self.files.get(name).filter(|(value, _)| !is_of_process && !value.is_empty()).and_then(|(_, file)| *file)
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

/// The variables of a file's text. A byte order mark would be a part of the first name.
fn variables(text: &str) -> impl Iterator<Item = (String, String)> {
    dotenvy::from_read_iter(text.trim_start_matches('\u{feff}').as_bytes()).filter_map(Result::ok)
}

/// Variables of the environment that a file may read.
const READABLE: [&str; 6] = ["HOME", "USER", "LOGNAME", "PWD", "TMPDIR", "LANG"];

/// Shortest value that may be a secret.
const SHORTEST: usize = 4;

/// The variables that a file names as `$NAME` and that the environment has, with their values. A file that could read them
/// could write a key into an address.
fn foreign_values<'p>(text: &str, process: &'p BTreeMap<String, String>) -> Vec<(&'p str, &'p str)> {
    let named = text.split('$').skip(1).filter_map(|rest| {
        let name = rest.trim_start_matches('{');
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
        // A name without braces may end before the text does.
        (1..=end).rev().find_map(|end| process.get_key_value(&name[..end]))
    });
    let readable = |name: &str| READABLE.contains(&name);
    let values = named.map(|(name, value)| (name.as_str(), value.as_str()));
    values.filter(|(name, value)| !readable(name) && value.len() >= SHORTEST).collect()
}

/// A value in which those of other variables are their names again.
fn without(value: String, foreign: &[(&str, &str)]) -> String {
    foreign.iter().fold(value, |value, (name, other)| value.replace(other, &format!("${{{name}}}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F28: what an editor of Windows adds to a file is not part of a name or value.
    #[test]
    fn marks_and_line_ends_are_dropped() {
        let read: Vec<_> = variables("\u{feff}MYKEY=k1\r\nOTHER=\"two words\"\r\n").collect();
        assert_eq!(read, [("MYKEY", "k1"), ("OTHER", "two words")].map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    /// X4: a file of the folder reads no variable of the environment, so that it cannot write a key into an address.
    #[test]
    fn a_file_reads_no_keys() {
        let process = BTreeMap::from(
            [("OPENAI_API_KEY", "sk-secret"), ("HOME", "/home/ann"), ("N", "1")]
                .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        let text = "A=http://a.example/${OPENAI_API_KEY}\nB=$OPENAI_API_KEY/x\nC=$HOME/x\nD='$N'\n";
        let foreign = foreign_values(text, &process);
        assert_eq!(foreign, [("OPENAI_API_KEY", "sk-secret"); 2]);
        let value = without("http://a.example/sk-secret".to_owned(), &foreign);
        assert_eq!(value, "http://a.example/${OPENAI_API_KEY}");
    }

    /// X4: the file of a value is known; a variable of the process has none.
    #[test]
    fn the_file_of_a_value_is_known() {
        let files = [("A", ("1", Some(".env"))), ("B", ("2", Some(".env.local"))), ("C", ("3", None))];
        let files = files.map(|(name, (value, file))| (name.to_owned(), (value.to_owned(), file)));
        let process = BTreeMap::from([("A".to_owned(), "0".to_owned())]);
        let environment = Environment { process: Arc::new(process), files: Arc::new(BTreeMap::from(files)) };
        let read = |name| (environment.get(name), environment.file_of(name));
        assert_eq!(read("A"), (Some("0".to_owned()), None));
        assert_eq!(read("B"), (Some("2".to_owned()), Some(".env.local")));
        assert_eq!((read("C").1, read("D")), (None, (None, None)));
    }
}
