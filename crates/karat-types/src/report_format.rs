//! The formats of the report of a run: one list for the command line, suites, HTTP, Python and schedules.

use std::fmt;
use std::str::FromStr;

/// A format of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportFormat {
    /// Markdown.
    Markdown,
    /// One JSON document, with `cells.jsonl` beside it for large runs.
    Json,
    /// One page that loads nothing.
    Html,
    /// JUnit, for CI servers.
    Junit,
    /// One JSON file per cell; JSON lines in a stream.
    Cells,
    /// A table of cells, for spreadsheets.
    Csv,
    /// A comment on a pull request.
    Comment,
}

/// Name, file, media type and one sentence of a format.
type About = (&'static str, &'static str, &'static str, &'static str);

impl ReportFormat {
    /// All formats, in the order in which they are named to people.
    pub const ALL: [Self; 7] =
        [Self::Markdown, Self::Json, Self::Html, Self::Junit, Self::Cells, Self::Csv, Self::Comment];

    /// The formats of a report that nobody asked another of.
    pub const DEFAULT: [Self; 3] = [Self::Markdown, Self::Html, Self::Json];

    /// All names.
    pub const NAMES: [&'static str; Self::ALL.len()] = {
        let mut names = [""; Self::ALL.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = Self::ALL[at].name();
            at += 1;
        }
        names
    };

    const fn about(self) -> About {
        match self {
            Self::Markdown => ("md", "report.md", "text/markdown; charset=utf-8", "report.md"),
            Self::Json => ("json", "report.json", "application/json", "report.json"),
            Self::Html => (
                "html",
                "report.html",
                "text/html; charset=utf-8",
                "report.html, a page that loads nothing from elsewhere",
            ),
            Self::Junit => ("junit", "junit.xml", "application/xml", "junit.xml, for CI servers"),
            Self::Cells => ("cells", "cells", "application/x-ndjson", "cells/, one JSON file per cell"),
            Self::Csv => ("csv", "cells.csv", "text/csv; charset=utf-8", "cells.csv, for spreadsheets"),
            Self::Comment => (
                "comment",
                "comment.md",
                "text/markdown; charset=utf-8",
                "comment.md, a short comment on a pull request",
            ),
        }
    }

    /// The name by which it is asked for.
    pub const fn name(self) -> &'static str {
        self.about().0
    }

    /// The name of its file or folder.
    pub const fn file_name(self) -> &'static str {
        self.about().1
    }

    /// The media type of its bytes.
    pub const fn media_type(self) -> &'static str {
        self.about().2
    }

    /// One sentence on it for a list of choices.
    pub const fn description(self) -> &'static str {
        self.about().3
    }
}

impl fmt::Display for ReportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no format has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a report has no format `{name}`; use one of {}", ReportFormat::NAMES.join(", "))]
pub struct UnknownFormat {
    /// The name.
    pub name: String,
}

impl FromStr for ReportFormat {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        Self::ALL.into_iter().find(|it| it.name() == name).ok_or_else(|| UnknownFormat { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_found_by_its_name() {
        for format in ReportFormat::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        let unknown = "pdf".parse::<ReportFormat>().unwrap_err().to_string();
        assert_eq!(unknown, "a report has no format `pdf`; use one of md, json, html, junit, cells, csv, comment");
    }
}
