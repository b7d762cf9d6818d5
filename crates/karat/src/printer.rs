//! stdout is data, stderr is talk. The only place of the binary that prints.

use std::io::{ErrorKind, IsTerminal, Write};

use karat_app::AppError;

use crate::failure::Failure;

/// Prints. A closed pipe is no error.
#[derive(Debug, Clone, Copy)]
pub struct Printer {
    /// Whether stderr is a terminal that a person looks at.
    pub interactive: bool,
    /// Whether stderr shows colour.
    pub colour_err: bool,
}

impl Printer {
    pub fn new() -> Self {
        let interactive = std::io::stderr().is_terminal();
        let choice = anstream::AutoStream::choice(&std::io::stderr());
        Self { interactive, colour_err: choice != anstream::ColorChoice::Never }
    }

    /// Data. A closed pipe is no error; anything else that keeps it from being written is.
    pub fn data(&self, text: &str) -> Result<(), Failure> {
        let mut out = anstream::stdout().lock();
        let written = out
            .write_all(text.as_bytes())
            .and_then(|()| if text.ends_with('\n') { Ok(()) } else { out.write_all(b"\n") });
        match written.and_then(|()| out.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::Edge(format!("writing to stdout: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Talk. One write a line: runs talk once a cell, and asking the terminal each time costs more than the line.
    pub fn say(&self, text: &str) {
        let choice = if self.colour_err { anstream::ColorChoice::AlwaysAnsi } else { anstream::ColorChoice::Never };
        let mut err = anstream::AutoStream::new(std::io::stderr().lock(), choice);
        let _ = err.write_all(format!("{text}\n").as_bytes());
    }

    /// A failure as talk; help that was asked for is data.
    pub fn failure(&self, failure: &Failure) {
        match failure {
            Failure::Usage(error) => {
                let _ = error.print();
            }
            Failure::App(AppError::Suite(problems)) => {
                self.say(&if self.colour_err { problems.coloured() } else { problems.plain() });
            }
            Failure::App(AppError::Failed { message, hint, .. }) => {
                self.say(&format!("error: {message}"));
                if let Some(hint) = hint {
                    self.say(&format!(" hint: {hint}"));
                }
            }
            Failure::Edge(message) => self.say(&format!("error: {message}")),
        }
    }
}
