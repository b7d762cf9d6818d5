//! Markup around a reply that is none of its JSON.

use std::borrow::Cow;

/// Entities of HTML, `&amp;` last: what it stands for is not read again.
const ENTITIES: [(&str, &str); 6] =
    [("&quot;", "\""), ("&#34;", "\""), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];

/// The text of a reply whose quotes are all escaped for HTML; `None` where they are not.
pub(super) fn unescape_html(text: &str) -> Option<String> {
    let is_escaped = !text.contains('"') && text.contains("&quot;");
    is_escaped.then(|| ENTITIES.iter().fold(text.to_owned(), |text, (entity, plain)| text.replace(entity, plain)))
}

/// The text without the marks of Markdown quotations that hold JSON; blanks stand in their place, so that lines and columns
/// stay.
pub(super) fn remove_quotation_marks(text: &str) -> Cow<'_, str> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let blocks = || lines.chunk_by(|line, next| mark(line).is_some() == mark(next).is_some());
    if !blocks().any(quotes_json) {
        return Cow::Borrowed(text);
    }
    let plain = blocks().flat_map(|block| {
        let is_quote = quotes_json(block);
        block.iter().map(move |line| match mark(line).filter(|_| is_quote) {
            Some(at) => Cow::Owned(format!("{} {}", &line[..at], &line[at + 1..])),
            None => Cow::Borrowed(*line),
        })
    });
    Cow::Owned(plain.collect())
}

/// True if these lines are a quotation in which a line begins like JSON, or like a fence.
fn quotes_json(block: &[&str]) -> bool {
    let inner = |line: &&str| mark(line).map(|at| line[at + 1..].trim_start().starts_with(['{', '[', '`', '~']));
    block.iter().any(|line| inner(line).unwrap_or(false))
}

/// Returns the offset of the quotation mark that the line begins with.
fn mark(line: &str) -> Option<usize> {
    let at = line.len() - line.trim_start_matches([' ', '\t']).len();
    line[at..].starts_with('>').then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_that_hold_json_lose_their_marks() {
        assert_eq!(remove_quotation_marks("Here:\n> {\n>  \"a\": 1\n> }\n"), "Here:\n  {\n   \"a\": 1\n  }\n");
        assert_eq!(remove_quotation_marks("> It is\n> {\"a\": 1}\nDone"), "  It is\n  {\"a\": 1}\nDone");
        for plain in ["> only words\n{\"a\": \"b > c\"}", "{\"a\": 1}", ""] {
            assert!(matches!(remove_quotation_marks(plain), Cow::Borrowed(text) if text == plain), "{plain}");
        }
    }

    #[test]
    fn entities_count_once() {
        assert_eq!(unescape_html("{&quot;a&quot;: &quot;&amp;lt; &lt;&quot;}").as_deref(), Some("{\"a\": \"&lt; <\"}"));
        assert_eq!((unescape_html("{\"a\": \"&quot;\"}"), unescape_html("{a: 1}")), (None, None));
    }
}
