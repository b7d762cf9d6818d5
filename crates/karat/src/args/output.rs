//! Flags of what is written where.

use clap::{Args, ValueEnum};

/// What is written where.
#[derive(Debug, Clone, Args)]
pub struct OutputArgs {
    /// Folder of the reports, `-` for stdout [default: .karat/runs/RUN]
    #[arg(short, long, visible_alias = "output", value_name = "DIR", env = "KARAT_OUTPUT_DIR")]
    pub output_dir: Option<String>,
    /// Forms of the report [default: md and json; on stdout, which takes one form, md]
    #[arg(long, value_name = "FORM,…", env = "KARAT_FORMAT", value_delimiter = ',')]
    pub format: Vec<FormatArg>,
    /// How files lie in the folder: `flat` = results/RUN.json, reports/RUN.md [default: the suite's, else folder]
    #[arg(long, value_name = "LAYOUT", env = "KARAT_LAYOUT")]
    pub layout: Option<LayoutArg>,
}

impl OutputArgs {
    /// Whether the report goes to stdout.
    pub fn to_stdout(&self) -> bool {
        self.output_dir.as_deref() == Some("-")
    }

    /// The forms that are written: those that are asked for, else what suits the place.
    pub fn forms(&self) -> &[FormatArg] {
        match (&self.format[..], self.to_stdout()) {
            ([], true) => &[FormatArg::Md],
            ([], false) => &[FormatArg::Both],
            (asked, _) => asked,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LayoutArg {
    Folder,
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
    /// report.html, one page that loads nothing
    Html,
    /// junit.xml, for CI servers
    Junit,
    /// cells.csv, for spreadsheets
    Csv,
    /// md and json
    Both,
}

/// Forms of what is no report of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TextFormArg {
    /// Markdown
    Md,
    /// JSON
    Json,
}
