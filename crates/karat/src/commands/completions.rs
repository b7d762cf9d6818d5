//! `karat completions`.

use clap::CommandFactory;
use karat_types::Exit;

use super::Edge;
use crate::args::{Cli, CompletionsArgs};
use crate::failure::Failure;

pub fn completions(edge: &Edge<'_>, args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "karat", &mut script);
    edge.printer.data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Pass)
}
