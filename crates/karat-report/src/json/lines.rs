//! The layout of report.json: the outer levels stand in lines of their own, what lies deeper in one line without spaces.
//! So a person can read it, a diff shows one line a cell, and ten thousand cells take less than half the space.

use std::io::{self, BufWriter, Write};

use serde_json::ser::Formatter;

use super::PIECE;

/// Levels whose members begin a line: the document's, and those of its parts.
const BROKEN: usize = 2;

/// How a document with members ends.
const END: &[u8] = b"\n}";

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Lines {
    depth: usize,
    has_value: bool,
}

impl Lines {
    fn open<W: Write + ?Sized>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.has_value = false;
        out.write_all(bracket)
    }

    fn close<W: Write + ?Sized>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        let is_broken = self.has_value && self.depth <= BROKEN;
        self.depth -= 1;
        if is_broken {
            self.line(out)?;
        }
        out.write_all(bracket)
    }

    fn member<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        match (first, self.depth <= BROKEN) {
            (true, false) => Ok(()),
            (false, false) => out.write_all(b","),
            (true, true) => self.line(out),
            (false, true) => out.write_all(b",").and_then(|()| self.line(out)),
        }
    }

    fn line<W: Write + ?Sized>(&self, out: &mut W) -> io::Result<()> {
        out.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| out.write_all(b" "))
    }
}

/// Takes a document and keeps back its end, so that a list can follow its last member.
pub(super) struct Unclosed<'a> {
    out: &'a mut dyn Write,
    end: Vec<u8>,
}

impl<'a> Unclosed<'a> {
    pub fn new(out: &'a mut dyn Write) -> Self {
        Self { out, end: Vec::new() }
    }

    /// Adds a list of elements that are laid out already, as `each` gives them to the function it is given, and ends the
    /// document. `each` says how many there are.
    pub fn close<E: From<io::Error>>(
        self,
        member: &str,
        each: impl FnOnce(&mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<u64, E>,
    ) -> Result<(), E> {
        let Self { out, end } = self;
        let mut out = BufWriter::with_capacity(PIECE, out);
        write!(out, ",\n \"{member}\": [")?;
        let mut separator: &[u8] = b"\n  ";
        let count = each(&mut |element| {
            out.write_all(separator)?;
            separator = b",\n  ";
            out.write_all(element)
        })?;
        out.write_all(if count > 0 { b"\n ]" } else { b"]" })?;
        out.write_all(&end)?;
        Ok(out.flush()?)
    }
}

impl Write for Unclosed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.end.extend_from_slice(bytes);
        let before = self.end.len().saturating_sub(END.len());
        self.out.write_all(&self.end[..before])?;
        self.end.drain(..before);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Formatter for Lines {
    fn begin_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"]")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.member(out, first)
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }

    fn begin_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"}")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.member(out, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(if self.depth <= BROKEN { b": " } else { b":" })
    }

    fn end_object_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde_json::json;

    use super::*;

    #[test]
    fn outer_levels_stand_in_lines() {
        let value = json!({"run": {"id": "a"}, "cells": [{"n": 1, "of": [1, 2]}, {"n": 2}], "gates": [], "empty": {}});
        let mut bytes = Vec::new();
        value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, Lines::default())).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(
            text,
            "{\n \"run\": {\n  \"id\": \"a\"\n },\n \"cells\": [\n  {\"n\":1,\"of\":[1,2]},\n  {\"n\":2}\n ],\n \
             \"gates\": [],\n \"empty\": {}\n}"
        );
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    /// A list that is appended lies as one that was there.
    #[test]
    fn appended_lists_lie_as_others() {
        let lay_out = |value: &serde_json::Value, out: &mut dyn Write| {
            value.serialize(&mut serde_json::Serializer::with_formatter(out, Lines::default())).unwrap();
        };
        for cells in [json!([]), json!([{"n": 1}]), json!([{"n": 1}, {"n": [2, 3]}])] {
            let (mut whole, mut expected) = (Vec::new(), Vec::new());
            let mut unclosed = Unclosed::new(&mut whole);
            lay_out(&json!({"run": {"id": "a"}}), &mut unclosed);
            let each = |element: &mut dyn FnMut(&[u8]) -> io::Result<()>| {
                let cells = cells.as_array().unwrap();
                cells.iter().try_for_each(|cell| element(cell.to_string().as_bytes()))?;
                io::Result::Ok(cells.len() as u64)
            };
            unclosed.close("cells", each).unwrap();
            lay_out(&json!({"run": {"id": "a"}, "cells": cells}), &mut expected);
            assert_eq!(whole, expected);
        }
    }
}
