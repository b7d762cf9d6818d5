//! `karat serve`: the dashboard and the HTTP API, for several people or programs.

use std::path::{Path, PathBuf};

use karat_app::{Session, Stop};
use karat_server::{Background, Purpose, Server, Settings, Target};
use karat_types::Exit;

use crate::args::ServeArgs;
use crate::commands::CommandContext;
use crate::failure::Failure;
use crate::signals;

pub fn serve(context: CommandContext<'_>, args: ServeArgs) -> Result<Exit, Failure> {
    let CommandContext { mut app, printer, .. } = context;
    // The state stays where it is; suites, and what they write, are relative to the root.
    app.home = absolute(&app.home)?;
    app.store = format!("sqlite:{}", absolute(app.store.path())?.display()).parse().map_err(message)?;
    let root = |error| Failure::Message(format!("serving the folder {}: {error}", args.root.display()));
    app.opened = Session::below(&args.root).map_err(root)?;
    std::env::set_current_dir(&args.root).map_err(root)?;
    let settings = Settings {
        listen: args.listen,
        hosts: args.host,
        purpose: Purpose::Serve { allow_commands: args.allow_commands },
    };
    let server = Server::bind(app.clone(), settings)?;
    let stop = Stop::new();
    signals::stop_on_signal(stop.clone());
    printer.data(&server.url(&Target::Runs))?;
    let log = *printer;
    let schedules = Background::start(&app, args.schedule, args.allow_commands, &stop, move |line| log.say(line));
    let schedules = schedules.map_err(message)?;
    let served = server.serve(&stop);
    // A server that failed stops its runs, too.
    stop.set();
    schedules.join();
    served?;
    Ok(Exit::Pass)
}

pub(super) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(message)
}

fn message(error: impl std::fmt::Display) -> Failure {
    Failure::Message(error.to_string())
}
