//! The groups of commands in `karat --help`. Clap has no headings for subcommands, so the list is part of the template.

use std::fmt::Write as _;

use clap::Command;

/// Headings, and the commands under each in the order of the help.
pub const GROUPS: &[(&str, &[&str])] = &[
    ("Everyday", &["init", "validate", "plan", "run", "report", "compare"]),
    ("CI", &["ci", "gate", "baseline", "golden", "drift"]),
    ("Judges and people", &["rubrics", "calibrate", "agree", "annotate"]),
    ("Data", &["dataset", "import", "export"]),
    ("History", &["ls", "show", "why", "trace", "digest", "resume", "cancel", "retry", "score", "merge"]),
    ("Dashboard and service", &["view", "serve", "health", "schedule", "alert", "mcp", "token", "traces"]),
    ("Housekeeping", &["models", "invalidate", "cache", "store", "doctor", "demo", "schema", "completions"]),
];

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
    for (heading, names) in GROUPS {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\n{header}{heading}:{header:#}");
        for sub in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let (name, about) = (sub.get_name(), sub.get_about().map(ToString::to_string).unwrap_or_default());
            let _ = writeln!(text, "  {literal}{name:<width$}{literal:#}  {about}");
        }
    }
    text + &format!("\n{header}Options:{header:#}\n{{options}}{{after-help}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The help lists each command exactly once.
    #[test]
    fn every_command_is_in_one_group() {
        let command = crate::args::command();
        let all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        for name in &all {
            assert_eq!(grouped.iter().filter(|it| it == &name).count(), 1, "{name}");
        }
        assert_eq!(grouped.len(), all.len());
    }

    /// STYLE: everything reads well in 80 columns.
    #[test]
    fn the_groups_fit_80_columns() {
        let help = crate::args::command().render_help().to_string();
        let list = help.split("\nOptions:").next().unwrap();
        let list = &list[list.find("Everyday:").unwrap()..];
        let wide: Vec<&str> = list.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{wide:?}");
        assert!(list.contains("\n  run "), "{list}");
    }
}
