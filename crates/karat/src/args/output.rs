//! Flags that say which reports are written, and where.

use clap::{Args, ValueEnum};
use karat_app::{Outputs, ShownOutputs};

use super::heading;

/// Reports of a run.
#[derive(Debug, Clone, Args)]
pub struct OutputArgs {
    /// Folder of the reports, or `-` for stdout [default: .karat/runs/RUN]
    #[arg(short, long, visible_alias = "output", value_name = "DIR", env = "KARAT_OUTPUT_DIR", help_heading = heading::EVERYDAY)]
    pub output_dir: Option<String>,
    /// Report formats [default: md,html,json; on stdout, which takes one format, md]
    #[arg(long, value_name = "FORMAT,…", env = "KARAT_FORMAT", value_delimiter = ',', help_heading = heading::OUTPUT)]
    pub format: Vec<FormatArg>,
    /// Cells that the report shows with input, output and reasons [default: failed; in cells.csv all]
    #[arg(long, value_name = "CELLS", help_heading = heading::OUTPUT)]
    pub outputs: Option<OutputsArg>,
    /// Layout of the report files [default: the suite's, or folder]
    #[arg(long, value_name = "LAYOUT", help_heading = heading::OUTPUT)]
    pub layout: Option<LayoutArg>,
}

impl OutputArgs {
    /// Returns whether the report goes to stdout.
    pub fn to_stdout(&self) -> bool {
        self.output_dir.as_deref() == Some("-")
    }

    /// Returns the formats to write: those that were asked for, or the default of the destination.
    pub fn formats(&self) -> &[FormatArg] {
        match (&self.format[..], self.to_stdout()) {
            ([], true) => &[FormatArg::Md],
            ([], false) => &[FormatArg::Md, FormatArg::Html, FormatArg::Json],
            (asked, _) => asked,
        }
    }
}

/// Cells that are shown with their texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputsArg {
    /// Every cell, those that failed first
    All,
    /// Cells without an output, with a score below its threshold, or unscored
    Failed,
    /// No cell
    None,
}

impl OutputsArg {
    /// Returns the app's form of a choice and of the number of cells.
    pub fn outputs(shown: Option<Self>, cells: Option<usize>) -> Outputs {
        let shown = shown.map(|shown| match shown {
            Self::All => ShownOutputs::All,
            Self::Failed => ShownOutputs::Failed,
            Self::None => ShownOutputs::None,
        });
        Outputs { shown, cells: cells.unwrap_or(Outputs::CELLS) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LayoutArg {
    /// report.md, report.json, …
    Folder,
    /// results/RUN.json, reports/RUN.md, …
    Flat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// report.md
    Md,
    /// report.json
    Json,
    /// cells/, one JSON file per cell
    Cells,
    /// report.html, a page that loads nothing from elsewhere
    Html,
    /// junit.xml, for CI servers
    Junit,
    /// cells.csv, for spreadsheets
    Csv,
    /// comment.md, a short comment on a pull request
    Comment,
    /// md and json
    Both,
}

/// Formats of documents other than the report of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TextFormatArg {
    /// Markdown
    Md,
    /// JSON
    Json,
    /// A page that loads nothing from elsewhere
    Html,
}

impl TextFormatArg {
    /// Returns the extension of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Md => "md",
            Self::Json => "json",
            Self::Html => "html",
        }
    }
}
