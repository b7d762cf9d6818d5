//! `karat serve`: the dashboard and the HTTP API, for several people or programs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use karat_app::Stop;
use karat_server::{Log, Loopback, Purpose, QueueLimits, Server, Settings, Target};
use karat_types::Exit;

use crate::args::{LogFormat, ServeArgs};
use crate::commands::CommandContext;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::signals;

/// Files that a server has open at most, apart from the calls of its runs.
const OPEN_FILES: usize = 2_048;

pub fn serve(context: CommandContext<'_>, args: ServeArgs) -> Result<Exit, Failure> {
    let CommandContext { mut app, printer, .. } = context;
    // The state stays where it is; suites, and what they write, are relative to the root.
    app.home = absolute(&app.home)?;
    if let Some(file) = app.store.file() {
        app.store = format!("sqlite:{}", absolute(file)?.display()).parse().map_err(message)?;
    }
    let root = |error| Failure::Message(format!("serving the folder {}: {error}", args.root.display()));
    app.opened = app.opened.at_root(&args.root).map_err(root)?;
    std::env::set_current_dir(&args.root).map_err(root)?;
    app.stored().prepare()?;
    let settings = Settings {
        listen: args.listen,
        hosts: args.host,
        purpose: Purpose::Serve { allow_commands: args.allow_commands },
        queue: QueueLimits { max_runs: args.max_runs as usize, ..QueueLimits::default() },
        log: (args.log == Some(LogFormat::Json)).then(|| json_log(*printer)),
        notes: Some(note_log(*printer)),
        schedules: args.schedule,
        public_url: args.public_url,
        metrics_open: args.metrics_open,
        loopback: loopback(args.open_loopback),
    };
    // Connections, streams, and the store.
    karat_app::raise_open_files(OPEN_FILES);
    let server = Server::bind(app, settings)?;
    warn_of_open_loopback(printer, &server);
    let stop = Stop::new();
    signals::stop_on_signal(stop.clone());
    printer.data(&server.url(&Target::Runs))?;
    server.serve(&stop)?;
    Ok(Exit::Pass)
}

/// The users who may ask from this machine while there are no tokens.
pub(super) fn loopback(is_open: bool) -> Loopback {
    if is_open { Loopback::Open } else { Loopback::SameUser }
}

/// Says that every user of the machine is let in.
pub(super) fn warn_of_open_loopback(printer: &Printer, server: &Server) {
    if server.settings().loopback == Loopback::Open {
        printer.say("`--open-loopback`: until the first token is made, every user of this machine may ask this server for everything");
    }
}

/// Writes each line of the log to stderr.
fn json_log(printer: Printer) -> Log {
    Log(Arc::new(move |line| printer.say_line(line)))
}

/// Writes lines for the operator to stderr.
fn note_log(printer: Printer) -> Log {
    Log(Arc::new(move |line| printer.say(line)))
}

pub(super) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(message)
}

fn message(error: impl std::fmt::Display) -> Failure {
    Failure::Message(error.to_string())
}
