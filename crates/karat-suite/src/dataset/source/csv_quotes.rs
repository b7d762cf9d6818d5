//! Quotes and white space of a CSV file, on its way to the parser. A quote that never ends is not an error there, and takes
//! everything after it into one cell; text after a closing quote is not an error either. White space around a cell is dropped, as
//! around a name in the header, unless quotes keep it.

use std::io::{self, Read};

use super::{MOST_BYTES_OF_ROW, too_long};

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
    /// Bytes of the row, which ends with a line outside of quotes.
    row: usize,
    is_over: bool,
    /// The first line with text after a closing quote.
    broken: Option<usize>,
    /// White space that is dropped unless the cell goes on.
    held: Vec<u8>,
    /// Bytes that the parser gets next.
    passed: Vec<u8>,
    /// The number of bytes of it that the parser has.
    taken: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum QuoteState {
    /// Before the first byte of a cell.
    Begin,
    /// In a cell without quotes.
    Plain,
    Quoted,
    /// After a quote within quotes: the closing one, or the first of two that mean one.
    Ending,
    /// After the closing quote and white space.
    Ended,
}

impl<R> QuoteReader<R> {
    pub fn of(reader: R, separator: u8) -> Self {
        Self {
            reader,
            separator,
            state: QuoteState::Begin,
            bytes: 0,
            line: 1,
            opened: 1,
            row: 0,
            is_over: false,
            broken: None,
            held: Vec::new(),
            passed: Vec::new(),
            taken: 0,
        }
    }

    /// The line of a quote that was never closed, once everything is read.
    pub fn unclosed_quote(&self) -> Option<usize> {
        (self.is_over && self.state == QuoteState::Quoted).then_some(self.opened)
    }

    /// The line of the first text after a closing quote, as far as the file is read.
    pub fn text_after_quote(&self) -> Option<usize> {
        self.broken
    }

    fn read_byte(&mut self, byte: u8) {
        use QuoteState::{Begin, Ended, Ending, Plain, Quoted};
        let is_mark = self.bytes < 3 && b"\xef\xbb\xbf".get(self.bytes as usize) == Some(&byte);
        self.bytes += 1;
        self.row += 1;
        let is_end = matches!(byte, b'\n' | b'\r') || byte == self.separator;
        let is_space = matches!(byte, b' ' | b'\t') && !is_end;
        if is_space && self.state != Quoted {
            self.held.push(byte);
            self.state = if self.state == Ending { Ended } else { self.state };
            return;
        }
        if self.state == Plain && !is_end {
            self.passed.append(&mut self.held);
        }
        self.held.clear();
        self.passed.push(byte);
        self.state = match (self.state, byte) {
            (Begin, _) if is_mark => Begin,
            (Begin, b'"') => {
                self.opened = self.line;
                Quoted
            }
            (Quoted, b'"') => Ending,
            (Quoted, _) | (Ending, b'"') => Quoted,
            _ if is_end => {
                self.row = if byte == self.separator { self.row } else { 0 };
                Begin
            }
            (Ending | Ended, _) => {
                self.broken = self.broken.or(Some(self.line));
                Plain
            }
            _ => Plain,
        };
        self.line += usize::from(byte == b'\n');
    }
}

impl<R: Read> Read for QuoteReader<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        // White space alone leaves nothing to pass on.
        while self.taken == self.passed.len() && !self.is_over && !room.is_empty() {
            self.passed.clear();
            self.taken = 0;
            let count = self.reader.read(room)?;
            self.is_over = count == 0;
            room[..count].iter().for_each(|byte| self.read_byte(*byte));
            if self.row > MOST_BYTES_OF_ROW {
                return Err(too_long(self.line));
            }
        }
        let count = room.len().min(self.passed.len() - self.taken);
        room[..count].copy_from_slice(&self.passed[self.taken..self.taken + count]);
        self.taken += count;
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
            ("a,b\n1,in \"the\" middle\n\"x\",\"\"\n", None),
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

    /// F18: text after a closing quote is known by its line, and white space around a cell goes, unless it is in quotes.
    #[test]
    fn cells_are_trimmed_and_text_after_a_quote_is_known() {
        for (text, passed, broken) in [
            ("a, b\n 1 ,\t x y\t\n", "a,b\n1,x y\n", None),
            ("a,b\n\" 1 \", \"x, y\" \n", "a,b\n\" 1 \",\"x, y\"\n", None),
            ("a , b\r\n1 , 2 \r\n  ,\n", "a,b\r\n1,2\r\n,\n", None),
            ("\u{feff} a,b", "\u{feff}a,b", None),
            ("a\n\"x\"\"y\"  ", "a\n\"x\"\"y\"", None),
            ("a\nC:\\,\n\"C:\\\",", "a\nC:\\,\n\"C:\\\",", None),
            ("a,b\n1,\"say \\\"hi\\\" now\"\n", "a,b\n1,\"say \\\"hi\\\" now\"\n", Some(2)),
            ("a\n\"x\ny\" z\n", "a\n\"x\ny\"z\n", Some(3)),
            ("a\n\"x\"y\n\"x\"y\n", "a\n\"x\"y\n\"x\"y\n", Some(2)),
        ] {
            for size in [1, 3, 64] {
                let mut quotes = QuoteReader::of(text.as_bytes(), b',');
                let (mut all, mut room) = (Vec::new(), vec![0; size]);
                while let Ok(count @ 1..) = quotes.read(&mut room) {
                    all.extend_from_slice(&room[..count]);
                }
                assert_eq!(String::from_utf8(all).unwrap(), passed, "{text}");
                assert_eq!(quotes.text_after_quote(), broken, "{text}");
            }
        }
        let mut tabs = String::new();
        QuoteReader::of(" a \t b\n\t x".as_bytes(), b'\t').read_to_string(&mut tabs).unwrap();
        assert_eq!(tabs, "a\tb\n\tx");
    }
}
