//! `karat store`: the store itself.

use karat_types::Exit;

use crate::args::StoreCommand;
use crate::commands::CommandContext;
use crate::commands::context::parse_store;
use crate::failure::Failure;

pub fn store(context: &CommandContext<'_>, command: &StoreCommand) -> Result<Exit, Failure> {
    match command {
        StoreCommand::Check { json } => return check(context, *json),
        StoreCommand::Backup { file } => {
            context.app.stored().back_up(file)?;
            context.printer.say(&format!("the store was copied to {}", file.display()));
        }
        StoreCommand::Copy { from, to } => {
            let (from, to) = (parse_store(from)?, parse_store(to)?);
            let rows = context.app.stored().copy(&from, &to)?;
            context.printer.say(&format!("{rows} rows were copied from {from} to {to}"));
        }
        StoreCommand::Restore { file } => {
            context.app.stored().restore(file)?;
            let store = context.app.store.path().display();
            context.printer.say(&format!("the store {store} was made from {}", file.display()));
        }
    }
    Ok(Exit::Pass)
}

fn check(context: &CommandContext<'_>, json: bool) -> Result<Exit, Failure> {
    let checked = context.app.stored().check()?;
    match json {
        true => context.print_json(&checked.json())?,
        false => context.printer.data(&checked.text())?,
    }
    Ok(if checked.is_sound() { Exit::Pass } else { Exit::HarnessError })
}
