//! The layout of report.json: the outer levels have one member a line, deeper levels are on one line without spaces.
//! People can read it, a diff shows one line a cell, and ten thousand cells take less than half the space.

use std::io::{self, Write};

use serde_json::ser::Formatter;

/// Number of levels whose members start a line: the document's, and those of its parts.
const BROKEN: usize = 2;

/// The JSON formatter for this layout.
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
    fn outer_levels_have_one_member_a_line() {
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
}
