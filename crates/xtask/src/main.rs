//! Development commands: `cargo xtask COMMAND`.

use std::{env, io, path::Path, process::ExitCode};

mod aa;
mod bench;
mod circles;
mod generate;
mod measure;
mod reference;
mod rooms;
mod soak;
mod testing;
mod vectors;

const USAGE: &str = "usage: cargo xtask vectors DIR        check the statistics against the oracle vectors in DIR
       cargo xtask soak NAME [SIZE=N]…  run what the tests check in full size
       cargo xtask bench [full] [cells=10000] [rounds=3]  Karat beside the least client there is
       cargo xtask generate [--check]   write generated files, or check them";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["vectors", dir] => vectors::run(Path::new(dir), &mut io::stdout().lock()),
        ["soak", name, sizes @ ..] => soak::run(name, sizes, &mut io::stdout().lock()),
        ["bench", rest @ ..] => bench(rest),
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

fn bench(arguments: &[&str]) -> Result<bool, String> {
    let full = arguments.contains(&"full");
    let sizes: Vec<&str> = arguments.iter().copied().filter(|argument| *argument != "full").collect();
    let size = |key, default| soak::size(&sizes, key, default);
    bench::run(size("cells", 10_000)?, size("rounds", 3)?, full, &mut io::stdout().lock())
}

#[expect(clippy::print_stderr, reason = "the edge of a command-line program")]
fn complain(message: &str) {
    eprintln!("{message}");
}
