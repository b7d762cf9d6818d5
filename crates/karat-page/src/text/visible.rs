//! Characters without a shape become marks, so that nothing on a page is hidden, turned round or ends early.

use std::borrow::Cow;

use maud::{Markup, Render, html};

/// Length of a name in a chart, in characters.
pub const NAME: usize = 28;

/// Returns the text with a mark such as `⟨U+202E⟩` for each character that has no shape: controls, line breaks,
/// directions, zero-width characters and tags.
pub fn line(text: &str) -> Cow<'_, str> {
    replace(text, mark)
}

/// Returns the text like [`line()`], with its line breaks and tabs. `\r\n` is one line break.
pub fn lines(text: &str) -> Cow<'_, str> {
    let text = if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) };
    let shown = replace(&text, |c| if matches!(c, '\n' | '\t') { None } else { mark(c) });
    match shown {
        Cow::Owned(shown) => Cow::Owned(shown),
        Cow::Borrowed(_) => text,
    }
}

fn replace(text: &str, mark: impl Fn(char) -> Option<String>) -> Cow<'_, str> {
    if !text.chars().any(|c| mark(c).is_some()) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match mark(c) {
            Some(mark) => shown.push_str(&mark),
            None => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Returns the mark of a character that a reader would not see.
fn mark(c: char) -> Option<String> {
    // Fonts lack the pictures of control characters (U+2400 and on).
    is_hidden(c).then(|| format!("⟨U+{:04X}⟩", u32::from(c)))
}

/// Returns true for characters that take no space or turn the direction: controls, soft hyphen, joiners, bidirectional
/// controls, fillers, line and paragraph separators, interlinear marks, tags.
pub fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}'
        | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns a name of at most [`NAME`] characters, cut in the middle: names of models and samples differ at both ends.
pub fn short_name(name: &str) -> String {
    let name = line(name);
    let characters: Vec<char> = name.chars().take(4 * NAME + 1).collect();
    if characters.len() <= NAME {
        return name.into_owned();
    }
    let (head, tail) = (NAME / 2, NAME - NAME / 2 - 1);
    let end: Vec<char> = name.chars().rev().take(tail).collect();
    characters.iter().take(head).copied().chain(['…']).chain(end.into_iter().rev()).collect()
}

/// Returns true for a short word, such as the name of a system, which a narrow table must not break in the middle.
pub(crate) fn is_whole(text: &str) -> bool {
    text.chars().take(NAME + 1).count() <= NAME && !text.contains(char::is_whitespace)
}

/// A name in its own direction, cut in the middle, whole in `title`.
pub struct Name<'a>(pub &'a str);

impl Render for Name<'_> {
    fn render(&self) -> Markup {
        let short = short_name(self.0);
        let whole = line(self.0);
        let title = (short != whole).then_some(whole);
        html! { bdi.whole[is_whole(&short)] title=[title] { (short) } }
    }
}

/// A text on one line in its own direction.
pub struct Line<'a>(pub &'a str);

impl Render for Line<'_> {
    fn render(&self) -> Markup {
        html! { bdi { (line(self.0)) } }
    }
}

/// A text of Karat: what stands between two backticks is code. Texts of datasets, models and people keep their backticks:
/// [`line()`] and [`lines()`] show them.
pub struct Words<'a>(pub &'a str);

impl Render for Words<'_> {
    fn render(&self) -> Markup {
        html! { @for (text, is_code) in code_parts(self.0) { @if is_code { code { (lines(text)) } } @else { (lines(text)) } } }
    }
}

