//! Hints for usage errors: flags that other tools call otherwise, and wrong values that come from a variable.

use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Flags of other tools or other commands, and what to use here.
const FLAGS: &[(&[&str], &str)] = &[
    (&["--epochs", "--repeat", "--repeats", "--num-repeats"], "use `--trials N` of `karat run` to repeat each cell"),
    (&["--grader", "--graders", "--judge-model"], "use `--judges ID` of `karat run` to choose judges"),
    (&["--provider", "--providers"], "use `--models ID` of `karat run` to choose models"),
    (
        &["--max-connections", "--num-threads", "--num-workers"],
        "use `--max-concurrency N` to limit the calls in flight",
    ),
    (&["--num-samples", "--max-examples", "--filter-first-n"], "use `--limit N` to run the first samples only"),
    (
        &["--models", "--tier", "--variants", "--sweep"],
        "models and variants are chosen by `karat run`; this command uses those of the suite or the run",
    ),
    (&["--tag", "--tags"], "runs have no tags; use `--run-id NAME` to name a run"),
];

/// Commands of other tools, and what to use here.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["test", "evaluate", "exec", "start", "benchmark"], "use `karat run`"),
    (&["diff", "compare-runs"], "use `karat compare`"),
    (
        &["logs", "log", "results", "result", "errors"],
        "use `karat show` for the cells of a run, `karat trace` for the calls of one",
    ),
    (&["cost", "costs", "price", "spend", "usage"], "use `karat plan` before a run, and `karat report` after it"),
    (&["runs", "history"], "use `karat ls`"),
    (&["check", "lint"], "use `karat validate`"),
    (
        &["metrics", "metric", "scorers"],
        "a suite names metrics under `scorers`; `karat validate` lists them for an unknown one",
    ),
    (&["dashboard", "ui", "web"], "use `karat view` for one run, `karat serve` for all"),
    (&["new", "create"], "use `karat init`"),
    (&["delete", "rm", "remove", "clean", "prune"], "use `karat cache prune`"),
];

/// Adds a hint to a usage error where one is known.
pub fn explain(error: clap::Error, command: &Command, variable: impl Fn(&str) -> Option<String>) -> clap::Error {
    let hint = match error.kind() {
        ErrorKind::UnknownArgument => text(&error, ContextKind::InvalidArg).and_then(foreign).map(str::to_owned),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => source(&error, command, variable),
        ErrorKind::InvalidSubcommand => nearest_command(&error, command),
        _ => None,
    };
    let Some(hint) = hint else { return error };
    let mut error = error;
    // Suggestion and usage are those of the flag or command with the nearest spelling.
    error.remove(ContextKind::SuggestedArg);
    error.remove(ContextKind::SuggestedSubcommand);
    error.remove(ContextKind::Usage);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(hint)]));
    error
}

/// Suggests a command for a misspelt one. Clap itself overlooks two letters in the wrong order, as in `rnu`.
fn nearest_command(error: &clap::Error, command: &Command) -> Option<String> {
    let given = text(error, ContextKind::InvalidSubcommand)?;
    let of_others = || COMMANDS.iter().find(|(theirs, _)| theirs.contains(&given)).map(|(_, ours)| (*ours).to_owned());
    let top: Vec<&str> = command.get_subcommands().flat_map(Command::get_name_and_visible_aliases).collect();
    // `Usage: karat [OPTIONS] <COMMAND>`; of a command below another one, `Usage: karat golden <COMMAND>`.
    let usage = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        _ => String::new(),
    };
    let parent = usage.split_whitespace().nth(2).and_then(|name| command.find_subcommand(name));
    let below = |parent: &Command| {
        let names: Vec<&str> = parent.get_subcommands().flat_map(Command::get_name_and_visible_aliases).collect();
        karat_app::nearest(given, names).map(|near| format!("{} {near}", parent.get_name()))
    };
    let near = || karat_app::nearest(given, top.iter().copied()).map(str::to_owned);
    let near = match parent {
        Some(parent) => below(parent),
        None => match of_others() {
            Some(ours) => return Some(ours),
            None => near().or_else(|| command.get_subcommands().find_map(below)),
        },
    };
    near.map(|near| format!("did you mean `{near}`?"))
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}

fn foreign(flag: &str) -> Option<&'static str> {
    FLAGS.iter().find(|(theirs, _)| theirs.contains(&flag)).map(|(_, ours)| *ours)
}

/// Names the variable that a wrong value comes from.
fn source(error: &clap::Error, command: &Command, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let (arg, value) = (text(error, ContextKind::InvalidArg)?, text(error, ContextKind::InvalidValue)?);
    let flag = arg.split([' ', '=']).next()?.trim_start_matches("--");
    let names = variables(command, flag);
    let name = names.iter().find(|name| variable(name).is_some_and(|set| set.contains(value)))?;
    Some(format!("the value comes from the variable {name}; change it or unset it"))
}

/// Returns the variables of a flag, in any command.
fn variables(command: &Command, flag: &str) -> Vec<String> {
    let own = command.get_arguments().filter(|arg| arg.get_long() == Some(flag));
    let own = own.filter_map(|arg| Some(arg.get_env()?.to_str()?.to_owned()));
    own.chain(command.get_subcommands().flat_map(|sub| variables(sub, flag))).collect()
}
