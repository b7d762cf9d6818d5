//! Syntax errors of YAML in plain words, each at the character that has to change.
//!
//! The YAML library names the rule that is broken and the place where it noticed. An author needs the place of the
//! mistake, which may be earlier: a quote that is never closed is noticed lines later.

use std::ops::Range;

use serde_saphyr::granit_parser::ErrorKind;

/// A syntax error as an author reads it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct YamlError {
    pub message: String,
    pub hint: Option<String>,
    /// Byte offsets in the source.
    pub span: Range<usize>,
}

/// Words an error of the library; `at` is the byte offset that it names, `message` what is said of other errors.
pub(super) fn explain(kind: Option<&ErrorKind>, message: &str, source: &str, at: usize) -> YamlError {
    let at = at.min(source.len());
    match kind {
        Some(
            ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabAtBlockScalarStart
            | ErrorKind::TabInIndentation
            | ErrorKind::TabInPlainScalar,
        ) => tab(source, at),
        Some(
            ErrorKind::UnclosedQuotedScalar
            | ErrorKind::InvalidQuotedScalarIndent
            | ErrorKind::DocumentIndicatorInQuotedScalar,
        ) => unclosed_quote(source, at),
        Some(ErrorKind::InvalidTrailingSingleQuotedScalar | ErrorKind::InvalidTrailingDoubleQuotedScalar) => {
            after_quote(source, at)
        }
        Some(
            ErrorKind::ExpectedBlockSequenceEntry
            | ErrorKind::ExpectedBlockMappingKey
            | ErrorKind::InvalidIndentation
            | ErrorKind::InvalidFlowScalarIndent
            | ErrorKind::InvalidBlockScalarIndent,
        ) => indentation(source, at),
        Some(ErrorKind::SimpleKeyExpected) => no_colon(source, at),
        Some(ErrorKind::MappingValueNotAllowed) => colon(source, at),
        Some(ErrorKind::UnclosedFlowCollection { open }) => {
            let open = if "[{".contains(*open) { *open } else { '[' };
            error(
                format!("invalid YAML: the bracket `{open}` is never closed"),
                format!("add the closing `{}`", closing(open)),
                character(source, at),
            )
        }
        Some(ErrorKind::MismatchedFlowCollectionEnd { open, close }) => error(
            format!("invalid YAML: the bracket `{open}` is closed by `{close}`"),
            format!("close it with `{}`", closing(*open)),
            character(source, at),
        ),
        Some(ErrorKind::MisplacedFlowCollectionEnd) => {
            error("invalid YAML: no bracket is open here", "remove this bracket, or open one", character(source, at))
        }
        Some(ErrorKind::UnexpectedEofFlowSequence | ErrorKind::ExpectedFlowSequenceSeparator) => {
            bracket(("list", ']'), source, at)
        }
        Some(
            ErrorKind::UnexpectedEofFlowMapping
            | ErrorKind::UnexpectedEofImplicitFlowMapping
            | ErrorKind::ExpectedFlowMappingSeparator
            | ErrorKind::FlowMappingValueAdjacentCollection,
        ) => bracket(("map", '}'), source, at),
        Some(ErrorKind::UnknownQuotedScalarEscape) => {
            let escape = unknown_escape(&source[at..]).map_or(at, |found| at + found);
            error(
                "invalid YAML: unknown escape within double quotes",
                "write `\\\\` for a backslash, or put the text in single quotes",
                escape..source.ceil_char_boundary((escape + 2).min(source.len())),
            )
        }
        Some(ErrorKind::UnexpectedCharacter { character: shown }) => error(
            format!("invalid YAML: a text cannot begin with `{shown}`"),
            "put the text in quotes",
            character(source, at),
        ),
        Some(ErrorKind::UnknownAnchor) => error(
            "invalid YAML: `*` refers to an anchor that does not exist",
            "put a text that begins with `*` in quotes",
            character(source, at),
        ),
        _ => YamlError { message: format!("invalid YAML: {message}"), hint: None, span: character(source, at) },
    }
}

fn closing(open: char) -> char {
    if open == '[' { ']' } else { '}' }
}

/// The first backslash that does not begin an escape of YAML.
fn unknown_escape(text: &str) -> Option<usize> {
    const ESCAPES: &str = "0abtnvfre\"/\\N_LPxuU \t\r\n";
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        if character == '\\' && characters.next().is_none_or(|(_, escaped)| !ESCAPES.contains(escaped)) {
            return Some(at);
        }
    }
    None
}

fn error(message: impl Into<String>, hint: impl Into<String>, span: Range<usize>) -> YamlError {
    YamlError { message: message.into(), hint: Some(hint.into()), span }
}

/// The character at an offset; of a line's end, the last one before it.
fn character(source: &str, at: usize) -> Range<usize> {
    let at = source.floor_char_boundary(at);
    match source[at..].chars().next() {
        Some(here) if here != '\n' && here != '\r' => at..at + here.len_utf8(),
        _ => at..at,
    }
}

