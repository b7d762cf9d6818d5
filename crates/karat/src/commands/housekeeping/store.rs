//! `karat store`: the store itself.

use karat_types::Exit;

use crate::args::StoreCommand;
use crate::commands::CommandContext;
use crate::failure::Failure;

pub fn store(context: &CommandContext<'_>, command: &StoreCommand) -> Result<Exit, Failure> {
    let StoreCommand::Check { json } = command;
    let checked = context.app.check_store()?;
    match json {
        true => context.print_json(&checked.json())?,
        false => context.printer.data(&checked.text())?,
    }
    Ok(if checked.is_sound() { Exit::Pass } else { Exit::HarnessError })
}
