//! The command that runs the suite of a stored run again, as a new run (C7).

use std::fmt::Display;

use karat_types::{PlanHeader, RunHeader, Shard, ShardRows};

use crate::error::{Names, RunError};
use crate::stored::invocation::{StoredInvocation, read_stored_invocation};
use crate::{AppError, Invocation};

/// The command that starts a new run like a stored one. It leaves out `--no-cache`, so that finished cells are reused.
pub(crate) fn run_command(header: &RunHeader) -> String {
    let Ok(StoredInvocation { invocation, score_of, .. }) = read_stored_invocation(header) else {
        return "karat run SUITE".to_owned();
    };
    if let Some(source) = score_of {
        return format!("karat score {source}");
    }
    let command = match (&invocation.calibrating, invocation.overrides.golden_check) {
        (Some(_), _) => "calibrate",
        (None, true) => "golden check",
        (None, false) => "run",
    };
    let flags = if command == "run" { selection_flags(&invocation) } else { String::new() };
    format!("karat {command} {}{flags}", quote(&invocation.suite))
}

/// Refuses to resume a run with a different plan.
pub(crate) fn check_same_plan(stored: &RunHeader, now: &PlanHeader) -> Result<(), AppError> {
    if stored.plan.plan_hash == now.plan_hash {
        return Ok(());
    }
    let changes = Names::of(karat_suite::plan_changes(&stored.plan, now));
    Err(RunError::PlanChanged { run: stored.id.clone(), changes, command: run_command(stored) }.into())
}

/// Refuses to resume a shard as another part of its plan.
pub(crate) fn check_same_part(stored: &RunHeader, now: Option<ShardRows>) -> Result<(), AppError> {
    let now = now.map(|part| part.shard);
    if stored.shard() == now {
        return Ok(());
    }
    let name =
        |shard: Option<Shard>| shard.map_or_else(|| "the whole plan".to_owned(), |shard| format!("shard {shard}"));
    Err(RunError::OtherPart { run: stored.id.clone(), stored: name(stored.shard()), now: name(now) }.into())
}

/// The flags that select what is run, and those without which the run may be refused.
fn selection_flags(invocation: &Invocation) -> String {
    let overrides = &invocation.overrides;
    let mut flags = Flags::default();
    let pairs = |pairs: &[(String, String)]| -> Vec<String> {
        pairs.iter().map(|(name, value)| format!("{name}={value}")).collect()
    };
    flags.add_each("-p", &pairs(&overrides.params));
    flags.add_each("--set", &pairs(&overrides.set));
    flags.add_each("--sweep", &pairs(&overrides.sweep));
    flags.add_list("--models", &overrides.models);
    flags.add_list("--variants", &overrides.variants);
    flags.add_list("--judges", &overrides.judges);
    flags.add_each("--sample", &overrides.samples);
    flags.add_value("--limit", overrides.limit);
    flags.add_value("--as-of", overrides.as_of.as_deref());
    flags.add_value("--trials", overrides.trials);
    flags.add_value("--max-output-tokens", overrides.max_output_tokens);
    flags.add_value("--max-chunks", overrides.max_chunks);
    flags.add_value("--shard", overrides.shard);
    flags.add_value("--max-calls", overrides.max_calls);
    flags.add_value("--budget-usd", overrides.budget_usd);
    flags.add_switch("--yes", invocation.yes);
    flags.add_switch("--safe", overrides.safe);
    flags.0
}

#[derive(Default)]
struct Flags(String);

impl Flags {
    fn add_value(&mut self, flag: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.0 += &format!(" {flag} {}", quote(&value.to_string()));
        }
    }

    fn add_each(&mut self, flag: &str, values: &[String]) {
        values.iter().for_each(|value| self.add_value(flag, Some(value)));
    }

    fn add_list(&mut self, flag: &str, values: &[String]) {
        self.add_value(flag, (!values.is_empty()).then(|| values.join(",")));
    }

    fn add_switch(&mut self, flag: &str, is_set: bool) {
        if is_set {
            self.0 += &format!(" {flag}");
        }
    }
}

/// An argument for a shell, in quotes if it needs them.
fn quote(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c);
    match !argument.is_empty() && argument.chars().all(is_plain) {
        true => argument.to_owned(),
        false => format!("'{}'", argument.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Overrides;

    /// C7: the command names what the run was started with, and the shell gets each value as it was.
    #[test]
    fn a_command_repeats_the_selection() {
        let text = |value: &str| value.to_owned();
        let invocation = Invocation {
            suite: text("my suite.yaml"),
            overrides: Overrides {
                params: vec![(text("tone"), text("it's"))],
                models: vec![text("a"), text("b")],
                limit: Some(5),
                no_cache: true,
                ..Overrides::default()
            },
            yes: true,
            ..Invocation::default()
        };
        assert_eq!(selection_flags(&invocation), r" -p 'tone=it'\''s' --models a,b --limit 5 --yes");
        assert_eq!(quote(&invocation.suite), "'my suite.yaml'");
    }
}
