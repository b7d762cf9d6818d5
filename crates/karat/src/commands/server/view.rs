//! `karat view`: the dashboard on this machine.

use std::net::{Ipv4Addr, SocketAddr};

use karat_app::Stop;
use karat_server::{Purpose, QueueLimits, Server, Settings, Target};
use karat_types::Exit;

use crate::args::ViewArgs;
use crate::commands::CommandContext;
use crate::commands::server::serve::{loopback, warn_of_open_loopback};
use crate::failure::Failure;
use crate::signals;

pub fn view(context: &CommandContext<'_>, args: &ViewArgs) -> Result<Exit, Failure> {
    let app = &context.app;
    let target = target(context, args)?;
    let settings = Settings {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, args.port)),
        hosts: Vec::new(),
        purpose: Purpose::View { style: args.style },
        queue: QueueLimits::default(),
        log: None,
        notes: None,
        schedules: Vec::new(),
        public_url: None,
        metrics_open: false,
        loopback: loopback(args.open_loopback),
    };
    let server = Server::bind(app.clone(), settings)?;
    warn_of_open_loopback(context.printer, &server);
    let url = server.url(&target);
    let stop = Stop::new();
    signals::stop_on_signal(stop.clone());
    context.printer.data(&url)?;
    if !args.no_open && has_browser(context) && opener::open_browser(&url).is_err() {
        context.printer.say("no browser could be started: open the address in one");
    }
    server.serve(&stop)?;
    Ok(Exit::Pass)
}

/// Returns the page to open. A run that is not there is an error here and not only in the browser.
fn target(context: &CommandContext<'_>, args: &ViewArgs) -> Result<Target, Failure> {
    let ids = args.runs.iter().map(|run| context.app.stored().run_id(run)).collect::<Result<Vec<_>, _>>()?;
    Ok(match ids.as_slice() {
        _ if args.style => Target::Style,
        [run] => Target::Run(run.clone()),
        [a, b, ..] => Target::Comparison(a.clone(), b.clone()),
        [] => Target::Runs,
    })
}

/// Returns whether a browser can be expected to open: not in CI, and only with a display.
fn has_browser(context: &CommandContext<'_>) -> bool {
    let is_set = |name: &str| (context.app.lookup)(name).is_some();
    let has_display = cfg!(any(windows, target_os = "macos")) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
    has_display && !is_set("CI")
}
