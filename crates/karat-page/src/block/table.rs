//! Tables and cards.

use crate::block::Head;
use crate::block::verdict::Verdict;
use crate::number::{Estimate, Scale};

/// A cell of a table.
#[derive(Debug, Clone)]
pub enum Cell {
    /// A text on one line.
    Text(String),
    /// A text that may need several lines.
    Prose(String),
    /// A text of Karat that may need several lines; what stands between backticks is code.
    Words(String),
    /// A text in a fixed-width font.
    Code(String),
    /// A value with its interval.
    Value(Estimate, Scale),
    /// A difference with its interval.
    Difference(Estimate, Scale),
    /// A count.
    Count(u64),
    /// Dollars; `None` is unknown.
    Money(Option<f64>),
    /// A verdict.
    Verdict(Verdict),
    /// A link to a place of this page or server, or to a web page.
    Link {
        /// Its words.
        text: String,
        /// Its address.
        href: String,
    },
    /// The last values of something, as a small line.
    Spark(Vec<Option<f64>>),
    /// No value, for this reason.
    Missing(String),
}

impl Cell {
    /// A text on one line.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}

/// A column of a table.
#[derive(Debug, Clone, Default)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// True if it holds numbers, which stand on the right.
    pub is_number: bool,
}

impl Column {
    /// A column of texts.
    pub fn text(name: impl Into<String>) -> Self {
        Self { name: name.into(), is_number: false }
    }

    /// A column of numbers.
    pub fn number(name: impl Into<String>) -> Self {
        Self { name: name.into(), is_number: true }
    }
}

/// A row of a table.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// The cells, the first of which names the row.
    pub cells: Vec<Cell>,
    /// The thing that the row stands for; marks of charts with the same key belong to it.
    pub key: Option<String>,
    /// Names of the filters that the row passes.
    pub flags: Vec<String>,
    /// The date whose marks belong to the row, if that is not its key.
    pub date: Option<String>,
    /// True if the filter or search that the address names leaves it out.
    pub is_out: bool,
}

impl Row {
    /// A row of these cells.
    pub fn of(cells: Vec<Cell>) -> Self {
        Self { cells, ..Self::default() }
    }
}

/// Columns and rows.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// The caption.
    pub caption: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Row>,
    /// Rows that are not shown.
    pub left_out: u64,
    /// The command that shows all of them.
    pub all_by: Option<String>,
}

/// A filter over the rows of a table.
#[derive(Debug, Clone)]
pub struct Filter {
    /// Its name in addresses, such as `below-gate`.
    pub key: String,
    /// Its words.
    pub label: String,
    /// Rows that pass it.
    pub count: u64,
}

/// A table that a reader may filter, sort and search.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// The head.
    pub head: Head,
    /// Columns and rows.
    pub rows: Rows,
    /// Filters beside "all"; none, one or several.
    pub filters: Vec<Filter>,
    /// True if rows may be searched.
    pub can_search: bool,
}

/// A card: one figure.
#[derive(Debug, Clone, Default)]
pub struct Stat {
    /// Its name in tests, such as `composite-median`.
    pub key: String,
    /// Its label.
    pub label: String,
    /// Its value.
    pub estimate: Estimate,
    /// The scale of its value.
    pub scale: Scale,
    /// Words in place of a value.
    pub words: Option<String>,
    /// A verdict about it.
    pub verdict: Option<Verdict>,
    /// A remark.
    pub note: Option<String>,
    /// The place where the rows behind it are.
    pub href: Option<String>,
    /// The last values.
    pub trend: Vec<Option<f64>>,
}

/// Cards with one figure each.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    /// The head.
    pub head: Head,
    /// The cards.
    pub stats: Vec<Stat>,
}
