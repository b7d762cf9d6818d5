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
    let mut parts = Parts::default();
    for change in diff.iter_all_changes() {
        parts.push(change.tag(), change.value());
    }
    html! {
        div.diff.text-block data-testid="diff" {
            @for (tag, text) in &parts.finish() { (part(*tag, text)) }
        }
    }
}

/// Neighbouring changes as one: a space between two changed words is changed with them. A reader compares phrases, and a
/// screen reader announces each element.
#[derive(Default)]
struct Parts {
    parts: Vec<(ChangeTag, String)>,
    before: String,
    after: String,
    /// Unchanged space after a change.
    space: String,
}

impl Parts {
    fn push(&mut self, tag: ChangeTag, text: &str) {
        let is_changed = !(self.before.is_empty() && self.after.is_empty());
        match tag {
            ChangeTag::Equal if is_changed && text.trim().is_empty() => self.space.push_str(text),
            ChangeTag::Equal => {
                self.flush();
                match self.parts.last_mut() {
                    Some((ChangeTag::Equal, last)) => last.push_str(text),
                    _ => self.parts.push((ChangeTag::Equal, text.to_owned())),
                }
            }
            ChangeTag::Delete | ChangeTag::Insert => {
                let space = std::mem::take(&mut self.space);
                self.before.push_str(&space);
                self.after.push_str(&space);
                let side = if tag == ChangeTag::Delete { &mut self.before } else { &mut self.after };
                side.push_str(text);
            }
        }
    }

    fn flush(&mut self) {
        let sides = [
            (ChangeTag::Delete, &mut self.before),
            (ChangeTag::Insert, &mut self.after),
            (ChangeTag::Equal, &mut self.space),
        ];
        for (tag, text) in sides {
            if !text.is_empty() {
                self.parts.push((tag, std::mem::take(text)));
            }
        }
    }

    fn finish(mut self) -> Vec<(ChangeTag, String)> {
        self.flush();
        self.parts
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
        let phrase = render("rose, mostly from services", "rose, driven by hardware").into_string();
        assert!(
            phrase.contains("mostly from services</del>") && phrase.contains("driven by hardware</ins>"),
            "{phrase}"
        );
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
