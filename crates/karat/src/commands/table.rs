//! Tables for a terminal and a pipe.

use comfy_table::{ContentArrangement, Table, presets};

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
        table.add_row(row);
    }
    table.trim_fmt()
}

/// Returns a text with control characters made visible, so that a response cannot act on the terminal.
pub fn visible(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() && c != '\n' && c != '\t' { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
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
}
