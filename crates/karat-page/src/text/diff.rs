//! Two texts word by word; line by line where they are long. A change is told by its sign, colour and element.

use std::time::Duration;

use maud::{Markup, html};
use similar::{Algorithm, ChangeTag, DiffOp, TextDiff};

use crate::text::visible;

/// Length of both texts together, in bytes, from which on lines are compared.
const LONGEST: usize = 200_000;

/// Time that a comparison may take; then the rest counts as replaced, which is right though not shortest.
const DEADLINE: Duration = Duration::from_millis(200);

/// Unchanged lines shown around a change of a line diff.
const AROUND: usize = 3;

/// Renders the difference from `before` to `after`.
pub fn render(before: &str, after: &str) -> Markup {
    if before == after {
        return html! { p.soft data-testid="diff" data-equal="true" { "Both texts are identical." } };
    }
    if before.len() + after.len() > LONGEST { by_line(before, after) } else { by_word(before, after) }
}

fn by_word(before: &str, after: &str) -> Markup {
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).diff_words(before, after);
    // Adjacent words of one kind are one mark: a screen reader announces each element.
    let mut parts: Vec<(ChangeTag, String)> = Vec::new();
    for change in diff.iter_all_changes() {
        match parts.last_mut() {
            Some((tag, text)) if *tag == change.tag() => text.push_str(change.value()),
            _ => parts.push((change.tag(), change.value().to_owned())),
        }
    }
    html! {
        div.diff.text-block data-testid="diff" {
            @for (tag, text) in &parts { (part(*tag, text)) }
        }
    }
}

fn part(tag: ChangeTag, text: &str) -> Markup {
    let text = visible::lines(text);
    match tag {
        ChangeTag::Equal => html! { (text) },
        ChangeTag::Delete => html! { del { span.sign { "−" } (text) } },
        ChangeTag::Insert => html! { ins { span.sign { "+" } (text) } },
    }
}

fn by_line(before: &str, after: &str) -> Markup {
    let diff = TextDiff::configure().algorithm(Algorithm::Patience).timeout(DEADLINE).diff_lines(before, after);
    let groups: Vec<Vec<DiffOp>> = diff.grouped_ops(AROUND);
    html! {
        p.soft.small { "Compared line by line: the texts are long. Unchanged lines are left out." }
        div.diff.text-block data-testid="diff" {
            @for (at, group) in groups.iter().enumerate() {
                @if at > 0 { span.soft { "⋯\n" } }
                @for op in group {
                    @for change in diff.iter_changes(op) { (part(change.tag(), change.value())) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-20: a diff marks words by sign and element, and says when there is none.
    #[test]
    fn words_are_marked() {
        insta::assert_snapshot!(render("the cat sat", "the dog sat").into_string(), @r#"<div class="diff text-block" data-testid="diff">the <del><span class="sign">−</span>cat</del><ins><span class="sign">+</span>dog</ins> sat</div>"#);
        assert!(render("a", "a").into_string().contains("identical"));
    }

    /// DB-20: long texts are compared by line, and the page says so.
    #[test]
    fn long_texts_are_compared_by_line() {
        let before = "same line of text\n".repeat(10_000);
        let after = format!("{before}one more\n");
        let html = render(&before, &after).into_string();
        assert!(html.contains("line by line") && html.contains("one more") && html.len() < 2_000);
    }
}
