//! The reference of commands and variables as Markdown: `karat schema commands` and `karat schema environment`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::{Arg, Command};

use super::{examples, groups};
use crate::args::ADVANCED;

/// Heading of flags without one.
const OPTIONS: &str = "Options";

/// Variables that are read, but belong to no flag.
const OTHER_VARIABLES: &[(&str, &str)] = &[
    ("NO_COLOR", "Print no colour"),
    ("CLICOLOR_FORCE", "Print colour even if the output is not a terminal"),
    ("HTTPS_PROXY", "Proxy for calls to providers"),
    ("OPENAI_API_KEY, ANTHROPIC_API_KEY, …", "Keys of providers; `karat doctor` lists them"),
];

/// Returns the reference of all commands.
pub fn commands() -> String {
    let mut root = crate::help::command();
    root.build();
    let mut text = String::from("# Commands\n\nGenerated from the command line; do not edit.\n");
    for (heading, names) in groups::GROUPS {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n## {heading}\n");
        for sub in names.iter().filter_map(|name| root.find_subcommand(name)) {
            command(&mut text, "", sub);
        }
    }
    text.push_str("\n## Options of every command\n");
    let global: Vec<&Arg> = root.get_arguments().filter(|arg| arg.is_global_set()).collect();
    table(&mut text, "Option", &global);
    text.push_str("\n## Options of every command that opens a store\n");
    let is_advanced = |arg: &&Arg| arg.get_help_heading() == Some(ADVANCED);
    let advanced: Vec<&Arg> =
        root.find_subcommand("run").into_iter().flat_map(Command::get_arguments).filter(is_advanced).collect();
    table(&mut text, "Option", &advanced);
    text.push_str("\n`karat help --all` lists flags that are hidden, such as older names; `karat help run --all` those of a command.\n");
    text
}

/// Returns the reference of environment variables.
pub fn environment() -> String {
    let mut named = BTreeMap::new();
    collect(&mut named, &crate::help::command());
    let mut text = String::from(
        "# Environment variables\n\nGenerated from the command line; do not edit.\n\nA flag takes its value from the command \
         line, then from its variable in the environment, then from `.env.local`, then from `.env`. An empty variable counts \
         as unset. Lists are separated as on the command line.\n\n| Variable | Flag | Meaning |\n|---|---|---|\n",
    );
    for (name, (flag, about)) in named {
        let _ = writeln!(text, "| `{name}` | {flag} | {about} |");
    }
    for (name, about) in OTHER_VARIABLES {
        let _ = writeln!(text, "| `{name}` |  | {about} |");
    }
    text
}

fn collect(named: &mut BTreeMap<String, (String, String)>, command: &Command) {
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
        if let Some(name) = arg.get_env().and_then(|name| name.to_str()) {
            named.entry(name.to_owned()).or_insert_with(|| (flag(arg), about(arg)));
        }
    }
    command.get_subcommands().for_each(|sub| collect(named, sub));
}

