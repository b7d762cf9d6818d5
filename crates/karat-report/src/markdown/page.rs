//! A Markdown page under construction: headings, paragraphs, lists and tables made of inline pieces. A piece is
//! escaped when it is made.

use crate::shared::visible::{one_line, visible};

/// A piece of one line. Only [`Inline::plain`] accepts Markdown, and only from source code.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Inline(String);

impl Inline {
    /// Makes a piece from a text in the source code, which may hold Markdown.
    pub(crate) fn plain(text: &'static str) -> Self {
        Self(text.to_owned())
    }

    /// Makes a piece from any text, and escapes it.
    pub(crate) fn text(text: impl AsRef<str>) -> Self {
        Self(escape(&one_line(text.as_ref())))
    }

    /// Makes a piece from an id, in code font if the code font can represent it. Otherwise it could mention somebody where
    /// the document is shown, so its `@` is the full-width one.
    pub(crate) fn code(id: impl AsRef<str>) -> Self {
        let id = one_line(id.as_ref());
        let fits = !id.is_empty() && !id.contains(['`', '|', '\\']);
        Self(if fits { format!("`{id}`") } else { escape(&id.replace('@', "＠")) })
    }

    /// Makes a piece from a name or a short text, which mentions nobody where the document is shown: its `@` is the
    /// full-width one.
    pub(crate) fn name(text: impl AsRef<str>) -> Self {
        Self::text(text.as_ref().replace('@', "＠"))
    }

    /// Makes a piece from a sentence in which backticks enclose code.
    pub(crate) fn sentence(text: &str) -> Self {
        let text = one_line(text);
        let pieces = text.split('`').enumerate();
        if pieces.clone().count().is_multiple_of(2) {
            return Self(escape(&text));
        }
        let piece = |(at, part)| if at % 2 == 1 { Self::code(part) } else { Self(escape(part)) };
        pieces.map(piece).fold(Self::default(), Self::then)
    }

    /// Appends a text from the source code.
    pub(crate) fn and(mut self, text: &'static str) -> Self {
        self.0.push_str(text);
        self
    }

    /// Appends any text, escaped.
    pub(crate) fn and_text(self, text: impl AsRef<str>) -> Self {
        self.then(Self::text(text))
    }

    /// Appends an id.
    pub(crate) fn and_code(self, id: impl AsRef<str>) -> Self {
        self.then(Self::code(id))
    }

    /// Appends another piece.
    pub(crate) fn then(mut self, other: Self) -> Self {
        self.0.push_str(&other.0);
        self
    }

    /// Returns the piece in bold.
    pub(crate) fn bold(self) -> Self {
        Self(format!("**{}**", self.0))
    }

    /// Joins pieces with commas.
    pub(crate) fn list(pieces: impl IntoIterator<Item = Self>) -> Self {
        Self(pieces.into_iter().map(|piece| piece.0).collect::<Vec<_>>().join(", "))
    }
}

/// Escapes every character that Markdown or HTML would interpret. The text has one line.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for (at, c) in text.char_indices() {
        let after = text.get(at + c.len_utf8()..).unwrap_or_default();
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' => out.extend(['\\', c]),
            '!' if after.starts_with('[') => out.extend(['\\', c]),
            // GFM turns bare URLs into links.
            ':' if after.starts_with("//") => out.extend(['\\', c]),
            '.' if text.get(..at).is_some_and(|before| before.to_lowercase().ends_with("www")) => out.extend(['\\', c]),
            // These characters would start a block at the beginning of a line.
            '#' | '-' | '+' | '=' if at == 0 && (ends_word(after) || after.starts_with(c)) => out.extend(['\\', c]),
            '.' | ')' if ends_word(after) && is_number(text.get(..at)) => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

/// Returns `true` if nothing or white space follows.
fn ends_word(after: &str) -> bool {
    after.chars().next().is_none_or(char::is_whitespace)
}

fn is_number(before: Option<&str>) -> bool {
    before.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// For text.
    Left,
    /// For numbers.
    Right,
}

/// The header of a column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    name: Inline,
    align: Align,
}

impl Column {
    /// A column of text.
    pub(crate) fn left(name: Inline) -> Self {
        Self { name, align: Align::Left }
    }

    /// A column of numbers.
    pub(crate) fn right(name: Inline) -> Self {
        Self { name, align: Align::Right }
    }
}

