//! Problems of a suite: message, place and hint. All of them are reported, not only the first.
//!
//! - here: [`Diagnostic`], and `Problems`, which collects them; `nearest.rs`: "did you mean …?"

pub(crate) mod nearest;

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::files::folder;

/// Index of a source text that was read while loading a suite.
pub(crate) type FileId = usize;

/// A place in a source text: byte offsets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub file: FileId,
    pub span: Range<usize>,
}

/// Severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Something was read leniently, and how.
    Notice,
    /// The suite can be used, but a part of it has no effect.
    Warning,
    /// The suite cannot be used.
    Error,
}

/// One problem with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its severity.
    pub severity: Severity,
    /// The message.
    pub message: String,
    /// Path of the file, or the command-line flag, that contains the problem.
    pub file: String,
    /// Byte offsets within the file's text, or within the one line that is shown of a data file.
    pub span: Range<usize>,
    /// Line, from 1; 0 when the problem has no place in the file.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The hint: the next step.
    pub hint: Option<String>,
    source: Option<Excerpt>,
}

/// The text that a problem is shown in.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Excerpt {
    text: Arc<str>,
    first_line: usize,
}

impl Diagnostic {
    /// A problem of a file as a whole.
    pub fn of_file(severity: Severity, file: &str, message: impl Into<String>) -> Self {
        Self {
            severity,
            message: message.into(),
            file: file.to_owned(),
            span: 0..0,
            line: 0,
            column: 0,
            hint: None,
            source: None,
        }
    }

    /// A problem of one line of a data file. `line` counts from 1, `span` is within `text`.
    pub(crate) fn of_line(file: &str, line: usize, text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        if text.is_empty() {
            return Self { line, column: 1, ..Self::of_file(Severity::Error, file, message) };
        }
        let (text, span) = shorten(text, span);
        let column = text.get(..span.start).map_or(1, |before| before.chars().count() + 1);
        Self {
            line,
            column,
            source: Some(Excerpt { text: text.into(), first_line: line }),
            span,
            ..Self::of_file(Severity::Error, file, message)
        }
    }

    /// Adds a hint.
    pub(crate) fn hint(&mut self, hint: impl Into<String>) -> &mut Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a hint, if there is one.
    pub(crate) fn maybe_hint(&mut self, hint: Option<String>) -> &mut Self {
        self.hint = hint.or(self.hint.take());
        self
    }