fn command(text: &mut String, parents: &str, command: &Command) {
    let path = format!("{parents} {}", command.get_name()).trim_start().to_owned();
    let title = if parents.is_empty() { "###" } else { "####" };
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let _ = write!(text, "\n{title} `karat {path}`\n\n{}.\n\n```text\n{usage}\n```\n", escape(&about));
    let aliases: Vec<String> = command.get_visible_aliases().map(|alias| format!("`karat {alias}`")).collect();
    if !aliases.is_empty() {
        let _ = write!(text, "\nAlso: {}.\n", aliases.join(", "));
    }
    let shown: Vec<&Arg> = command.get_arguments().filter(|arg| !arg.is_global_set() && !arg.is_hide_set()).collect();
    let positionals: Vec<&Arg> = shown.iter().copied().filter(|arg| arg.is_positional()).collect();
    table(text, "Argument", &positionals);
    let mut headings: Vec<&str> = Vec::new();
    let flags = shown.iter().copied().filter(|arg| !arg.is_positional() && arg.get_help_heading() != Some(ADVANCED));
    for arg in flags.clone() {
        let heading = arg.get_help_heading().unwrap_or(OPTIONS);
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for heading in headings {
        let under: Vec<&Arg> =
            flags.clone().filter(|arg| arg.get_help_heading().unwrap_or(OPTIONS) == heading).collect();
        table(text, heading, &under);
    }
    let examples = examples::of(&path);
    if !examples.is_empty() {
        text.push_str("\n```sh\n");
        for (line, about) in examples {
            let _ = writeln!(text, "# {about}\n{line}");
        }
        text.push_str("```\n");
    }
    command.get_subcommands().filter(|sub| sub.get_name() != "help").for_each(|sub| self::command(text, &path, sub));
}

fn table(text: &mut String, heading: &str, args: &[&Arg]) {
    if args.is_empty() {
        return;
    }
    let _ = write!(text, "\n| {heading} | Meaning | Variable |\n|---|---|---|\n");
    for arg in args {
        let variable = arg.get_env().map(|name| format!("`{}`", name.to_string_lossy())).unwrap_or_default();
        let _ = writeln!(text, "| {} | {} | {variable} |", flag(arg), about(arg));
    }
}

/// Returns a flag as it is written: `-o`, `--output-dir DIR`.
fn flag(arg: &Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default().join(" ");
    let Some(long) = arg.get_long() else {
        return format!("`{}`", if values.is_empty() { arg.get_id().to_string() } else { values });
    };
    let value = if arg.get_action().takes_values() { format!(" {values}") } else { String::new() };
    let long = format!("`--{long}{value}`").replace('|', "\\|");
    arg.get_short().map_or(long.clone(), |short| format!("`-{short}`, {long}"))
}

/// Returns the meaning of a flag with its values and its default.
fn about(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = escape(&help);
    let aliases: Vec<String> =
        arg.get_visible_aliases().unwrap_or_default().iter().map(|alias| format!("`--{alias}`")).collect();
    if !aliases.is_empty() {
        let _ = write!(text, ". Also {}", aliases.join(", "));
    }
    let values = arg.get_possible_values();
    let values: Vec<&str> = values.iter().filter(|value| !value.is_hide_set()).map(|value| value.get_name()).collect();
    if !values.is_empty() && arg.get_action().takes_values() {
        let _ = write!(text, ". One of {}", values.join(", "));
    }
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        let _ = write!(text, ". Default: {}", defaults.join(", "));
    }
    text
}

/// Returns a text as one line of a Markdown table.
fn escape(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = text.split('`').enumerate().map(|(at, part)| {
        // A brace or an angle outside of code would be read as HTML by some renderers.
        if at % 2 == 1 { part.replace('|', "\\|") } else { part.replace('<', "&lt;").replace('|', "\\|") }
    });
    parts.collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// Compares a page of the docs with its generator, or writes it where `KARAT_TEST_WRITE_DOCS` is set.
    fn check(name: &str, text: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
        #[expect(clippy::disallowed_methods, reason = "a test is told so by its environment")]
        if std::env::var_os("KARAT_TEST_WRITE_DOCS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
        }
        let page = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(page == text, "docs/reference/{name} is stale: KARAT_TEST_WRITE_DOCS=1 cargo test -p karat reference");
    }

    /// The pages of the docs are those that the command line generates.
    #[test]
    fn the_reference_is_current() {
        check("commands.md", &super::commands());
        check("environment.md", &super::environment());
    }

    /// contract: about 25 settings have a variable, and each is named in the reference.
    #[test]
    fn the_settings_for_ci_have_a_variable() {
        let page = super::environment();
        let rows = page.lines().filter(|line| line.starts_with("| `KARAT_")).count();
        assert!((20..=32).contains(&rows), "{rows}");
        for name in ["STORE", "HOME", "JUDGES", "BUDGET_USD", "MIN", "MAX_DROP", "BASELINE", "AS_OF", "RUN_ID"] {
            assert!(page.contains(&format!("`KARAT_{name}`")), "{name}");
        }
    }
}
