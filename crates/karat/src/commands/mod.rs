//! Commands: a folder for each group of `karat --help`, a file for each command.
//!
//! - `dispatch` calls the command that was parsed, with a `CommandContext`
//! - `invocation` turns flags into the app's [`Invocation`](karat_app::Invocation)
//! - `run_output` starts and ends what every command that runs cells shares: progress, Ctrl-C, the bill
//! - `text_output` writes a result as text, Markdown or JSON
//! - `table` and `values` format tables and read numbers
//!
//! Commands call `karat_app::App` and print what it returns. Read `everyday::run` first.

mod ci;
mod context;
mod data;
mod everyday;
mod history;
mod housekeeping;
mod invocation;
mod people;
mod run_output;
mod server;
mod table;
mod text_output;
mod values;

use karat_types::Exit;

use crate::args::{Cli, Command};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::printer::Printer;

use ci::{drift, gate, golden, workflow};
use context::CommandContext;
use data::{dataset, export, import};
use everyday::{compare, init, plan, report, run, validate};
use history::{digest, ls, show, trace, why};
use housekeeping::{cache, completions, demo, doctor, invalidate, models, schema, store};
use people::{agree, annotate, calibrate, rubrics};
use server::{alert, health, mcp, schedule, serve, token, traces, view};

/// Runs the command that was parsed, and returns the exit code.
pub fn dispatch(cli: Cli, environment: Environment, printer: &Printer) -> Result<Exit, Failure> {
    let context = CommandContext::new(&cli.common, environment, printer)?;
    context.app.project().check_threads()?;
    match cli.command {
        Command::Init(args) => init::init(&context, &args),
        Command::Validate(args) => validate::validate(&context, &args.selection),
        Command::Plan(args) => {
            plan::plan(&context, (&args.selection, &args.execution, args.shard), &args.mde, args.json)
        }
        Command::Run(args) => run::run(&context, *args),
        Command::Report(args) => report::report(&context, &args),
        Command::Compare(args) => compare::compare(&context, &args),
        Command::Ci(command) => workflow::workflow(&context, &command),
        Command::Gate(args) => gate::gate(&context, &args),
        Command::Baseline(command) => gate::baseline(&context, &command),
        Command::Golden(command) => golden::golden(&context, &command),
        Command::Drift(args) => drift::drift(&context, &args),
        Command::Calibrate(args) => calibrate::calibrate(&context, &args),
        Command::Agree(args) => agree::agree(&context, &args),
        Command::Annotate(command) => annotate::annotate(&context, &command),
        Command::Dataset(command) => dataset::dataset(&context, &command),
        Command::Import(args) => import::import(&context, &args),
        Command::Export(args) => export::export(&context, &args),
        Command::Ls(args) => ls::ls(&context, &args),
        Command::Show(args) => show::show(&context, &args),
        Command::Why(args) => why::why(&context, &args),
        Command::Trace(args) => trace::trace(&context, &args),
        Command::Digest(args) => digest::digest(&context, &args),
        Command::Resume(args) => run::resume(&context, args),
        Command::Cancel(args) => run::cancel(&context, &args.run),
        Command::Retry(args) => run::retry(&context, args),
        Command::Score(args) => run::score(&context, args),
        Command::Merge(args) => run::merge(&context, args),
        Command::View(args) => view::view(&context, &args),
        Command::Serve(args) => serve::serve(context, args),
        Command::Mcp(args) => mcp::mcp(context, &args),
        Command::Health(args) => health::health(&context, &args),
        Command::Token(command) => token::token(&context, &command),
        Command::Traces(command) => traces::traces(&context, &command),
        Command::Schedule(command) => schedule::schedule(&context, command),
        Command::Alert(command) => alert::alert(&context, &command),
        Command::Rubrics(args) => rubrics::rubrics(&context, &args),
        Command::Models(args) => models::models(&context, &args),
        Command::Invalidate(args) => {
            invalidate::invalidate(&context, &args.run, &args.cell, (args.dry_run, args.force))
        }
        Command::Cache(command) => cache::cache(&context, &command),
        Command::Store(command) => store::store(&context, &command),
        Command::Doctor(args) => doctor::doctor(&context, &args),
        Command::Demo(args) => demo::demo(&context, &args),
        Command::Schema(args) => schema::schema(&context, &args),
        Command::Completions(args) => completions::completions(&context, &args),
    }
}
