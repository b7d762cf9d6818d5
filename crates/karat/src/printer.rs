//! Output: data to stdout, messages to stderr. Nothing else in the binary prints.
//!
//! Ids and content come from datasets and models. Everything that people read goes through [`karat_app::visible`] before
//! colour is added, so that nothing in it acts on a terminal; data for programs does so if stdout is a terminal, and JSON
//! has its own escapes everywhere.

use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Write};

use karat_app::{AppError, Diagnostics, visible};

use crate::failure::Failure;
use crate::paint;

/// Prints data to stdout and messages to stderr. A closed pipe is not an error.
#[derive(Debug, Clone, Copy)]
pub struct Printer {
    /// True if stderr is a terminal.
    pub interactive: bool,
    /// True if stderr shows colour.
    pub colour_err: bool,
    /// True if stdout shows colour.
    colour_out: bool,
    /// Columns of the terminal that stdout is, if it is one and says so.
    pub width: Option<u16>,
    /// True if stdout is a terminal.
    is_terminal: bool,
}

impl Printer {
    pub fn new() -> Self {
        let interactive = io::stderr().is_terminal();
        let shows_colour = |choice| choice != anstream::ColorChoice::Never;
        Self {
            interactive,
            colour_err: shows_colour(anstream::AutoStream::choice(&io::stderr())),
            colour_out: shows_colour(anstream::AutoStream::choice(&io::stdout())),
            width: terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0),
            is_terminal: io::stdout().is_terminal(),
        }
    }

    /// Prints a summary to stdout, with messages and verdicts in colour. On a terminal, long lines are broken at words.
    pub fn summary(&self, text: &str) -> Result<(), Failure> {
        let text = visible(text);
        let text = self.width.map_or_else(|| text.to_string(), |width| paint::wrap(&text, width.into()));
        self.write(&if self.colour_out { paint::summary(&text) } else { text })
    }

    /// Prints a text for people to stdout.
    pub fn text(&self, text: &str) -> Result<(), Failure> {
        self.write(&visible(text))
    }

    /// Prints data for programs to stdout.
    pub fn data(&self, text: &str) -> Result<(), Failure> {
        if self.is_terminal { self.text(text) } else { self.write(text) }
    }

    fn write(&self, text: &str) -> Result<(), Failure> {
        self.stream_raw(|out| {
            // An error is kept and reported at the end.
            let _ = out.write_all(text.as_bytes());
            Ok(())
        })
    }

    /// Prints data of any size while it is made. It is made to its end even if the pipe is closed.
    pub fn stream<T>(&self, make: impl FnOnce(&mut dyn Write) -> Result<T, AppError>) -> Result<T, Failure> {
        if self.is_terminal { self.stream_shown(visible, make) } else { self.stream_raw(make) }
    }

    /// Prints JSON of any size while it is made. Characters that act on a terminal are escaped, wherever it goes: the values
    /// are the same.
    pub fn stream_json<T>(&self, make: impl FnOnce(&mut dyn Write) -> Result<T, AppError>) -> Result<T, Failure> {
        self.stream_shown(karat_app::escape_json, make)
    }

    /// Prints data of any size while it is made, until the pipe is closed: `karat show RUN | head` reads no more cells than
    /// it shows.
    pub fn stream_lines(&self, make: impl FnOnce(&mut dyn Write) -> Result<(), AppError>) -> Result<(), Failure> {
        if self.is_terminal { self.stream_text_lines(make) } else { self.until_closed(make) }
    }

    /// Prints a text for people while it is made, until the pipe is closed.
    pub fn stream_text_lines(&self, make: impl FnOnce(&mut dyn Write) -> Result<(), AppError>) -> Result<(), Failure> {
        self.until_closed(|out| {
            let mut lines = ShownLines { out, show: visible, line: Vec::new() };
            make(&mut lines)?;
            // An error is kept and reported at the end.
            let _ = lines.end_line();
            Ok(())
        })
    }

    fn until_closed(&self, make: impl FnOnce(&mut dyn Write) -> Result<(), AppError>) -> Result<(), Failure> {
        match print(true, make) {
            (_, Some(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            (made, failed) => not_failed(failed).and_then(|()| Ok(made?)),
        }
    }

    /// Prints lines in a form that acts on no terminal, while they are made.
    fn stream_shown<T>(
        &self,
        show: Show,
        make: impl FnOnce(&mut dyn Write) -> Result<T, AppError>,
    ) -> Result<T, Failure> {
        self.stream_raw(|out| {
            let mut lines = ShownLines { out, show, line: Vec::new() };
            let made = make(&mut lines)?;
            // An error is kept and reported at the end.
            let _ = lines.end_line();
            Ok(made)
        })
    }

    fn stream_raw<T>(&self, make: impl FnOnce(&mut dyn Write) -> Result<T, AppError>) -> Result<T, Failure> {
        let (made, failed) = print(false, make);
        not_failed(failed.filter(|error| error.kind() != ErrorKind::BrokenPipe))?;
        Ok(made?)
    }

    /// Prints a message to stderr, in one write so that lines of several threads do not mix.
    pub fn say(&self, text: &str) {
        let text = visible(text);
        self.write_message(&if self.colour_err { paint::message(&text) } else { text.as_ref().into() });
    }

    /// Prints a line for programs to stderr, as it is.
    pub fn say_line(&self, line: &str) {
        let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
    }

    /// Prints a message that has colours already: only these stay.
    pub fn say_painted(&self, text: &str) {
        self.write_message(&paint::visible(text));
    }

    fn write_message(&self, text: &str) {
        let choice = if self.colour_err { anstream::ColorChoice::AlwaysAnsi } else { anstream::ColorChoice::Never };
        let mut err = anstream::AutoStream::new(io::stderr().lock(), choice);
        let _ = err.write_all(format!("{text}\n").as_bytes());
    }

    /// Prints diagnostics to stderr.
    pub fn diagnostics(&self, problems: &Diagnostics) {
        if self.colour_err { self.say_painted(&problems.render_coloured()) } else { self.say(&problems.plain()) }
    }

    /// Prints a failure to stderr; help that was asked for goes to stdout.
    pub fn failure(&self, failure: &Failure) {
        match failure {
            Failure::Usage(error) => {
                let _ = error.print();
            }
            Failure::App(AppError::Diagnostics(problems)) => {
                self.diagnostics(problems);
            }
            Failure::App(error) => {
                self.say(&format!("error: {error}"));
                if let Some(hint) = error.hint() {
                    self.say(&format!(" hint: {hint}"));
                }
            }
            Failure::Server(error) => {
                self.say(&format!("error: {error}"));
                if let Some(hint) = error.hint() {
                    self.say(&format!(" hint: {hint}"));
                }
            }
            Failure::Message(message) => self.say(&format!("error: {message}")),
        }
    }
}

/// Prints to stdout while something is made, and returns the first error of writing. With `stops`, a closed pipe is an error
/// for what makes it; otherwise it is made to its end, and the rest is discarded.
fn print<T>(
    stops: bool,
    make: impl FnOnce(&mut dyn Write) -> Result<T, AppError>,
) -> (Result<T, AppError>, Option<io::Error>) {
    let mut out = Stdout { out: anstream::stdout().lock(), last: b'\n', failed: None, stops };
    let made = make(&mut out);
    if out.last != b'\n' {
        let _ = out.write_all(b"\n");
    }
    let _ = out.flush();
    (made, out.failed)
}

fn not_failed(failed: Option<io::Error>) -> Result<(), Failure> {
    failed.map_or(Ok(()), |error| Err(Failure::Message(format!("writing to stdout: {error}"))))
}

/// The form of a text that acts on no terminal.
type Show = fn(&str) -> Cow<'_, str>;

/// Makes lines harmless for a terminal.
struct ShownLines<'a> {
    out: &'a mut dyn Write,
    show: Show,
    line: Vec<u8>,
}

impl ShownLines<'_> {
    fn end_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        self.out.write_all((self.show)(&String::from_utf8_lossy(&line)).as_bytes())
    }
}

impl Write for ShownLines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.end_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes to stdout; discards what follows once the pipe is closed.
struct Stdout<W> {
    out: W,
    last: u8,
    /// The first error.
    failed: Option<io::Error>,
    /// True if a closed pipe is an error, too.
    stops: bool,
}

impl<W: Write> Stdout<W> {
    fn attempt(&mut self, write: impl FnOnce(&mut W) -> io::Result<()>) -> io::Result<()> {
        if self.failed.is_none() {
            self.failed = write(&mut self.out).err();
        }
        match &self.failed {
            Some(error) if self.stops || error.kind() != ErrorKind::BrokenPipe => Err(error.kind().into()),
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
