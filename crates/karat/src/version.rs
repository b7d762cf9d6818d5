//! `karat --version --verbose`: facts of this build. Its script, `build.rs`, finds most of them.

use std::fmt::Write as _;

/// Returns true if arguments that ask for the version also ask for details: `--verbose`, `-v`, `-Vv`.
pub fn wants_details(mut arguments: impl Iterator<Item = String>) -> bool {
    let is_short = |argument: &str| argument.starts_with('-') && !argument.starts_with("--") && argument.contains('v');
    arguments.any(|argument| argument == "--verbose" || is_short(&argument))
}

/// Returns the version in one line, and a line for each fact.
pub fn details() -> String {
    let or_unknown = |fact: &'static str| if fact.is_empty() { "unknown" } else { fact };
    let facts = [
        ("commit", or_unknown(env!("KARAT_BUILD_COMMIT")).to_owned()),
        ("commit date", or_unknown(env!("KARAT_BUILD_COMMIT_DATE")).to_owned()),
        ("target", env!("KARAT_BUILD_TARGET").to_owned()),
        ("profile", env!("KARAT_BUILD_PROFILE").to_owned()),
        ("rustc", or_unknown(env!("KARAT_BUILD_RUSTC")).trim_start_matches("rustc ").to_owned()),
        ("store format", karat_app::store_format().to_string()),
        ("providers", karat_app::provider_names().join(", ")),
    ];
    let mut text = format!("karat {}", env!("CARGO_PKG_VERSION"));
    for (name, value) in facts {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n{:14}{value}", format!("{name}:"));
    }
    text
}
