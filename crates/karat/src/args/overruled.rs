//! Variables that the command line overrules: a variable says what is so when nobody says anything else.
//!
//! A flag on the command line silences the variables of the flags that it cannot stand beside (`--gate` that of
//! `--no-gate`). What makes another command of `karat report`, a digest of days, is only ever said by a flag; and what
//! `karat calibrate` has no use for is refused as a flag, and as a variable meant for other commands.

use std::ffi::OsString;

use clap::builder::Resettable;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, Id};

/// Flags that make a digest of `karat report`.
const OF_DAYS: [&str; 2] = ["as_of", "window"];

/// Flags that only a digest has a use for.
const OF_ROWS: [&str; 3] = ["judge", "prompt_version", "system"];

/// Flags that choose what a round of calibration has not.
const OF_OUTPUTS: [&str; 4] = ["models", "tier", "variants", "sweep"];

/// The tree of commands, in which the variables that these words overrule are read no more.
pub fn silenced(command: Command, words: impl IntoIterator<Item = OsString>) -> Command {
    let given = deaf(command.clone()).ignore_errors(true).try_get_matches_from(words);
    match given {
        Ok(given) => below(command, &given),
        Err(_) => command,
    }
}

/// The same commands, which read no variable.
fn deaf(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let command = command.mut_args(|arg| arg.env(Resettable::Reset));
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, deaf))
}

fn below(command: Command, given: &ArgMatches) -> Command {
    let said: Vec<Id> = given.ids().filter(|id| is_said(given, id)).cloned().collect();
    let is_of_days = said.iter().any(|id| OF_DAYS.contains(&id.as_str()));
    let unheard: Vec<&str> = match command.get_name() {
        "report" if !is_of_days => [&OF_DAYS[..], &OF_ROWS].concat(),
        "calibrate" => OF_OUTPUTS.to_vec(),
        _ => Vec::new(),
    };
    let opposites = said.iter().flat_map(|id| opposites(&command, id));
    let quiet: Vec<Id> = opposites.chain(unheard.into_iter().map(Id::from)).filter(|id| !said.contains(id)).collect();
    let command = command.mut_args(|arg| if quiet.contains(arg.get_id()) { arg.env(Resettable::Reset) } else { arg });
    match given.subcommand() {
        Some((name, given)) => command.mut_subcommand(name, |sub| below(sub, given)),
        None => command,
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

    /// Whether a flag of a command still reads its variable after some words.
    fn reads(words: &[&str], flag: &str) -> bool {
        let words: Vec<OsString> = std::iter::once("karat").chain(words.iter().copied()).map(OsString::from).collect();
        let command = silenced(crate::args::command(), words.clone());
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

    /// contract: `report` of a run is one whatever day the environment is about.
    #[test]
    fn only_a_flag_makes_a_digest_of_a_report() {
        for flag in ["as-of", "window", "judge"] {
            assert!(!reads(&["report", "r"], flag), "{flag}");
        }
        assert!(reads(&["report", "s", "--window", "7"], "as-of") && reads(&["report", "s", "--window", "7"], "judge"));
        assert!(reads(&["digest", "s"], "as-of"));
        assert!(!reads(&["calibrate"], "models") && reads(&["run"], "models"));
    }
}
