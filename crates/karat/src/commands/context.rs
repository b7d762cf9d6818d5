//! The context of a command: the app, the printer, and the notices that come before a result.

use std::path::PathBuf;
use std::sync::Arc;

use karat_app::{App, NetworkFiles, Outputs};
use karat_types::{Exit, ReportFormat};

use crate::args::Common;
use crate::clock;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::printer::Printer;

/// The app and the output of a command.
pub struct CommandContext<'a> {
    pub app: App,
    pub printer: &'a Printer,
    pub quiet: bool,
}

/// Reads the address of a store.
pub fn parse_store(url: &str) -> Result<karat_app::StoreUrl, Failure> {
    url.parse().map_err(|error| Failure::Message(format!("{error}")))
}

impl<'a> CommandContext<'a> {
    /// Creates the context from the flags of every command. Opens no store yet.
    pub fn new(common: &Common, environment: Environment, printer: &'a Printer) -> Result<Self, Failure> {
        let home = PathBuf::from(common.home.as_deref().unwrap_or(".karat"));
        let store = match &common.store {
            Some(url) => parse_store(url)?,
            None => karat_app::StoreUrl::in_folder(&home),
        };
        let store = if common.allow_unsafe_postgres { store.without_durability() } else { store };
        let network = if common.allow_network_fs { NetworkFiles::Allowed } else { NetworkFiles::Refused };
        let clock = clock::of_process(&environment);
        let opened = karat_app::Session::default();
        let files = environment.clone();
        opened.set_variable_files(Arc::new(move |name| files.file_of(name).map(str::to_owned)));
        let app = App {
            store: store.with_network_files(network),
            home,
            lookup: Arc::new(move |name| environment.get(name)),
            clock,
            own_program: std::env::current_exe().ok(),
            opened,
        };
        Ok(Self { app, printer, quiet: common.quiet })
    }

    /// Prints the warnings of a suite, and the parts of it that are not planned.
    pub fn print_notices(&self, plan: &karat_app::Plan) {
        if self.quiet {
            return;
        }
        let warnings = &plan.warnings;
        if !warnings.is_empty() {
            self.printer.diagnostics(warnings);
        }
        let notes = plan
            .notes
            .iter()
            .cloned()
            .chain(self.app.runs().address_notes(&plan.header))
            .chain(self.app.runs().keyless_models(plan));
        notes.for_each(|note| self.printer.say(&format!("note: {note}")));
        self.print_warnings(self.app.imports().old_prices(plan));
    }

    /// Prints the same, and content that changed since earlier runs without a new version.
    pub fn print_run_notices(&self, plan: &karat_app::Plan) -> Result<(), Failure> {
        self.print_notices(plan);
        if !self.quiet {
            self.print_warnings(self.app.project().changes(&plan.header)?);
        }
        Ok(())
    }

    /// Prints which models the default ceiling of cost does not bind.
    pub fn print_ceiling_note(&self, plan: &karat_app::Plan, invocation: &karat_app::Invocation) {
        let note = self.app.runs().ceiling_note(plan, invocation).filter(|_| !self.quiet);
        note.iter().for_each(|note| self.printer.say(&format!("note: {note}")));
    }

    /// Prints warnings, also with `--quiet`.
    pub fn print_warnings(&self, warnings: impl IntoIterator<Item = impl std::fmt::Display>) {
        warnings.into_iter().for_each(|line| self.printer.say(&format!("warning: {line}")));
    }

    /// Prints a run in a format. Returns the exit code of its results.
    pub fn print_format(
        &self,
        run: &str,
        (format, outputs): (ReportFormat, Outputs),
        canonical: bool,
    ) -> Result<Exit, Failure> {
        let make = |out: &mut dyn std::io::Write| self.app.reports().export(run, format, outputs, canonical, out);
        if format.media_type().contains("json") { self.printer.stream_json(make) } else { self.printer.stream(make) }
    }

    /// Prints data as JSON.
    pub fn print_json<T: serde::Serialize>(&self, value: &T) -> Result<(), Failure> {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.printer.data(&karat_app::escape_json(&text)),
            Err(error) => Err(Failure::Message(format!("writing JSON: {error}. This is a bug in karat"))),
        }
    }
}
