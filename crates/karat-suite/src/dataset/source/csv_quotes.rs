//! Tracks the quotes of a CSV file on its way to the parser: a quote that never ends is no error there, and takes
//! everything after it into one cell.

use std::io::{self, Read};

/// A reader that tracks the state of quotes.
pub(crate) struct QuoteReader<R> {
    reader: R,
    /// The byte between cells.
    separator: u8,
    state: QuoteState,
    bytes: u64,
    line: usize,
    /// The line of the last quote that opened a cell.
    opened: usize,
    is_over: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum QuoteState {
    /// Before the first byte of a cell.
    Begin,
    /// In a cell without quotes, or behind its last one.
    Plain,
    Quoted,
    /// After a quote within quotes: the closing one, or the first of two that mean one.
    Ending,
}

impl<R> QuoteReader<R> {
    pub fn of(reader: R, separator: u8) -> Self {
        Self { reader, separator, state: QuoteState::Begin, bytes: 0, line: 1, opened: 1, is_over: false }
    }

    /// The line of a quote that was never closed, once everything is read.
    pub fn unclosed_quote(&self) -> Option<usize> {
        (self.is_over && self.state == QuoteState::Quoted).then_some(self.opened)
    }

    fn read_byte(&mut self, byte: u8) {
        let is_mark = self.bytes < 3 && b"\xef\xbb\xbf".get(self.bytes as usize) == Some(&byte);
        self.bytes += 1;
        self.line += usize::from(byte == b'\n');
        self.state = match (self.state, byte) {
            (QuoteState::Begin, _) if is_mark => QuoteState::Begin,
            (QuoteState::Begin, b'"') => {
                self.opened = self.line;
                QuoteState::Quoted
            }
            (QuoteState::Quoted, b'"') => QuoteState::Ending,
            (QuoteState::Quoted, _) | (QuoteState::Ending, b'"') => QuoteState::Quoted,
            (_, b'\n' | b'\r') => QuoteState::Begin,
            (_, other) if other == self.separator => QuoteState::Begin,
            _ => QuoteState::Plain,
        };
    }
}

impl<R: Read> Read for QuoteReader<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(room)?;
        self.is_over |= count == 0 && !room.is_empty();
        room[..count].iter().for_each(|byte| self.read_byte(*byte));
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_that_never_ends_is_known_by_its_line() {
        for (text, expected) in [
            ("a,b\n1,2\n", None),
            ("a,b\n\"1\",\"2 \"\"x\"\", 3\"\n", None),
            ("a,b\n1,in \"the\" middle\n\"x\"y,\"\"\n", None),
            ("a,b\n1,\"two\nlines\"\n3,4", None),
            ("\u{feff}\"a\",b\n1,2\n", None),
            ("\u{feff}\"a,b\n1,2\n", Some(1)),
            ("a,b\r\n1,\"x\r\n2,y\r\n", Some(2)),
            ("a,b\n\"1\n1\",x\n2,\"y\"\"\n3,z\n", Some(4)),
            ("a,b\n1,2\n3,\"", Some(3)),
        ] {
            let mut quotes = QuoteReader::of(text.as_bytes(), b',');
            assert_eq!(quotes.unclosed_quote(), None, "nothing is read yet");
            io::copy(&mut quotes, &mut io::sink()).unwrap();
            assert_eq!(quotes.unclosed_quote(), expected, "{text}");
        }
    }
}
