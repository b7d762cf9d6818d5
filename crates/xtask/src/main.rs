//! Development commands: `cargo xtask COMMAND`.

use std::{env, io, path::Path, process::ExitCode};

mod checks;
mod dist;
mod generate;
mod measure;
mod reference;
mod scaffold;
mod site;
mod vectors;

const USAGE: &str = "usage: cargo xtask vectors DIR        check the statistics against the oracle vectors in DIR
       cargo xtask soak NAME [SIZE=N]…  run a test scenario at full size
       cargo xtask bench [full] [cells=10000] [rounds=3]  measure Karat against the smallest possible client
       cargo xtask bench postgres [cells=10000] [rounds=3]  measure a store in PostgreSQL against one in a file
       cargo xtask bench shards [cells=8000] [merged=1000000]  measure two shards against one process, and a merge
       cargo xtask generate [--check]   write generated files, or check that they are current
       cargo xtask dist [--target TRIPLE] [--out DIR] [--profile NAME]  build the files of a release
       cargo xtask dist --check         build them twice, compare them, and run what is in them
       cargo xtask dist --collect DIR   join the files of all targets
       cargo xtask requirements         check that every requirement has a test
       cargo xtask site [--check]       build the documentation with real reports in target/book, and check every link
       cargo xtask scaffold KIND NAME   list the files to touch for a metric, provider, format, analysis, endpoint or page
       cargo xtask circles              list modules that depend on each other in a cycle
       cargo xtask size                 count lines of code and files by crate
       cargo xtask language [--check]   measure names, doc comments and folders; fail above the limits";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["vectors", dir] => vectors::run(Path::new(dir), &mut io::stdout().lock()),
        ["soak", name, sizes @ ..] => measure::soak::run(name, sizes, &mut io::stdout().lock()),
        ["bench", "postgres", sizes @ ..] => bench_postgres(sizes),
        ["bench", "shards", sizes @ ..] => bench_shards(sizes),
        ["bench", rest @ ..] => bench(rest),
        ["generate"] => generate::run(Path::new("."), false, &mut io::stdout().lock()),
        ["generate", "--check"] => generate::run(Path::new("."), true, &mut io::stdout().lock()),
        ["dist", options @ ..] => dist::run(Path::new("."), options, &mut io::stdout().lock()),
        ["requirements"] => checks::requirements::run(Path::new("."), &mut io::stdout().lock()),
        ["site"] => site::run(Path::new("."), true, &mut io::stdout().lock()),
        ["site", "--check"] => site::run(Path::new("."), false, &mut io::stdout().lock()),
        ["scaffold", kind, name] => scaffold::run(Path::new("."), kind, name, &mut io::stdout().lock()),
        ["circles"] => checks::module_cycles::run(Path::new("."), &mut io::stdout().lock()),
        ["size"] => checks::size::run(Path::new("."), &mut io::stdout().lock()),
        ["language", rest @ ..] => {
            checks::plain_language::run(Path::new("."), rest.contains(&"--check"), &mut io::stdout().lock())
        }
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            print_error(&message);
            ExitCode::from(2)
        }
    }
}

fn bench_shards(sizes: &[&str]) -> Result<bool, String> {
    let size = |key, default| measure::soak::size(sizes, key, default);
    measure::shards::run(size("cells", 8_000)?, size("merged", 1_000_000)?, &mut io::stdout().lock())
}

fn bench(arguments: &[&str]) -> Result<bool, String> {
    let full = arguments.contains(&"full");
    let sizes: Vec<&str> = arguments.iter().copied().filter(|argument| *argument != "full").collect();
    let size = |key, default| measure::soak::size(&sizes, key, default);
    measure::bench::run(size("cells", 10_000)?, size("rounds", 3)?, full, &mut io::stdout().lock())
}

fn bench_postgres(sizes: &[&str]) -> Result<bool, String> {
    let size = |key, default| measure::soak::size(sizes, key, default);
    measure::postgres::run(size("cells", 10_000)?, size("rounds", 3)?, &mut io::stdout().lock())
}

#[expect(clippy::print_stderr, reason = "the edge of a command-line program")]
fn print_error(message: &str) {
    eprintln!("{message}");
}
