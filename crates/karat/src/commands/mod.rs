//! One file per command.

mod agree;
mod annotate;
mod cache;
mod calibrate;
mod compare;
mod completions;
mod dataset;
mod demo;
mod digest;
mod doctor;
mod drift;
mod export;
mod gate;
mod golden;
mod import;
mod init;
mod invalidate;
mod ls;
mod making;
mod models;
mod plan;
mod power;
mod report;
mod run;
mod schema;
mod selection;
mod show;
mod texts;
mod trace;
mod validate;
mod why;

use std::path::PathBuf;
use std::sync::Arc;

use karat_app::App;
use karat_types::{Clock, Exit, Moment, Threshold};

use crate::args::{Cli, Command, Common, DatasetCommand};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::printer::Printer;

/// What every command gets.
pub struct Edge<'a> {
    pub app: App,
    pub printer: &'a Printer,
    pub quiet: bool,
}

impl Edge<'_> {
    /// Warnings of a suite that can be used, and what of it is not planned.
    fn notices(&self, plan: &karat_app::Plan) {
        let warnings = &plan.warnings;
        if !self.quiet && !warnings.is_empty() {
            self.printer.say(&if self.printer.colour_err { warnings.render_coloured() } else { warnings.plain() });
        }
        for note in plan.notes.iter().filter(|_| !self.quiet) {
            self.printer.say(&format!("note: {note}"));
        }
    }

    /// The same, and what changed since the suite's stored runs without a new version.
    fn notices_of_run(&self, plan: &karat_app::Plan) -> Result<(), Failure> {
        self.notices(plan);
        if !self.quiet {
            self.app.changes(&plan.header)?.iter().for_each(|change| self.printer.say(&format!("warning: {change}")));
        }
        Ok(())
    }

    /// Data as JSON.
    fn json<T: serde::Serialize>(&self, value: &T) -> Result<(), Failure> {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.printer.data(&text),
            Err(error) => Err(Failure::Edge(format!("writing JSON: {error}. This is a bug in karat"))),
        }
    }
}

/// A table that reads well without colour and in a pipe.
fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_header(head.iter().copied());
    for row in rows {
        table.add_row(row);
    }
    table.trim_fmt()
}

/// Control characters made visible, so that a response cannot write to the terminal.
fn visible(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() && c != '\n' && c != '\t' { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
}

/// A number, or a percentage as a share.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    match text.strip_suffix('%') {
        Some(share) => share.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
        None => text.parse().ok(),
    }
}

/// A finite number in a metric's unit, or a percentage.
fn threshold(text: &str) -> Option<Threshold> {
    let value = number(text).filter(|value| value.is_finite())?;
    Some(Threshold { value, percent: text.trim_end().ends_with('%') })
}

/// Runs the command that was asked for.
pub fn dispatch(cli: Cli, environment: Environment, printer: &Printer) -> Result<Exit, Failure> {
    let edge = Edge { app: app(&cli.common, environment)?, printer, quiet: cli.common.quiet };
    match cli.command {
        Command::Run(args) => run::run(&edge, *args),
        Command::Resume(args) => run::resume(&edge, args),
        Command::Retry(args) => run::retry(&edge, args),
        Command::Score(args) => run::score(&edge, args),
        Command::Invalidate(args) => invalidate::invalidate(&edge, &args.run, &args.cell, args.dry_run),
        Command::Cache(command) => cache::cache(&edge, &command),
        Command::Plan(args) => plan::plan(&edge, &args.suite, &args.execution, &args.mde, args.json),
        Command::Gate(args) => gate::gate(&edge, &args),
        Command::Baseline { command } => gate::baseline(&edge, &command),
        Command::Why(args) => why::why(&edge, &args),
        Command::Validate(args) => validate::validate(&edge, &args.suite),
        Command::Report(args) => report::report(&edge, &args),
        Command::Agree(args) => agree::agree(&edge, &args),
        Command::Calibrate(args) => calibrate::calibrate(&edge, &args),
        Command::Compare(args) => compare::compare(&edge, &args),
        Command::Export(args) => export::export(&edge, &args),
        Command::Import(args) => import::import(&edge, &args),
        Command::Drift(args) => drift::drift(&edge, &args),
        Command::Digest(args) => digest::digest(&edge, &args),
        Command::Golden { command } => golden::golden(&edge, &command),
        Command::Show(args) => show::show(&edge, &args),
        Command::Ls(args) => ls::ls(&edge, &args),
        Command::Trace(args) => trace::trace(&edge, &args),
        Command::Dataset { command: DatasetCommand::Fetch(args) } => dataset::fetch(&edge, &args),
        Command::Dataset { command: DatasetCommand::Check(args) } => dataset::check(&edge, &args),
        Command::Annotate(command) => annotate::annotate(&edge, &command),
        Command::Init(args) => init::init(&edge, &args),
        Command::Demo(args) => demo::demo(&edge, &args),
        Command::Doctor(args) => doctor::doctor(&edge, &args),
        Command::Models(args) => models::models(&edge, &args),
        Command::Schema(args) => schema::schema(&edge, &args),
        Command::Completions(args) => completions::completions(&edge, &args),
    }
}

fn app(common: &Common, environment: Environment) -> Result<App, Failure> {
    let home = PathBuf::from(common.home.as_deref().unwrap_or(".karat"));
    let store = match &common.store {
        Some(url) => url.parse().map_err(|error| Failure::Edge(format!("{error}")))?,
        None => karat_app::StoreUrl::in_folder(&home),
    };
    Ok(App {
        store,
        home,
        lookup: Arc::new(move |name| environment.get(name)),
        clock: Arc::new(SystemClock),
        own_program: std::env::current_exe().ok(),
        opened: karat_app::Opened::default(),
    })
}

/// The system's clock: the one place of the binary that reads it.
struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        #[expect(clippy::disallowed_methods, reason = "the clock that everything else is passed")]
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Moment(now.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
    }
}
