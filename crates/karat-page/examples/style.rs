//! Writes the style page: `cargo run -p karat-page --example style -- OUT.html`.

#![allow(clippy::print_stderr, reason = "a program for developers says why it failed")]

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("name the file to write: cargo run -p karat-page --example style -- OUT.html");
        return ExitCode::from(2);
    };
    match std::fs::write(&path, karat_page::style_page().to_file()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("writing {}: {error}", path.display());
            ExitCode::FAILURE
        }
    }
}
