//! `karat alert`: incidents, and the messages about them.

use karat_app::{Delivered, IncidentLine, MessageLine, count_noun};
use karat_types::Exit;

use crate::args::AlertCommand;
use crate::commands::CommandContext;
use crate::commands::table::table;
use crate::failure::Failure;

pub fn alert(context: &CommandContext<'_>, command: &AlertCommand) -> Result<Exit, Failure> {
    let app = &context.app;
    match command {
        AlertCommand::Ls { outbox: true, json, .. } => print_messages(context, app.service().outbox(None)?, *json)?,
        AlertCommand::Ls { state, json, .. } => {
            print_incidents(context, app.service().incidents(state.map(|state| state.as_str()))?, *json)?;
        }
        AlertCommand::Test { suite, id } => {
            return match app.service().test_alert(suite, id)? {
                Ok(()) => {
                    context.printer.say(&format!("alert {id}: the test message was delivered"));
                    Ok(Exit::Pass)
                }
                Err(problem) => Err(Failure::Message(format!("sending a test message by the alert {id}: {problem}"))),
            };
        }
        AlertCommand::Flush => {
            let delivered = app.service().deliver_now()?;
            print_delivered(context, &delivered);
            if delivered.pending == 0 && delivered.sent == 0 && delivered.dead == 0 {
                context.printer.say("there is nothing to send");
            }
            return Ok(if delivered.failures.is_empty() { Exit::Pass } else { Exit::HarnessError });
        }
        AlertCommand::Ack { id } => {
            app.service().ack_incident(id)?;
            context.printer.say(&format!("incident {id}: no more reminders"));
        }
        AlertCommand::Close { id } => {
            app.service().close_alert_incident(id)?;
            context.printer.say(&format!("incident {id} is closed"));
        }
        AlertCommand::Retry { id } => {
            app.service().retry_message(id)?;
            context.printer.say(&format!("message {id} is due again: `karat alert flush` sends it"));
        }
    }
    Ok(Exit::Pass)
}

/// Prints the result of sending messages.
pub fn print_delivered(context: &CommandContext<'_>, delivered: &Delivered) {
    context.print_warnings(&delivered.failures);
    if delivered.sent > 0 && !context.quiet {
        context.printer.say(&format!("{} sent", count_noun(delivered.sent, "message")));
    }
    if delivered.dead > 0 {
        let dead = count_noun(delivered.dead, "message");
        context.print_warnings([format!("{dead} given up: `karat alert ls --outbox` says why")]);
    }
    if delivered.pending > 0 {
        let pending = count_noun(delivered.pending, "message");
        context.printer.say(&format!("{pending} to be sent later: `karat alert flush` or `karat serve` does it"));
    }
}

fn print_incidents(context: &CommandContext<'_>, incidents: Vec<IncidentLine>, json: bool) -> Result<(), Failure> {
    if json {
        return context.print_json(&incidents);
    }
    if incidents.is_empty() {
        context.printer.say("there is no incident");
        return Ok(());
    }
    let row = |it: IncidentLine| {
        let system = it.system.unwrap_or_else(|| "-".to_owned());
        let opened = it.opened_at.unwrap_or_default();
        vec![it.id, it.state, it.suite, it.alert, it.event, system, it.subject, opened]
    };
    let head = ["id", "state", "suite", "alert", "event", "system", "subject", "opened"];
    context.printer.text(&table(context, &head, incidents.into_iter().map(row)))
}

fn print_messages(context: &CommandContext<'_>, messages: Vec<MessageLine>, json: bool) -> Result<(), Failure> {
    if json {
        return context.print_json(&messages);
    }
    if messages.is_empty() {
        context.printer.say("the outbox is empty");
        return Ok(());
    }
    let row = |it: MessageLine| {
        let next = it.next_at.filter(|_| it.state == "pending").unwrap_or_else(|| "-".to_owned());
        vec![it.id, it.state, it.suite, it.alert, it.attempts.to_string(), next, it.error]
    };
    let head = ["id", "state", "suite", "alert", "attempts", "next", "last failure"];
    context.printer.text(&table(context, &head, messages.into_iter().map(row)))
}
