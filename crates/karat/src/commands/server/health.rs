//! `karat health`: whether a server works, as an exit code.

use karat_types::Exit;

use crate::args::HealthArgs;
use crate::commands::CommandContext;
use crate::failure::Failure;

pub fn health(context: &CommandContext<'_>, args: &HealthArgs) -> Result<Exit, Failure> {
    let says = |text: String| Failure::Message(format!("the server at {}: {text}", args.url));
    match context.app.service().ask_health(&args.url)? {
        Ok(200) => {
            context.printer.data("ok")?;
            Ok(Exit::Pass)
        }
        Ok(503) => Err(says("it is down; `/healthz` with a token says why".to_owned())),
        Ok(status) => Err(says(format!("it answers with status {status}: this is not a karat server"))),
        Err(problem) => Err(says(problem)),
    }
}