    /// The same place under another message, without the content at that place.
    pub(crate) fn without_content(&self, message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, source: None, ..self.clone() }
    }

    fn render(&self, renderer: &Renderer) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Notice => Level::NOTE.with_name("notice"),
        };
        let title = level.primary_title(self.message.as_str());
        let group = match &self.source {
            Some(excerpt) => title.element(
                Snippet::source(&*excerpt.text)
                    .line_start(excerpt.first_line)
                    .path(self.file.as_str())
                    .annotation(AnnotationKind::Primary.span(self.shown_span(&excerpt.text))),
            ),
            None => Group::with_title(title).element(match self.line {
                0 => Origin::path(self.file.as_str()),
                line => Origin::path(self.file.as_str()).line(line),
            }),
        };
        let group = match &self.hint {
            Some(hint) => group.element(Level::HELP.message(hint.as_str())),
            None => group,
        };
        renderer.render(&[group])
    }

    /// The first line of the span: a caret under a whole map would be a wall of carets.
    fn shown_span(&self, text: &str) -> Range<usize> {
        let start = floor(text, self.span.start.min(text.len()));
        let end = floor(text, self.span.end.min(text.len())).max(start);
        let line_end = text[start..end].find('\n').map_or(end, |newline| start + newline);
        start..line_end
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        write!(f, ": {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    while at > 0 && !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Cuts a very long line around the span, so that a terminal can show it.
fn shorten(text: &str, span: Range<usize>) -> (String, Range<usize>) {
    const AROUND: usize = 120;
    let text = text.trim_end_matches(['\n', '\r']);
    let start = floor(text, span.start.min(text.len()));
    let end = floor(text, span.end.clamp(start, text.len()));
    if text.len() <= 2 * AROUND {
        return (text.to_owned(), start..end);
    }
    let from = floor(text, start.saturating_sub(AROUND));
    let to = floor(text, (start + AROUND).min(text.len()));
    let head = if from > 0 { "…" } else { "" };
    let tail = if to < text.len() { "…" } else { "" };
    let shift = head.len();
    (format!("{head}{}{tail}", &text[from..to]), start - from + shift..end.min(to) - from + shift)
}

/// All problems of one load, in the order of their places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// The problems.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    /// Their number.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether any of them makes the suite unusable.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// All of them with their lines, as plain text.
    pub fn plain(&self) -> String {
        self.render(&Renderer::plain())
    }

    /// All of them with their lines, with terminal colours.
    pub fn render_coloured(&self) -> String {
        self.render(&Renderer::styled())
    }

    fn render(&self, renderer: &Renderer) -> String {
        let shown: Vec<_> = self.0.iter().map(|problem| problem.render(renderer)).collect();
        shown.join("\n\n")
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(problem: Diagnostic) -> Self {
        Self(vec![problem])
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(problems: I) -> Self {
        Self(problems.into_iter().collect())
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for Diagnostics {
    /// One problem a line, as `file:line:column: message (hint)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// Collects problems while a suite is loaded, and keeps the source texts for excerpts.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    sources: Vec<Source>,
    found: Vec<Diagnostic>,
}

#[derive(Debug)]
struct Source {
    path: String,
    folder: String,
    text: Arc<str>,
}

impl Problems {
    /// Registers a source text.
    pub fn source(&mut self, path: &str, text: &str) -> FileId {
        self.register(path, folder(path), text)
    }

    /// Registers what was given on the command line; relative paths in it are relative to the working directory.
    pub fn command_line(&mut self, flag: &str, text: &str) -> FileId {
        self.register(flag, "", text)
    }

    /// Path of a source.
    pub fn path(&self, file: FileId) -> &str {
        self.sources.get(file).map_or("", |source| &source.path)
    }

    /// The folder that relative paths in a source are relative to.
    pub fn folder(&self, file: FileId) -> &str {
        self.sources.get(file).map_or("", |source| &source.folder)
    }

    /// Text of a source.
    pub fn text(&self, file: FileId) -> Arc<str> {
        self.sources.get(file).map_or_else(|| "".into(), |source| source.text.clone())
    }

    /// Masks the text at a place with asterisks in all later messages.
    pub fn mask(&mut self, place: &Place) {
        let Some(source) = self.sources.get_mut(place.file) else { return };
        let within = |at: usize| place.span.contains(&at);
        let stars =
            |(at, it): (usize, char)| if within(at) && it != '\n' { "*".repeat(it.len_utf8()) } else { it.into() };
        source.text = source.text.char_indices().map(stars).collect::<String>().into();
    }

    fn register(&mut self, path: &str, folder: &str, text: &str) -> FileId {
        self.sources.push(Source { path: path.to_owned(), folder: folder.to_owned(), text: text.into() });
        self.sources.len() - 1
    }

    /// The line of a place, from 1.
    pub fn line(&self, place: &Place) -> usize {
        let text = self.text(place.file);
        let at = floor(&text, place.span.start.min(text.len()));
        text[..at].matches('\n').count() + 1
    }

    /// Records that the suite cannot be used.
    pub fn error(&mut self, place: &Place, message: impl Into<String>) -> &mut Diagnostic {
        self.add(Severity::Error, place, message.into())
    }

    /// Records a warning.
    pub fn warn(&mut self, place: &Place, message: impl Into<String>) -> &mut Diagnostic {
        self.add(Severity::Warning, place, message.into())
    }

    /// Records that something was read leniently.
    pub fn notice(&mut self, place: &Place, message: impl Into<String>) -> &mut Diagnostic {
        self.add(Severity::Notice, place, message.into())
    }

    /// Records a problem that was placed elsewhere.
    pub fn push(&mut self, problem: Diagnostic) -> &mut Diagnostic {
        self.found.push(problem);
        let last = self.found.len() - 1;
        &mut self.found[last]
    }

    /// Number of errors so far.
    pub fn errors(&self) -> usize {
        self.found.iter().filter(|problem| problem.severity == Severity::Error).count()
    }

    /// The problems, by file in order of reading and by place in each; the same problem once.
    pub fn into_diagnostics(self) -> Diagnostics {
        let rank = |file: &str| self.sources.iter().position(|source| source.path == file).unwrap_or(usize::MAX);
        let mut found = self.found;
        found.sort_by_key(|problem| (rank(&problem.file), problem.line, problem.span.start));
        let mut seen = BTreeSet::new();
        found.retain(|it| seen.insert((it.file.clone(), it.span.start, it.span.end, it.line, it.message.clone())));
        Diagnostics(found)
    }

    fn add(&mut self, severity: Severity, place: &Place, message: String) -> &mut Diagnostic {
        let text = self.text(place.file);
        let start = floor(&text, place.span.start.min(text.len()));
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let problem = Diagnostic {
            severity,
            message,
            file: self.path(place.file).to_owned(),
            span: start..floor(&text, place.span.end.min(text.len())).max(start),
            line: self.line(place),
            column: text[line_start..start].chars().count() + 1,
            hint: None,
            source: Some(Excerpt { text, first_line: 1 }),
        };
        self.push(problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_problems() -> Diagnostics {
        let mut problems = Problems::default();
        let file = problems.source("suite.yaml", "name: x\nmodle: [a]\nrun: { trials: 0 }\n");
        problems.error(&Place { file, span: 34..35 }, "`trials` must be at least 1");
        problems.error(&Place { file, span: 8..13 }, "unknown key `modle`").hint("did you mean `models`?");
        problems.into_diagnostics()
    }

    #[test]
    fn problems_come_in_the_order_of_their_places() {
        let expected = r"error: unknown key `modle`
 --> suite.yaml:2:1
  |
2 | modle: [a]
  | ^^^^^
  |
  = help: did you mean `models`?

error: `trials` must be at least 1
 --> suite.yaml:3:16
  |
3 | run: { trials: 0 }
  |                ^";
        assert_eq!(two_problems().plain(), expected);
        let lines = "suite.yaml:2:1: unknown key `modle` (did you mean `models`?)\nsuite.yaml:3:16: `trials` must be at least 1";
        assert_eq!(two_problems().to_string(), lines);
    }

    #[test]
    fn colour_is_only_a_second_coat() {
        let coloured = two_problems().render_coloured();
        assert!(coloured.contains("\u{1b}["));
        let plain: String = strip(&coloured);
        assert_eq!(plain, two_problems().plain());
    }

    fn strip(text: &str) -> String {
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('\u{1b}') {
            plain.push_str(&rest[..at]);
            rest = rest[at..].split_once('m').map_or("", |(_, after)| after);
        }
        plain + rest
    }

    #[test]
    fn a_long_data_line_is_cut_around_the_span() {
        let line = format!("{{\"a\": \"{}\", \"b\": 1, \"c\": \"{}\"}}", "x".repeat(500), "y".repeat(500));
        let at = line.find("\"b\"").unwrap();
        let problem = Diagnostic::of_line("d.jsonl", 7, &line, at..at + 3, "wrong");
        assert_eq!(&problem.source.as_ref().unwrap().text[problem.span.clone()], "\"b\"");
        assert!(problem.source.as_ref().unwrap().text.len() < 300);
    }
}
