//! Development commands: `cargo xtask COMMAND`.

use std::{env, io, path::Path, process::ExitCode};

mod aa;
mod generate;
mod rooms;
mod soak;
mod testing;
mod vectors;

const USAGE: &str = "usage: cargo xtask vectors DIR    check the statistics against the oracle vectors in DIR";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["vectors", dir] => vectors::run(Path::new(dir), &mut io::stdout().lock()),
        ["soak", name, sizes @ ..] => soak::run(name, sizes, &mut io::stdout().lock()),
        ["generate"] => generate::run(Path::new("."), false, &mut io::stdout().lock()),
        ["generate", "--check"] => generate::run(Path::new("."), true, &mut io::stdout().lock()),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            complain(&message);
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stderr, reason = "the edge of a command-line program")]
fn complain(message: &str) {
    eprintln!("{message}");
}
