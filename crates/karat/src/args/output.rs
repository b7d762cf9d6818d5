//! Flags that say which reports are written, and where.

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use karat_app::{Outputs, ShownOutputs};
use karat_types::ReportFormat;

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
    pub fn formats(&self) -> Vec<ReportFormat> {
        let asked = match (&self.format[..], self.to_stdout()) {
            ([], true) => &[ReportFormat::Markdown][..],
            ([], false) => &ReportFormat::DEFAULT,
            _ => return self.asked_formats(),
        };
        asked.to_vec()
    }

    /// Returns the formats that were asked for, each once.
    pub fn asked_formats(&self) -> Vec<ReportFormat> {
        let mut formats: Vec<ReportFormat> = Vec::new();
        for format in self.format.iter().flat_map(|asked| asked.0) {
            if !formats.contains(format) {
                formats.push(*format);
            }
        }
        formats
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

/// The formats that one value of `--format` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatArg(pub &'static [ReportFormat]);

/// `both` is a name of the seeds for the first two.
const BOTH: FormatArg = FormatArg(&[ReportFormat::Markdown, ReportFormat::Json]);

impl FormatArg {
    const ALL: [Self; ReportFormat::ALL.len() + 1] = {
        let mut all = [BOTH; ReportFormat::ALL.len() + 1];
        let mut at = 0;
        while at < ReportFormat::ALL.len() {
            all[at] = Self(std::slice::from_ref(&ReportFormat::ALL[at]));
            at += 1;
        }
        all
    };
}

impl ValueEnum for FormatArg {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self.0 {
            [one] => Some(PossibleValue::new(one.name()).help(one.description())),
            _ => Some(PossibleValue::new("both").hide(true)),
        }
    }
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
