//! Tables for a terminal and a pipe.

use std::io::{self, Write};

use comfy_table::{ContentArrangement, Table, presets};
use karat_app::visible_name;

use super::CommandContext;

/// Returns a table without borders. On a terminal it fits the width; in a pipe each row is one line.
pub fn table(context: &CommandContext<'_>, head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    render(context.printer.width, head, rows)
}

fn render(width: Option<u16>, head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(head.iter().copied());
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for row in rows {
        table.add_row(row.iter().map(|text| visible_name(text).into_owned()));
    }
    table.trim_fmt()
}

/// Number of rows of which a table is made at once; the widths of longer ones are those of the first rows.
const ROWS: usize = 1_000;

/// A table that is printed while its rows are made, so that memory holds [`ROWS`] of them.
pub struct StreamedTable {
    head: Vec<String>,
    terminal: Option<u16>,
    rows: Vec<Vec<String>>,
    /// Widths of the columns, once rows are printed one by one.
    widths: Vec<usize>,
}

impl StreamedTable {
    pub fn new(context: &CommandContext<'_>, head: &[&str]) -> Self {
        let head = head.iter().map(|name| visible_name(name).into_owned()).collect();
        Self { head, terminal: context.printer.width, rows: Vec::new(), widths: Vec::new() }
    }

    /// Adds a row, and prints it if there are many.
    pub fn add(&mut self, row: Vec<String>, out: &mut dyn Write) -> io::Result<()> {
        let row: Vec<String> = row.iter().map(|text| visible_name(text).into_owned()).collect();
        if !self.widths.is_empty() {
            return self.write(&row, out);
        }
        self.rows.push(row);
        if self.rows.len() < ROWS {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.rows);
        let width = |at: usize| {
            let texts = rows.iter().chain([&self.head]).filter_map(|row| row.get(at));
            texts.map(|text| text.chars().count()).max().unwrap_or(0)
        };
        self.widths = (0..self.head.len()).map(width).collect();
        self.write(&self.head, out)?;
        rows.iter().try_for_each(|row| self.write(row, out))
    }

    /// Prints what waits.
    pub fn end(self, out: &mut dyn Write) -> io::Result<()> {
        if !self.widths.is_empty() {
            return Ok(());
        }
        let head: Vec<&str> = self.head.iter().map(String::as_str).collect();
        writeln!(out, "{}", render(self.terminal, &head, self.rows.into_iter()))
    }

    fn write(&self, row: &[String], out: &mut dyn Write) -> io::Result<()> {
        let columns = row.iter().zip(&self.widths).map(|(text, width)| format!("{text:width$}"));
        writeln!(out, " {}", columns.collect::<Vec<_>>().join("  ").trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// STYLE: a table fits the terminal; elsewhere a row is a line.
    #[test]
    fn a_table_fits_the_terminal() {
        let rows =
            || [vec!["r1".to_owned(), "a long message of many words that goes on and on".to_owned()]].into_iter();
        let narrow = render(Some(30), &["run", "says"], rows());
        assert!(narrow.lines().all(|line| line.chars().count() <= 30) && narrow.lines().count() > 2, "{narrow}");
        assert_eq!(render(None, &["run", "says"], rows()).lines().count(), 2);
    }

    /// H2: a table of many rows is printed while they come, and holds only the first of them.
    #[test]
    fn a_long_table_is_streamed() {
        let mut table = StreamedTable {
            head: ["cell", "sample"].map(str::to_owned).to_vec(),
            terminal: None,
            rows: Vec::new(),
            widths: Vec::new(),
        };
        let mut out = Vec::new();
        for at in 0..3 * ROWS {
            table.add(vec![at.to_string(), format!("s{at}\u{9b}\n")], &mut out).unwrap();
            assert!(table.rows.len() < ROWS && (at + 1 < ROWS || !out.is_empty()));
        }
        table.end(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 1 + 3 * ROWS);
        assert!(text.starts_with(" cell  sample\n 0     s0\u{fffd}␊\n"), "{}", &text[..60]);
        assert!(text.ends_with(" 2999  s2999\u{fffd}␊\n"));
    }
}
