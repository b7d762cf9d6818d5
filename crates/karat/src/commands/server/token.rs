//! `karat token`: who may ask the server.

use karat_app::{NewToken, TokenLine};
use karat_types::Exit;

use crate::args::TokenCommand;
use crate::commands::CommandContext;
use crate::commands::invocation::parse_duration;
use crate::commands::table::table;
use crate::failure::Failure;

pub fn token(context: &CommandContext<'_>, command: &TokenCommand) -> Result<Exit, Failure> {
    match command {
        TokenCommand::Create { role, name, expires } => {
            let expires = parse_duration("--expires", expires.as_deref())?;
            print_new(context, &context.app.service().create_token(name, *role, expires)?)?;
        }
        TokenCommand::Ls { json: true } => context.print_json(&context.app.service().tokens()?)?,
        TokenCommand::Ls { json: false } => list(context)?,
        TokenCommand::Revoke { id } => {
            context.app.service().revoke_token(id)?;
            context.printer.say(&format!("token {id} is revoked"));
        }
        TokenCommand::Rotate { id, grace } => {
            let grace = parse_duration("--grace", Some(grace))?.unwrap_or_default();
            print_new(context, &context.app.service().rotate_token(id, grace)?)?;
        }
    }
    Ok(Exit::Pass)
}

/// Prints a new token: itself to stdout, for a pipe into a store of secrets, and everything else to stderr.
fn print_new(context: &CommandContext<'_>, token: &NewToken) -> Result<(), Failure> {
    if !context.quiet {
        context.printer.say(&format!("token {}: keep it now, it is not shown again", token.id));
    }
    context.printer.data(&token.text)
}

fn list(context: &CommandContext<'_>) -> Result<(), Failure> {
    let tokens = context.app.service().tokens()?;
    if tokens.is_empty() {
        context.printer.say("there is no token: the server is open on this machine, and nowhere else");
        return Ok(());
    }
    let never = |time: Option<String>| time.unwrap_or_else(|| "never".to_owned());
    let row = |token: TokenLine| {
        let TokenLine { id, name, role, status, created_at, expires_at, last_used_at } = token;
        vec![id, name, role, status.to_owned(), created_at, never(expires_at), never(last_used_at)]
    };
    let head = ["id", "name", "role", "status", "created", "expires", "last used"];
    context.printer.text(&table(context, &head, tokens.into_iter().map(row)))
}