/// A tab before the text of a line: that line, or the first one behind the text that was read when it was noticed.
fn tab(source: &str, at: usize) -> YamlError {
    let start = line_start(source, at);
    let mut line = start;
    let mut tab = None;
    for text in source[start..].split_inclusive('\n') {
        let blank = text.len() - text.trim_start_matches([' ', '\t']).len();
        tab = text[..blank].find('\t').map(|found| line + found);
        if tab.is_some() {
            break;
        }
        line += text.len();
    }
    let tab = tab.unwrap_or(at);
    let width = source[tab..].chars().take_while(|it| *it == '\t').count();
    error("invalid YAML: a tab is used for indentation", "use spaces: YAML does not allow tabs here", tab..tab + width)
}

fn unclosed_quote(source: &str, at: usize) -> YamlError {
    let open = opening_quote(source, at).unwrap_or(at);
    let quote = source[open..].chars().next().filter(|it| is_quote(*it)).unwrap_or('"');
    error(
        format!("invalid YAML: the quote `{quote}` is never closed"),
        format!("add the closing `{quote}` at the end of the text"),
        character(source, open),
    )
}

/// Text after a closing quote: of a quote within the text, or of one lines above that was never closed.
fn after_quote(source: &str, at: usize) -> YamlError {
    let before = source[..at].trim_end();
    let close = before.len().saturating_sub(1);
    let open = opening_quote(source, close).filter(|open| source[*open..close].contains('\n'));
    if let Some(open) = open {
        return unclosed_quote(source, open + 1);
    }
    let quote = before.chars().next_back().filter(|it| is_quote(*it)).unwrap_or('"');
    let within = if quote == '"' { "\\\"" } else { "''" };
    error(
        format!("invalid YAML: text after the closing quote `{quote}`"),
        format!("write a quote within the text as `{within}`, or remove what follows the closing quote"),
        character(source, at),
    )
}

/// The quote that opened the text which the library was reading at an offset. Within that text no quote of its kind can
/// stand, so it is the last of its kind; and it begins a value.
fn opening_quote(source: &str, at: usize) -> Option<usize> {
    if source[at..].starts_with(is_quote) && begins_value(source, at) {
        return Some(at);
    }
    let last = |quote: char| {
        let mut found = source[..at].rmatch_indices(quote).map(|(found, _)| found);
        found.find(|found| quote == '\'' || !source[..*found].ends_with('\\'))
    };
    let open = [last('"'), last('\'')].into_iter().flatten().filter(|open| begins_value(source, *open));
    open.min()
}

fn is_quote(it: char) -> bool {
    it == '"' || it == '\''
}

/// Returns whether a value of YAML can begin at an offset.
fn begins_value(source: &str, at: usize) -> bool {
    let before = source[line_start(source, at)..at].trim_end_matches(' ');
    let is_apart = before.len() < at - line_start(source, at);
    before.is_empty() || before.ends_with(['[', '{', ',']) || is_apart && before.ends_with([':', '-', '?'])
}

fn indentation(source: &str, at: usize) -> YamlError {
    let line = line_start(source, at);
    let text = source[line..].lines().next().unwrap_or_default();
    let column = indent_of(text);
    let span = character(source, line + column);
    if let Some(mixed) = mixed_members(source, line, text, span.clone()) {
        return mixed;
    }
    let mut above: Vec<String> = columns_above(source, line).iter().map(|column| (column + 1).to_string()).collect();
    let innermost = if above.is_empty() { None } else { Some(above.remove(0)) };
    above.reverse();
    let rule = "begin the lines of one map or list in the same column";
    let hint = match innermost {
        None => rule.to_owned(),
        Some(last) if above.is_empty() => format!("{rule}; above it they begin in column {last}"),
        Some(last) => format!("{rule}; above it they begin in column {} or {last}", above.join(", ")),
    };
    error(
        format!("invalid YAML: wrong indentation: nothing above this line begins in column {}", column + 1),
        hint,
        span,
    )
}

/// A list item among the keys of a map, or a key among the items of a list.
fn mixed_members(source: &str, line: usize, text: &str, span: Range<usize>) -> Option<YamlError> {
    let is_item = |text: &str| text.trim_start().starts_with("- ") || text.trim() == "-";
    let column = indent_of(text);
    let mut above =
        source[..line].lines().rev().filter(|it| !it.trim().is_empty() && !it.trim_start().starts_with('#'));
    let sibling = above.find(|it| indent_of(it) <= column).filter(|it| indent_of(it) == column)?;
    match (is_item(text), is_item(sibling)) {
        (true, false) => Some(error(
            "invalid YAML: a list item (`- `) stands among the keys of a map",
            format!("indent it below its key, or remove the `- `; the key above it is `{}`", shorten(sibling.trim())),
            span,
        )),
        (false, true) => Some(error(
            "invalid YAML: a key stands among the items of a list",
            "begin it with `- `, or indent it by two more spaces if it belongs to the item above",
            span,
        )),
        _ => None,
    }
}

