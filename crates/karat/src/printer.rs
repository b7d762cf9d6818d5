//! stdout is data, stderr is talk. The only place of the binary that prints.

use std::io::{self, ErrorKind, IsTerminal, Write};

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
        let interactive = io::stderr().is_terminal();
        let choice = anstream::AutoStream::choice(&io::stderr());
        Self { interactive, colour_err: choice != anstream::ColorChoice::Never }
    }

    /// Data. A closed pipe is no error; anything else that keeps it from being written is.
    pub fn data(&self, text: &str) -> Result<(), Failure> {
        self.stream(|out| {
            // What keeps it from being written is found at the end.
            let _ = out.write_all(text.as_bytes());
            Ok(())
        })
    }

    /// Data of any size, written while it is made. Where the pipe is closed it is made to its end all the same.
    pub fn stream<T>(&self, make: impl FnOnce(&mut dyn Write) -> Result<T, AppError>) -> Result<T, Failure> {
        let mut out = Stdout { out: anstream::stdout().lock(), last: b'\n', failed: None };
        let made = make(&mut out);
        if out.last != b'\n' {
            let _ = out.write_all(b"\n");
        }
        let _ = out.flush();
        match out.failed {
            Some(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::Edge(format!("writing to stdout: {error}")))
            }
            _ => Ok(made?),
        }
    }

    /// Talk. One write a line: runs talk once a cell, and asking the terminal each time costs more than the line.
    pub fn say(&self, text: &str) {
        let choice = if self.colour_err { anstream::ColorChoice::AlwaysAnsi } else { anstream::ColorChoice::Never };
        let mut err = anstream::AutoStream::new(io::stderr().lock(), choice);
        let _ = err.write_all(format!("{text}\n").as_bytes());
    }

    /// A failure as talk; help that was asked for is data.
    pub fn failure(&self, failure: &Failure) {
        match failure {
            Failure::Usage(error) => {
                let _ = error.print();
            }
            Failure::App(AppError::Diagnostics(problems)) => {
                self.say(&if self.colour_err { problems.render_coloured() } else { problems.plain() });
            }
            Failure::App(error) => {
                self.say(&format!("error: {error}"));
                if let Some(hint) = error.hint() {
                    self.say(&format!(" hint: {hint}"));
                }
            }
            Failure::Edge(message) => self.say(&format!("error: {message}")),
        }
    }
}

/// Takes what follows on a closed pipe and throws it away.
struct Stdout<W> {
    out: W,
    last: u8,
    /// What kept bytes from being written first.
    failed: Option<io::Error>,
}

impl<W: Write> Stdout<W> {
    fn attempt(&mut self, write: impl FnOnce(&mut W) -> io::Result<()>) -> io::Result<()> {
        if self.failed.is_none() {
            self.failed = write(&mut self.out).err();
        }
        match &self.failed {
            Some(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.kind().into()),
            _ => Ok(()),
        }
    }
}

impl<W: Write> Write for Stdout<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.last = bytes.last().copied().unwrap_or(self.last);
        self.attempt(|out| out.write_all(bytes)).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt(W::flush)
    }
}
