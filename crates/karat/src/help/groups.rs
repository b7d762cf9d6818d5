//! The groups of commands in `karat --help`. Clap has no headings for subcommands, so the list is part of the template.

use std::fmt::Write as _;

use clap::Command;

/// Headings, and the commands under each in the order of the help.
pub const GROUPS: &[(&str, &[&str])] = &[
    ("Everyday", &["init", "validate", "plan", "run", "show", "trace", "view", "report", "compare"]),
    ("CI", &["ci", "gate", "baseline", "golden", "drift"]),
    ("Judges and people", &["rubrics", "calibrate", "agree", "annotate"]),
    ("Data", &["dataset", "import", "export"]),
    ("History", &["ls", "why", "digest", "resume", "cancel", "retry", "score", "merge"]),
    ("Service", &["serve", "health", "schedule", "alert", "mcp", "token", "traces"]),
    ("Housekeeping", &["models", "invalidate", "cache", "store", "doctor", "demo", "schema", "completions"]),
];

/// The first steps of a newcomer.
const START: &[(&str, &str)] = &[
    ("karat run faq", "Run an example: offline, with scripted models, for nothing"),
    ("karat view", "Look at its results in a browser"),
    ("karat init", "Write a suite of your own into this folder"),
];

/// The tutorial, of the version in the repository.
const TUTORIAL: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/start/tutorial.md");

/// Returns the tree with the groups in its help.
pub fn with_groups(command: Command) -> Command {
    let template = template(&command);
    command.help_template(template)
}

fn template(command: &Command) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let names = GROUPS.iter().flat_map(|(_, names)| names.iter());
    let width = names.map(|name| name.len()).max().unwrap_or_default();
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    let _ = writeln!(text, "\n{header}Start here:{header:#}");
    let longest = START.iter().map(|(line, _)| line.len()).max().unwrap_or_default();
    for (line, about) in START {
        let _ = writeln!(text, "  {literal}{line:<longest$}{literal:#}  {about}");
    }
    let _ = writeln!(text, "  Tutorial: {TUTORIAL}");
    for (heading, names) in GROUPS {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\n{header}{heading}:{header:#}");
        for sub in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let (name, about) = (sub.get_name(), sub.get_about().map(ToString::to_string).unwrap_or_default());
            let _ = writeln!(text, "  {literal}{name:<width$}{literal:#}  {about}");
        }
    }
    text + &format!(
        "\n`karat COMMAND --help` has examples and all flags.\n\n{header}Options:{header:#}\n{{options}}{{after-help}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The help lists each command exactly once.
    #[test]
    fn every_command_is_in_one_group() {
        let command = crate::help::command();
        let all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        for name in &all {
            assert_eq!(grouped.iter().filter(|it| it == &name).count(), 1, "{name}");
        }
        assert_eq!(grouped.len(), all.len());
    }

    /// F65: a newcomer finds the first commands and the tutorial at the top, and what reads results among the everyday ones.
    #[test]
    fn help_begins_with_the_first_steps() {
        let help = crate::help::command().render_help().to_string();
        let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("{text} is not in {help}"));
        assert!(at("Start here:") < at("karat run faq") && at("docs/start/tutorial.md") < at("Everyday:"));
        let everyday = &help[at("Everyday:")..at("\nCI:")];
        for command in ["  run ", "  show ", "  trace ", "  view "] {
            assert!(everyday.contains(command), "{command} is not in {everyday}");
        }
    }

    /// F65: the everyday flags of a run are those of every day.
    #[test]
    fn flags_of_a_run_stand_where_they_are_looked_for() {
        let mut command = crate::help::command();
        let help = command.find_subcommand_mut("run").unwrap().render_help().to_string();
        let heading = |flag: &str| {
            let before = &help[..help.find(flag).unwrap_or_else(|| panic!("{flag} is not in {help}"))];
            before.lines().rev().find(|line| line.ends_with(':') && !line.starts_with(' ')).unwrap().to_owned()
        };
        for flag in
            ["--models", "--variants", "--limit", "--sample", "-p, --param", "-j, --max-concurrency", "--budget-usd"]
        {
            assert_eq!(heading(flag), "Everyday options:", "{flag}");
        }
        for flag in ["--batch", "--detach", "--alert"] {
            assert_ne!(heading(flag), "Everyday options:", "{flag}");
        }
    }

    /// STYLE: everything reads well in 80 columns.
    #[test]
    fn the_groups_fit_80_columns() {
        let help = crate::help::command().render_help().to_string();
        let list = help.split("\nOptions:").next().unwrap();
        let list = &list[list.find("Start here:").unwrap()..];
        let wide: Vec<&str> = list.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{wide:?}");
        assert!(list.contains("\n  run "), "{list}");
    }
}
