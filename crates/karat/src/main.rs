//! The `karat` program.
//!
//! - `args` parses the command line, `help` explains it, `environment` gives flags values from variables
//! - `commands` has a file for each command; it calls `karat_app` and prints the result
//! - `clock` is the clock of the process
//! - `printer`, `paint`, `progress` and `events` are the output; `signals` handles Ctrl-C
//! - `failure` turns an error into a message and an exit code
//! - `version` has the facts of this build

mod args;
mod clock;
mod commands;
mod environment;
mod events;
mod failure;
mod help;
mod paint;
mod printer;
mod progress;
mod signals;
mod version;

use std::process::ExitCode;

use clap::FromArgMatches;
use karat_types::Exit;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::printer::Printer;

/// A run allocates small strings by the million, and frees many of them in another thread. The system's allocator takes a
/// fifth of a run's time, this one a third of that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    signals::handle_file_size_limit();
    let printer = Printer::new();
    let environment = Environment::read();
    let cli = match parse(&environment) {
        Ok(cli) => cli,
        Err(Failure::Usage(error)) if shows_version(&error) && version::wants_details(std::env::args().skip(1)) => {
            return match printer.data(&version::details()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => fail(&printer, &failure),
            };
        }
        Err(failure) => return fail(&printer, &failure),
    };
    let gate_failed = cli.common.fail_exit_code;
    match commands::dispatch(cli, environment, &printer) {
        Ok(exit) if exit == Exit::GateFailed => ExitCode::from(gate_failed.unwrap_or(exit.code())),
        Ok(exit) => ExitCode::from(exit.code()),
        Err(failure) => fail(&printer, &failure),
    }
}

/// Clap stops at `--version`, so the flags after it are not parsed.
fn shows_version(error: &clap::Error) -> bool {
    error.kind() == clap::error::ErrorKind::DisplayVersion
}

fn parse(environment: &Environment) -> Result<args::Cli, Failure> {
    let command = environment.with_file_values(help::command());
    let explain = |error| help::explain(error, &command, |name| environment.get(name));
    let (command_line, command) = help::with_hidden_flags(std::env::args_os().collect(), command.clone());
    let matches = command.try_get_matches_from(command_line).map_err(|error| Failure::Usage(explain(error)))?;
    let mut cli = args::Cli::from_arg_matches(&matches).map_err(Failure::Usage)?;
    cli.common.add_store_flags(&matches);
    Ok(cli)
}

fn fail(printer: &Printer, failure: &Failure) -> ExitCode {
    printer.failure(failure);
    ExitCode::from(failure.exit().code())
}
