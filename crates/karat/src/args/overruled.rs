//! Variables that the command line overrules: a variable says what is so when nobody says anything else.
//!
//! A flag on the command line silences the variables of the flags that it cannot stand beside: `--gate` that of
//! `--no-gate`, and a report on stdout that of events there.

use std::ffi::OsString;

use clap::builder::Resettable;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, Id};

/// Looks a variable of the environment up.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The tree of commands, in which the variables that these words overrule are read no more.
pub fn silenced(command: Command, words: impl IntoIterator<Item = OsString>, variable: Lookup<'_>) -> Command {
    let given = deaf(command.clone()).ignore_errors(true).try_get_matches_from(words);
    match given {
        Ok(given) => below(command, &given, variable),
        Err(_) => command,
    }
}

/// The same commands, which read no variable.
fn deaf(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let command = command.mut_args(|arg| arg.env(Resettable::Reset));
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, deaf))
}

fn below(command: Command, given: &ArgMatches, variable: Lookup<'_>) -> Command {
    let said: Vec<Id> = given.ids().filter(|id| is_said(given, id)).cloned().collect();
    let opposites = said.iter().flat_map(|id| opposites(&command, id)).chain(beside_stdout(given, variable));
    let quiet: Vec<Id> = opposites.filter(|id| !said.contains(id)).collect();
    let command = command.mut_args(|arg| if quiet.contains(arg.get_id()) { arg.env(Resettable::Reset) } else { arg });
    match given.subcommand() {
        Some((name, given)) => command.mut_subcommand(name, |sub| below(sub, given, variable)),
        None => command,
    }
}

/// What would write to stdout, too: the report beside events that were asked for, events beside a report.
fn beside_stdout(given: &ArgMatches, variable: Lookup<'_>) -> Option<Id> {
    let is_report = |place: Option<String>| place.as_deref() == Some("-");
    let place = given.try_get_one::<String>("output_dir").ok().flatten().cloned();
    match given.try_get_one::<bool>("json") {
        Ok(Some(true)) if is_report(variable("KARAT_OUTPUT_DIR")) => Some("output_dir".into()),
        Ok(Some(false)) if is_report(place) => Some("json".into()),
        _ => None,
    }
}

fn is_said(given: &ArgMatches, id: &Id) -> bool {
    given.value_source(id.as_str()) == Some(ValueSource::CommandLine)
}

/// The flags that one cannot stand beside, whichever of them says so.
fn opposites(command: &Command, id: &Id) -> Vec<Id> {
    let Some(own) = command.get_arguments().find(|arg| arg.get_id() == id) else { return Vec::new() };
    let excludes = |one, other: &Id| command.get_arg_conflicts_with(one).iter().any(|arg| arg.get_id() == other);
    let all = command.get_arguments().filter(|other| other.get_id() != id);
    all.filter(|other| excludes(own, other.get_id()) || excludes(other, id))
        .map(|other| other.get_id().clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a flag of a command still reads its variable after some words, where reports go to stdout.
    fn reads(words: &[&str], flag: &str) -> bool {
        let words: Vec<OsString> = std::iter::once("karat").chain(words.iter().copied()).map(OsString::from).collect();
        let stdout = |name: &str| (name == "KARAT_OUTPUT_DIR").then(|| "-".to_owned());
        let command = silenced(crate::args::command(), words.clone(), &stdout);
        let name = words[1].to_string_lossy().into_owned();
        let sub = command.find_subcommand(&name).unwrap();
        sub.get_arguments().find(|arg| arg.get_long() == Some(flag)).unwrap().get_env().is_some()
    }

    /// contract: the command line wins over the environment, also over what a variable's opposite says.
    #[test]
    fn a_flag_silences_the_variable_of_its_opposite() {
        assert!(reads(&["run"], "no-gate") && reads(&["run"], "gate"));
        assert!(!reads(&["run", "--gate"], "no-gate") && !reads(&["run", "--no-gate"], "gate"));
        assert!(reads(&["run", "--gate"], "gate") && reads(&["run", "--gate"], "json"));
        assert!(!reads(&["run", "--replay", "f"], "record") && !reads(&["run", "--record", "f"], "replay"));
        // Words that are no command line are for the parser to complain of.
        assert!(reads(&["run", "--nonsense"], "gate"));
    }

    /// contract: the command line wins over the environment, also where both want stdout.
    #[test]
    fn stdout_is_for_what_the_command_line_says() {
        assert!(reads(&["run"], "json") && reads(&["run"], "output-dir"));
        assert!(!reads(&["run", "-o", "-"], "json") && reads(&["run", "-o", "out"], "json"));
        assert!(!reads(&["resume", "--json"], "output-dir") && !reads(&["resume", "--output", "-"], "json"));
        assert!(reads(&["run", "--json", "-o", "-"], "json"));
    }
}
