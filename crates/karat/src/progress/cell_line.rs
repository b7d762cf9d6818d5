//! The line of a finished cell.

use std::fmt::Write as _;

use karat_app::visible_name;
use karat_types::{CellProgress, CellStatus, OutputOrigin};
use owo_colors::OwoColorize;

/// Characters that are shown of the beginning and of the end of an error message, which has the advice.
const MESSAGE: (usize, usize) = (120, 300);

/// Returns the words of a status: `ok`, `cached`, `unscored`, `error` or `skipped`.
pub fn status(cell: &CellProgress<'_>) -> &'static str {
    match (cell.status, cell.unscored, cell.reuse) {
        (CellStatus::Error, _, _) => "error",
        (CellStatus::Skipped, _, _) => "skipped",
        (CellStatus::Ok, true, _) => "unscored",
        (CellStatus::Ok, false, OutputOrigin::Reused) => "cached",
        (CellStatus::Ok, false, OutputOrigin::Fresh) => "ok",
    }
}

/// A cell's line without the number of cells that are done, which is known when the line is printed.
#[derive(Debug, PartialEq, Eq)]
pub struct CellLine {
    total: u64,
    /// The line, in which [`DONE`] stands for the number.
    text: String,
}

/// Stands for the number of finished cells. Ids cannot contain it: control characters are escaped.
const DONE: &str = "\u{1}";

impl CellLine {
    /// Formats a cell by the suite's `run.cell_line`, or as `[1/120] t01 small/terse ok 150 ms`.
    pub fn new(cell: &CellProgress<'_>, format: Option<&str>) -> Self {
        let text = format.map_or_else(|| standard(cell, false), |format| custom(cell, format));
        Self { total: cell.total, text }
    }

    /// Formats a cell whose error another line has told.
    pub fn of_told_error(cell: &CellProgress<'_>) -> Self {
        Self { total: cell.total, text: standard(cell, true) }
    }

    /// Returns the line, with the number of cells that are done.
    pub fn text(&self, done: u64) -> String {
        self.text.replace(DONE, &done.to_string())
    }

    /// Returns the number of cells of the run.
    pub fn total(&self) -> u64 {
        self.total
    }
}

fn standard(cell: &CellProgress<'_>, is_told: bool) -> String {
    let system = match cell.model {
        Some(model) => format!("{model}/{}", cell.variant),
        None => cell.variant.to_owned(),
    };
    let system = visible_name(&system);
    let mut text = format!("[{DONE}/{}] {} {system}", cell.total, id(cell.sample));
    if cell.trial > 0 {
        let _ = write!(text, " trial {}", cell.trial);
    }
    let status = status(cell);
    let status = match status {
        "error" => status.red().to_string(),
        "unscored" => status.yellow().to_string(),
        _ => status.to_owned(),
    };
    let _ = write!(text, " {status} {}", duration(cell.duration_ms));
    if let Some(error) = cell.error.filter(|_| cell.status == CellStatus::Error) {
        let message = if is_told { "as above".to_owned() } else { cut(&error.message) };
        let _ = write!(text, ": {}: {message}", error.code);
    }
    text
}

/// Fills in `{name}` placeholders. A trial above 0 and an error follow the line where the format does not have them.
fn custom(cell: &CellProgress<'_>, format: &str) -> String {
    let sample = id(cell.sample);
    let (total, trial, took) = (cell.total.to_string(), cell.trial.to_string(), cell.duration_ms.to_string());
    let (model, variant) = (visible_name(cell.model.unwrap_or("none")), visible_name(cell.variant));
    let fields = [
        ("{done}", DONE),
        ("{total}", &total),
        ("{sample}", &sample),
        ("{model}", &model),
        ("{variant}", &variant),
        ("{trial}", &trial),
        ("{status}", status(cell)),
        ("{duration_ms}", &took),
    ];
    let mut text = String::with_capacity(format.len() + 64);
    let mut rest = format;
    while let Some(at) = rest.find('{') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let field = fields.iter().find(|(name, _)| rest.starts_with(name));
        let (name, value) = field.map_or(("{", "{"), |(name, value)| (*name, *value));
        text.push_str(value);
        rest = &rest[name.len()..];
    }
    text.push_str(rest);
    if cell.trial > 0 && !format.contains("{trial}") {
        let _ = write!(text, " trial={}", cell.trial);
    }
    if let Some(error) = cell.error.filter(|_| cell.status == CellStatus::Error) {
        let _ = write!(text, " code={} message={:?}", error.code, cut(&error.message));
    }
    text
}

/// Returns an id from a dataset as one word without control characters.
fn id(id: &str) -> String {
    let is_word = !id.chars().any(|c| c.is_whitespace() || c.is_control());
    if is_word { visible_name(id).into_owned() } else { visible_name(&format!("{id:?}")).into_owned() }
}

fn cut(message: &str) -> String {
    let spaced: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    karat_app::ends(&visible_name(&spaced), MESSAGE.0, MESSAGE.1).into_owned()
}

fn duration(ms: u64) -> String {
    if ms < 10_000 { format!("{ms} ms") } else { format!("{:.1} s", ms as f64 / 1000.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use karat_types::{CellError, Money};

    const SEED: &str = "[cell {done}/{total}] videoId={sample} modelId={model} variant={variant} status={status} durationMs={duration_ms}";

    fn cell() -> CellProgress<'static> {
        CellProgress {
            ordinal: 11,
            done: 12,
            total: 60,
            sample: "h_1zlead9ZU",
            model: Some("gpt-5-mini"),
            variant: "raw",
            trial: 0,
            status: CellStatus::Ok,
            unscored: false,
            reuse: OutputOrigin::Fresh,
            duration_ms: 53_210,
            error: None,
            spent: Money::ZERO,
        }
    }

    #[test]
    fn the_standard_line_is_short() {
        assert_eq!(CellLine::new(&cell(), None).text(12), "[12/60] h_1zlead9ZU gpt-5-mini/raw ok 53.2 s");
        let cached = CellProgress { reuse: OutputOrigin::Reused, duration_ms: 4, model: None, trial: 2, ..cell() };
        assert_eq!(CellLine::new(&cached, None).text(13), "[13/60] h_1zlead9ZU raw trial 2 cached 4 ms");
    }

    /// PE-28, CL-04: the format of the preset claims gives the line with named fields.
    #[test]
    fn a_suite_may_format_the_line() {
        assert_eq!(
            CellLine::new(&cell(), Some(SEED)).text(12),
            "[cell 12/60] videoId=h_1zlead9ZU modelId=gpt-5-mini variant=raw status=ok durationMs=53210"
        );
        assert_eq!(CellLine::new(&cell(), Some("{done}: {other} {sample}")).text(1), "1: {other} h_1zlead9ZU");
    }

    /// An id cannot add fields or lines, and an error is named.
    #[test]
    fn ids_and_messages_stay_on_the_line() {
        let error = CellError::new("io", "no\nroute");
        let failed = CellProgress { sample: "a b\u{1}", status: CellStatus::Error, error: Some(&error), ..cell() };
        for format in [None, Some(SEED)] {
            let line = CellLine::new(&failed, format).text(1);
            assert!(line.contains(r#""a b\u{1}""#) && !line.contains('\n'), "{line}");
            assert!(line.contains("no route"), "{line}");
        }
    }
}