/// Returns the parts of a text, each with whether it is code. Backticks without a partner, and runs of them, are text.
fn code_parts(text: &str) -> Vec<(&str, bool)> {
    let pieces: Vec<&str> = text.split('`').collect();
    let is_code = |at: usize| {
        let piece = pieces.get(at).copied().unwrap_or_default();
        let is_in_run = at > 1 && pieces.get(at - 1).is_some_and(|before| before.is_empty());
        at + 1 < pieces.len() && !is_in_run && !piece.is_empty() && piece.trim() == piece && !piece.contains('\n')
    };
    let mut parts = vec![(pieces.first().copied().unwrap_or_default(), false)];
    let mut at = 1;
    while let Some(piece) = pieces.get(at) {
        if is_code(at) {
            parts.extend([(*piece, true), (pieces.get(at + 1).copied().unwrap_or_default(), false)]);
            at += 2;
        } else {
            parts.extend([("`", false), (*piece, false)]);
            at += 1;
        }
    }
    parts
}

/// Returns an address that a page may lead to: a place on this page or of this server, or a web page. `None` for
/// any other scheme.
pub fn safe_href(href: &str) -> Option<String> {
    if href.chars().any(|c| is_hidden(c) || c.is_whitespace()) {
        return None;
    }
    let is_local = href.starts_with(['#', '?', '.']) || (href.starts_with('/') && !href.starts_with("//"));
    // A backslash is a slash to browsers.
    let is_local = is_local && !href.contains('\\');
    (is_local || host(href).is_some()).then(|| href.to_owned())
}

/// Returns the host of an `http` or `https` address.
pub(crate) fn host(href: &str) -> Option<&str> {
    let scheme = ["https://", "http://"]
        .into_iter()
        .find(|scheme| href.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))?;
    let rest = href.get(scheme.len()..)?;
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let authority = rest.get(..end)?;
    // A user name could pretend to be the host.
    let host = authority.rsplit('@').next()?;
    (!host.is_empty()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-51: control, bidirectional and zero-width characters are shown as marks.
    #[test]
    fn hidden_characters_become_marks() {
        assert_eq!(line("a\0b\u{202e}c\u{200b}d\u{1b}[1m"), "a⟨U+0000⟩b⟨U+202E⟩c⟨U+200B⟩d⟨U+001B⟩[1m");
        assert_eq!(lines("a\r\n\tb\rc\n"), "a\n\tb⟨U+000D⟩c\n");
        assert_eq!(line("naïve 東京 مرحبا"), "naïve 東京 مرحبا");
    }

    /// F66: what a text of Karat has between backticks is code, escaped; a single backtick and a fence stay as they are.
    #[test]
    fn code_of_own_texts_is_code() {
        let shown = |text: &str| Words(text).render().into_string();
        assert_eq!(shown("run `karat ls`, then `a<b>`."), "run <code>karat ls</code>, then <code>a&lt;b&gt;</code>.");
        assert_eq!(shown("`karat ls`"), "<code>karat ls</code>");
        for plain in ["it's 5` long", "```json", "```\nx\n```", "a ` b ` c", "``", "no code"] {
            assert_eq!(shown(plain), plain);
        }
        assert_eq!(shown("`\u{202e}x`"), "<code>⟨U+202E⟩x</code>");
    }

    /// DB-36: a name has at most 28 characters and is cut in the middle.
    #[test]
    fn names_are_cut_in_the_middle() {
        let name = "anthropic/claude-something-very-long-2026-01-05/variant-b";
        assert_eq!(short_name(name), "anthropic/clau…-05/variant-b");
        assert_eq!(short_name(name).chars().count(), NAME);
        assert_eq!(short_name("gpt-5"), "gpt-5");
    }

    /// DB-51: links lead to web pages or stay on this server.
    #[test]
    fn schemes_other_than_http_are_no_links() {
        let refused = [
            "javascript:alert(1)",
            "//evil.test",
            "/\\evil.test",
            "data:text/html,x",
            "java\nscript:x",
            "vbscript:x",
            "",
        ];
        assert!(refused.iter().all(|href| safe_href(href).is_none()));
        assert!(
            ["#a", "/runs/x?id=1", "https://a.test/x", "HTTP://A.test"].iter().all(|href| safe_href(href).is_some())
        );
        assert_eq!(host("https://good.test@evil.test/x"), Some("evil.test"));
    }
}
