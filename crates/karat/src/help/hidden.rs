//! `karat help --all`: flags that work and that no help lists otherwise, such as older names.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::Command;

/// The command line without `--all` and the commands with all flags shown, where it is `karat help --all`; else both as they
/// are.
pub fn with_hidden_flags(command_line: Vec<OsString>, command: Command) -> (Vec<OsString>, Command) {
    let is_flag = |word: &OsString| word.to_string_lossy().starts_with('-');
    let is_help = command_line.iter().skip(1).find(|word| !is_flag(word)).is_some_and(|word| word == "help");
    if !is_help || !command_line.iter().any(|word| word == "--all") {
        return (command_line, command);
    }
    let mut list = String::new();
    collect(&mut list, "karat", &command);
    let after = format!(
        "{}Hidden flags:\n{list}",
        command.get_after_help().map(|help| format!("{help}\n\n")).unwrap_or_default()
    );
    (command_line.into_iter().filter(|word| word != "--all").collect(), show(command).after_help(after))
}

/// Writes a line for each hidden flag of a command and of those below it.
fn collect(list: &mut String, path: &str, command: &Command) {
    for arg in command.get_arguments().filter(|arg| arg.is_hide_set()) {
        let value = arg.get_value_names().filter(|_| arg.get_action().takes_values());
        let value = value.map(|names| format!(" <{}>", names.join(" "))).unwrap_or_default();
        let about = arg.get_help().map(ToString::to_string).unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(list, "  {path} --{}{value}\n      {about}", arg.get_long().unwrap_or_default());
    }
    command.get_subcommands().for_each(|sub| collect(list, &format!("{path} {}", sub.get_name()), sub));
}

fn show(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let command = command.mut_args(|arg| arg.hide(false));
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, show))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help(words: &[&str]) -> String {
        let words = words.iter().map(OsString::from).collect();
        let (words, command) = with_hidden_flags(words, crate::help::command());
        command.try_get_matches_from(words).unwrap_err().to_string()
    }

    const HIDDEN: [&str; 5] = ["--corpus", "--invalidate-run", "--dry-run", "--gate-threshold", "--tier"];

    /// LI-29: older names work and are hidden; `karat help --all` shows them, of all commands or of one.
    #[test]
    fn hidden_flags_are_shown_on_request() {
        for shown in [help(&["karat", "help", "--all"]), help(&["karat", "help", "run", "--all"])] {
            assert!(HIDDEN.iter().all(|flag| shown.contains(flag)), "{shown}");
        }
        for usual in [help(&["karat", "help", "run"]), help(&["karat", "run", "--help"])] {
            assert!(HIDDEN.iter().all(|flag| !usual.contains(flag)) && !usual.contains("both"), "{usual}");
        }
        for words in [["--tier", "budget"], ["--corpus", "a.json"], ["--invalidate-run", "a"], ["--format", "both"]] {
            let words = ["karat", "run"].into_iter().chain(words);
            assert!(crate::help::command().try_get_matches_from(words).is_ok());
        }
    }

    /// LI-29: flags of the store are those of commands that open one, under a heading of their own; before a command they still
    /// work.
    #[test]
    fn store_flags_are_advanced() {
        use clap::FromArgMatches as _;
        for path in [&["run"][..], &["ls"], &["golden", "pin"]] {
            let usual = help(&[&["karat", "help"], path].concat());
            let advanced = &usual[usual.find("Advanced:").unwrap()..];
            assert!(advanced.contains("--allow-network-fs") && advanced.contains("--allow-unsafe-postgres"), "{usual}");
        }
        for path in ["schema", "completions", "init", "rubrics"] {
            assert!(!help(&["karat", "help", path]).contains("Advanced:"), "{path}");
            let refused = crate::help::command().try_get_matches_from(["karat", path, "--allow-network-fs"]);
            assert!(refused.is_err_and(|error| error.kind() == clap::error::ErrorKind::UnknownArgument), "{path}");
        }
        for words in [["karat", "--allow-network-fs", "ls"], ["karat", "ls", "--allow-network-fs"]] {
            let matches = crate::help::command().try_get_matches_from(words).unwrap();
            let mut cli = crate::args::Cli::from_arg_matches(&matches).unwrap();
            cli.common.add_store_flags(&matches);
            assert!(cli.common.allow_network_fs && !cli.common.allow_unsafe_postgres);
        }
    }
}
