//! What other tools or commands call the flags of `karat run`: somebody who types one is told ours, and not the nearest
//! spelling.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// A flag of other tools or commands, and what to do here.
const FLAGS: &[(&[&str], &str)] = &[
    (&["--epochs", "--repeat", "--repeats", "--num-repeats"], "`karat run` repeats cells with `--trials N`"),
    (&["--grader", "--graders", "--judge-model"], "`karat run` takes judges with `--judges ID`"),
    (&["--provider", "--providers"], "`karat run` takes models with `--models ID`"),
    (&["--max-connections", "--num-threads", "--num-workers"], "calls at a time are `--max-concurrency N`"),
    (&["--num-samples", "--max-examples", "--filter-first-n"], "the first samples alone are `--limit N`"),
    (
        &["--models", "--tier", "--variants", "--sweep"],
        "these choose what makes outputs, and this command makes none but what is planned: they are flags of `karat run`",
    ),
    (&["--tag", "--tags"], "runs have no tags; `--run-id NAME` names one"),
];

/// A usage error that knows the flags of others.
pub fn explained(mut error: clap::Error) -> clap::Error {
    let Some(hint) = unknown(&error).and_then(hint) else { return error };
    error.remove(ContextKind::SuggestedArg);
    // It is that of the nearest spelling.
    error.remove(ContextKind::Usage);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(hint)]));
    error
}

/// The flag that no command here has.
fn unknown(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(flag)) if error.kind() == ErrorKind::UnknownArgument => Some(flag),
        _ => None,
    }
}

fn hint(flag: &str) -> Option<&'static str> {
    FLAGS.iter().find(|(theirs, _)| theirs.contains(&flag)).map(|(_, ours)| *ours)
}