/// Makes columns from their headers: the first for text, the others for numbers.
pub(crate) fn columns(names: &[&'static str]) -> Vec<Column> {
    let column = |(at, name): (usize, &&'static str)| {
        let name = Inline::plain(name);
        if at == 0 { Column::left(name) } else { Column::right(name) }
    };
    names.iter().enumerate().map(column).collect()
}

/// A Markdown document.
#[derive(Debug, Default)]
pub(crate) struct Page(String);

impl Page {
    /// Adds a heading of the given level, from 1.
    pub(crate) fn heading(&mut self, level: usize, text: Inline) {
        let marks = "#".repeat(level.clamp(1, 6));
        self.block(&format!("{marks} {}", text.0));
    }

    /// Adds a paragraph.
    pub(crate) fn paragraph(&mut self, text: Inline) {
        self.block(&text.0);
    }

    /// Adds a quoted paragraph.
    pub(crate) fn quote(&mut self, text: Inline) {
        self.block(&format!("> {}", text.0));
    }

    /// Adds a list, or nothing if it is empty.
    pub(crate) fn list(&mut self, items: impl IntoIterator<Item = Inline>) {
        let items: Vec<String> = items.into_iter().map(|item| format!("- {}", item.0)).collect();
        if !items.is_empty() {
            self.block(&items.join("\n"));
        }
    }

    /// Adds a table. Rows shorter than the header are filled, longer ones are cut.
    pub(crate) fn table(&mut self, columns: &[Column], rows: impl IntoIterator<Item = Vec<Inline>>) {
        let line = |cells: Vec<&str>| format!("| {} |", cells.join(" | "));
        let rule = |column: &Column| if column.align == Align::Right { "---:" } else { "---" };
        let mut lines = vec![
            line(columns.iter().map(|column| column.name.0.as_str()).collect()),
            line(columns.iter().map(rule).collect()),
        ];
        for row in rows {
            let cell = |at: usize| row.get(at).map_or("", |cell| cell.0.as_str());
            lines.push(line((0..columns.len()).map(cell).collect()));
        }
        self.block(&lines.join("\n"));
    }

    /// Adds an HTML comment that programs find the document by. The name has no `-->`.
    pub(crate) fn marker(&mut self, name: &str) {
        self.block(&format!("<!-- {name} -->"));
    }

    /// Adds any text in a code fence that it cannot close. Control characters become visible.
    pub(crate) fn code_fence(&mut self, language: &'static str, text: &str) {
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
        let fence = "`".repeat(longest.max(2) + 1);
        self.block(&format!("{fence}{language}\n{}\n{fence}", visible(text).trim_end_matches('\n')));
    }

    fn block(&mut self, text: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(text.trim_end());
        self.0.push('\n');
    }

    /// Returns the document.
    pub(crate) fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pulldown_cmark::{Event, Options, Parser, Tag};

    fn render(inline: Inline) -> (String, Vec<Event<'static>>) {
        let mut page = Page::default();
        page.table(&columns(&["head"]), [vec![inline]]);
        let text = page.finish();
        let events = Parser::new_ext(&text, Options::all()).map(Event::into_static).collect::<Vec<_>>();
        let shown_text = events.iter().filter_map(|event| match event {
            Event::Text(text) | Event::Code(text) => Some(text.to_string()),
            _ => None,
        });
        (shown_text.skip(1).collect(), events)
    }

    /// CL-19: text from outside is shown and never interpreted.
    #[test]
    fn hostile_texts_are_only_shown() {
        for hostile in [
            "a|b",
            "`code`",
            "``",
            "**b** _i_ ~~s~~",
            "<script>x</script>",
            "[l](http://e.example)",
            "![i](x)",
            "&amp;",
            "\\|",
            "# h",
            "- x",
            "1. x",
            "http://e.example www.e.example",
            "$x$",
            "<http://e.example>",
            "\\",
        ] {
            for inline in [Inline::text(hostile), Inline::code(hostile)] {
                let (shown_text, events) = render(inline.clone());
                assert_eq!(shown_text, hostile, "{inline:?}");
                let acted = events.iter().any(|event| matches!(event, Event::Html(_) | Event::InlineHtml(_)));
                assert!(!acted, "{hostile}: {events:?}");
            }
        }
    }

    /// CL-19: an id notifies nobody, in code font or without it.
    #[test]
    fn an_id_mentions_nobody() {
        for (id, written) in [("a @octocat", "`a @octocat`"), ("a ` @octocat", "a \\` ＠octocat")] {
            let mut page = Page::default();
            page.paragraph(Inline::code(id));
            assert_eq!(page.finish().trim(), written);
        }
    }

    /// CL-19: text from outside starts no block at the beginning of a line.
    #[test]
    fn hostile_texts_start_no_block() {
        for hostile in ["# h", "## h", "- x", "+ x", "---", "===", "1. x", "1) x", "12.", "> q", "```", "~~~", "| a |"]
        {
            let mut page = Page::default();
            page.paragraph(Inline::text(hostile));
            let text = page.finish();
            let events: Vec<Event<'_>> = Parser::new_ext(&text, Options::ENABLE_GFM | Options::ENABLE_TABLES).collect();
            let shown_text: String = events
                .iter()
                .filter_map(|event| match event {
                    Event::Text(text) => Some(text.to_string()),
                    _ => None,
                })
                .collect();
            assert_eq!(shown_text, hostile, "{events:?}");
            assert!(matches!(events.first(), Some(Event::Start(Tag::Paragraph))), "{events:?}");
        }
        assert_eq!(Inline::text("7.75 +1.04 -x 1.5").0, "7.75 +1.04 -x 1.5");
    }

    /// CL-19, field test C1: no content closes its fence.
    #[test]
    fn content_does_not_close_its_fence() {
        for hostile in ["```\n# h", "a\n~~~\n``````\n<script>x</script>", "", "    ```", "\t`````", "> ```\n"] {
            let mut page = Page::default();
            page.code_fence("text", hostile);
            page.paragraph(Inline::plain("after"));
            let text = page.finish();
            let events: Vec<Event<'_>> = Parser::new_ext(&text, Options::all()).collect();
            let blocks = events.iter().filter(|it| matches!(it, Event::Start(Tag::CodeBlock(_)))).count();
            let last = events.iter().rev().find_map(|it| if let Event::Text(text) = it { Some(text) } else { None });
            assert_eq!((blocks, last.map(|it| &**it)), (1, Some("after")), "{text}");
            assert!(
                !events.iter().any(|it| matches!(it, Event::Html(_) | Event::Start(Tag::Heading { .. }))),
                "{text}"
            );
        }
    }

    #[test]
    fn ids_are_code_if_that_is_safe() {
        assert_eq!(Inline::code("gpt-5").0, "`gpt-5`");
        assert_eq!(Inline::code("a|b").0, "a\\|b");
        assert_eq!(Inline::code("").0, "");
    }
}
