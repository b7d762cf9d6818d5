//! `karat schedule`: due times of suites, and the run of one of them.

use karat_app::{DueState, DueTime, FiringLine, ScheduleLine, due_times, parse_time};
use karat_types::{Exit, RunStatus};

use crate::args::{NextArgs, ScheduleCommand, ScheduleRunArgs};
use crate::commands::CommandContext;
use crate::commands::run_output::{execution, print_bill, print_stop};
use crate::commands::server::alert::print_delivered;
use crate::commands::table::table;
use crate::failure::Failure;

pub fn schedule(context: &CommandContext<'_>, command: ScheduleCommand) -> Result<Exit, Failure> {
    let app = &context.app;
    match command {
        ScheduleCommand::Next(args) => print_times(context, &args)?,
        ScheduleCommand::Ls { suite, json } => print_schedules(context, app.service().schedules(&suite)?, json)?,
        ScheduleCommand::History { suite, id, count, json } => {
            print_history(context, app.service().schedule_history(&suite, id.as_deref(), count)?, json)?;
        }
        ScheduleCommand::Pause(one) => {
            app.service().pause_schedule(&one.suite, &one.id, true)?;
            context.printer.say(&format!("schedule {} is paused: its due times are skipped", one.id));
        }
        ScheduleCommand::Resume(one) => {
            app.service().pause_schedule(&one.suite, &one.id, false)?;
            context.printer.say(&format!("schedule {} is followed again", one.id));
        }
        ScheduleCommand::Run(args) => return run(context, &args),
    }
    Ok(Exit::Pass)
}

fn print_times(context: &CommandContext<'_>, args: &NextArgs) -> Result<(), Failure> {
    let from = args.from.as_deref().map(|from| parse_time("--from", from)).transpose()?;
    let times = match (&args.suite, &args.id, &args.cron, &args.zone) {
        (Some(suite), Some(id), _, _) => context.app.service().next_of_schedule(suite, id, from, args.count)?,
        (_, _, Some(cron), Some(zone)) => {
            due_times(cron, zone, from.unwrap_or_else(|| context.app.clock.now()), args.count)?
        }
        _ => {
            let message = "name a suite and its schedule, or `--cron` and `--zone`".to_owned();
            return Err(Failure::Message(message));
        }
    };
    if args.json {
        return context.print_json(&times);
    }
    let row = |time: DueTime| vec![time.due, time.local];
    context.printer.text(&table(context, &["due", "local"], times.into_iter().map(row)))
}

fn print_schedules(context: &CommandContext<'_>, schedules: Vec<ScheduleLine>, json: bool) -> Result<(), Failure> {
    if json {
        return context.print_json(&schedules);
    }
    if schedules.is_empty() {
        context.printer.say("the suite has no schedule: add one under `schedules`");
        return Ok(());
    }
    let row = |line: ScheduleLine| {
        let next = line.next.unwrap_or_else(|| if line.paused_since.is_some() { "paused" } else { "never" }.to_owned());
        let last = line.last.map_or_else(|| "-".to_owned(), |last| format!("{} {}", last.due, last.state));
        vec![line.schedule, line.cron, line.zone, next, last]
    };
    context.printer.text(&table(context, &["schedule", "cron", "zone", "next", "last"], schedules.into_iter().map(row)))
}

fn print_history(context: &CommandContext<'_>, firings: Vec<FiringLine>, json: bool) -> Result<(), Failure> {
    if json {
        return context.print_json(&firings);
    }
    if firings.is_empty() {
        context.printer.say("nothing has been due yet");
        return Ok(());
    }
    let row = |it: FiringLine| vec![it.schedule, it.due, it.run, it.state, it.note];
    context.printer.text(&table(context, &["schedule", "due", "run", "state", "note"], firings.into_iter().map(row)))
}

/// Runs a due time in the foreground. One that ran before is not run again: its exit code is that of its run.
fn run(context: &CommandContext<'_>, args: &ScheduleRunArgs) -> Result<Exit, Failure> {
    let app = &context.app;
    let due = args.due.as_deref().map(|due| parse_time("--due", due)).transpose()?;
    let due = app.service().due_run(&args.schedule.suite, &args.schedule.id, due)?;
    let run = &due.run;
    match app.service().claim_due_run(&due)? {
        DueState::Skipped(note) => {
            context.printer.say(&format!("{run} was skipped: {note}"));
            return Ok(Exit::Pass);
        }
        DueState::Ended => context.printer.say(&format!("{run} ran before: nothing is run again")),
        DueState::Unfinished => context.printer.say(&format!("{run} goes on")),
        DueState::New => {}
    }
    let ended = app.service().run_due(&due, execution(context, false, args.progress))?;
    if let Some(end) = &ended.end {
        print_bill(context, end);
        if let Some(summary) = &ended.summary {
            context.printer.summary(summary)?;
        }
        if end.status != RunStatus::Finished || end.overspent.is_some() {
            print_stop(context, end);
        }
    }
    context.print_warnings(&ended.alerted.problems);
    ended.alerted.messages.iter().for_each(|line| context.printer.say(line));
    print_delivered(context, &app.service().deliver_now()?);
    match ended.failure {
        Some(error) => Err(error.into()),
        None => Ok(ended.exit),
    }
}