/// The columns in which the maps and lists around a line begin, innermost first: those of the lines above that are not
/// within a deeper one.
fn columns_above(source: &str, line: usize) -> Vec<usize> {
    let mut columns: Vec<usize> = Vec::new();
    let lines = source[..line].lines().rev().filter(|it| !it.trim().is_empty() && !it.trim_start().starts_with('#'));
    for text in lines {
        let indent = indent_of(text);
        let mut starts = vec![indent];
        let mut rest = &text[indent..];
        let mut column = indent;
        while let Some(after) = rest.strip_prefix("- ") {
            let inner = after.len() - after.trim_start_matches(' ').len();
            column += 2 + inner;
            rest = &after[inner..];
            starts.push(column);
        }
        let least = columns.last().copied().unwrap_or(usize::MAX);
        columns.extend(starts.into_iter().rev().filter(|start| *start < least));
        if indent == 0 {
            break;
        }
    }
    columns.truncate(3);
    columns
}

/// A line without `:`.
fn no_colon(source: &str, at: usize) -> YamlError {
    let line = line_start(source, at);
    let text = source[line..].lines().next().unwrap_or_default();
    error(
        "invalid YAML: this line has no `:`",
        "write `key: value`; a text that goes on in the next line is indented",
        line + indent_of(text)..line + text.trim_end().len(),
    )
}

/// A `:` where none can be.
fn colon(source: &str, at: usize) -> YamlError {
    let line = line_start(source, at);
    let text = source[line..].lines().next().unwrap_or_default();
    let indent = indent_of(text);
    let key = text[indent..].trim_start_matches("- ");
    let before = &source[line..at];
    if before.contains(": ") {
        return error(
            "invalid YAML: a second `:` in an unquoted text",
            format!("put the text in quotes: {}", quoted_value(key)),
            character(source, at),
        );
    }
    let mut lines = source[..line].split_inclusive('\n').rev();
    let mut start = line;
    let above = lines.find(|it| {
        start -= it.len();
        !it.trim().is_empty() && !it.trim_start().starts_with('#')
    });
    let column = |text: &str| text.len() - text.trim_start_matches(['-', ' ']).len();
    match above {
        Some(above) if column(above) < indent => error(
            format!("invalid YAML: this line is indented below `{}`, which has a value already", shorten(above.trim())),
            format!("begin it in column {}, as the line above", column(above) + 1),
            character(source, line + indent),
        ),
        Some(above) if !above.contains(':') => error(
            "invalid YAML: this line has no `:`",
            "write `key: value`; a text that goes on in the next line is indented",
            start + indent_of(above)..start + above.trim_end().len(),
        ),
        _ => error(
            "invalid YAML: a `:` cannot stand here",
            "put a text that contains `: ` in quotes",
            character(source, at),
        ),
    }
}

fn quoted_value(line: &str) -> String {
    match line.split_once(": ") {
        Some((key, value)) if !value.contains('"') && value.len() <= 60 => format!("`{key}: \"{}\"`", value.trim()),
        _ => "`key: \"…\"`".to_owned(),
    }
}

/// A bracket that is open where something else begins.
fn bracket((what, close): (&str, char), source: &str, at: usize) -> YamlError {
    if let Some(open) = open_above(source, at) {
        let close = if source[open..].starts_with('[') { ']' } else { '}' };
        let shown = if close == ']' { '[' } else { '{' };
        return error(
            format!("invalid YAML: the bracket `{shown}` is never closed"),
            format!("add the closing `{close}`"),
            character(source, open),
        );
    }
    error(
        format!("invalid YAML: a `,` or `{close}` is missing in this {what}"),
        format!(
            "separate its members with `,`, close it with `{close}`, and put texts with `,`, `:` or brackets in quotes"
        ),
        character(source, at),
    )
}

/// The bracket of an earlier line that is still open where a new key begins a line.
fn open_above(source: &str, at: usize) -> Option<usize> {
    let line = line_start(source, at);
    let begins_key = source[at..].starts_with(':') && !source[line..at].contains([' ', ',', '{', '[', '"', '\'']);
    if !begins_key {
        return None;
    }
    let mut closed = 0;
    for (found, bracket) in source[..line].char_indices().rev() {
        match bracket {
            ']' | '}' => closed += 1,
            '[' | '{' if closed > 0 => closed -= 1,
            '[' | '{' => return Some(found),
            _ => {}
        }
    }
    None
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn line_start(source: &str, at: usize) -> usize {
    source[..at].rfind('\n').map_or(0, |newline| newline + 1)
}
