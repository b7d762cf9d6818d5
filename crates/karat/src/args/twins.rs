//! Twins in the environment, which every flag has.
//!
//! Where commands mean the same by a flag it names its variable itself (`KARAT_JUDGES`). Any other flag has one of its
//! command's own, after both: `karat drift --method` is `KARAT_DRIFT_METHOD`, so that a variable that is set for one
//! command never means something else to another.

use clap::{Arg, ArgAction, Command};

/// The tree of commands, in which each flag has its twin.
pub fn given(command: Command) -> Command {
    below("KARAT", command)
}

fn below(prefix: &str, command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let command = command.mut_args(|arg| twinned(prefix, arg));
    names.into_iter().fold(command, |command, name| {
        let prefix = format!("{prefix}_{}", shouted(&name));
        command.mut_subcommand(name, |sub| below(&prefix, sub))
    })
}

/// A flag with its variable. A switch is told yes or no by it; of a flag with a value, a negative number is a value.
fn twinned(prefix: &str, arg: Arg) -> Arg {
    let Some(flag) = arg.get_long().map(shouted) else { return arg };
    let arg = if arg.get_env().is_some() { arg } else { arg.env(format!("{prefix}_{flag}")) };
    match arg.get_action() {
        ArgAction::SetTrue => {
            let variable = arg.get_env().unwrap_or_default().to_string_lossy().into_owned();
            arg.value_parser(move |text: &str| yes_or_no(&variable, text))
        }
        action if action.takes_values() => arg.allow_negative_numbers(true),
        _ => arg,
    }
}

/// What a variable says to a switch.
fn yes_or_no(variable: &str, text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "y" | "on" | "t" => Ok(true),
        "0" | "false" | "no" | "n" | "off" | "f" => Ok(false),
        _ => Err(format!("`{variable}` switches something on or off. Set it to 1 or 0, or unset it")),
    }
}

fn shouted(name: &str) -> String {
    name.replace('-', "_").to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The flags of all commands: command, flag.
    fn flags(path: &str, command: &Command) -> Vec<(String, Arg)> {
        let own = command.get_arguments().filter(|arg| arg.get_long().is_some());
        let own = own.map(|arg| (path.to_owned(), arg.clone()));
        let below = command.get_subcommands().flat_map(|sub| flags(&format!("{path} {}", sub.get_name()), sub));
        own.chain(below).collect()
    }

    fn all() -> Vec<(String, Arg)> {
        flags("karat", &crate::args::command())
    }

    fn variable(arg: &Arg) -> String {
        arg.get_env().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// contract: every flag has a `KARAT_*` twin in the environment.
    #[test]
    fn every_flag_has_its_twin() {
        let flags = all();
        assert!(flags.len() > 150, "{}", flags.len());
        for (command, arg) in &flags {
            assert!(variable(arg).starts_with("KARAT_"), "{command} --{}", arg.get_long().unwrap());
        }
        let of = |command: &str, flag: &str| {
            let found = flags.iter().find(|(path, arg)| path == command && arg.get_long() == Some(flag));
            variable(&found.unwrap().1)
        };
        assert_eq!(of("karat drift", "replay"), "KARAT_DRIFT_REPLAY");
        assert_eq!(of("karat run", "replay"), "KARAT_REPLAY");
        assert_eq!(of("karat golden pin", "clean"), "KARAT_GOLDEN_PIN_CLEAN");
        // A variable that chooses days and rows makes no digest of the report of a run.
        assert_eq!(
            [of("karat digest", "window"), of("karat report", "window")],
            ["KARAT_WINDOW", "KARAT_REPORT_WINDOW"]
        );
        assert_eq!([of("karat show", "judge"), of("karat report", "judge")], ["KARAT_JUDGE", "KARAT_REPORT_JUDGE"]);
        assert_eq!([of("karat plan", "json"), of("karat run", "json")], ["KARAT_JSON", "KARAT_JSON"]);
    }

    /// contract: a variable means one thing, whatever command reads it.
    #[test]
    fn a_variable_belongs_to_one_flag() {
        let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (_, arg) in all() {
            let flags = named.entry(variable(&arg)).or_default();
            let flag = format!("--{} {:?}", arg.get_long().unwrap(), arg.get_action());
            if !flags.contains(&flag) {
                flags.push(flag);
            }
        }
        let shared: Vec<_> = named.iter().filter(|(_, flags)| flags.len() > 1).collect();
        assert!(shared.is_empty(), "{shared:?}");
    }

    #[test]
    fn nonsense_is_neither_yes_nor_no() {
        assert_eq!([yes_or_no("KARAT_YES", "1"), yes_or_no("KARAT_YES", " Off ")], [Ok(true), Ok(false)]);
        assert!(yes_or_no("KARAT_YES", "maybe").unwrap_err().contains("KARAT_YES"));
    }
}
