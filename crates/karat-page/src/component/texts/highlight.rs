//! Texts with marked parts. Overlapping parts are cut into pieces, each with the labels of all parts that cover it.

use maud::{Markup, html};

use crate::block::Highlight;
use crate::draw::mark::series_class;
use crate::text::visible::{line, lines};

/// Renders a text with its marked parts. Parts outside the text or within a character are widened or left out.
pub fn render(text: &str, highlights: &[Highlight]) -> Markup {
    let parts: Vec<(usize, usize, &Highlight)> = highlights
        .iter()
        .map(|it| (floor(text, it.start), ceiling(text, it.end), it))
        .filter(|(start, end, _)| start < end)
        .collect();
    let mut cuts: Vec<usize> = parts.iter().flat_map(|(start, end, _)| [*start, *end]).chain([0, text.len()]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    html! {
        @for window in cuts.windows(2) {
            @if let [from, to] = window {
                @let covering: Vec<_> = parts.iter().filter(|(start, end, _)| start <= from && end >= to).collect();
                @let piece = lines(text.get(*from..*to).unwrap_or_default());
                @match covering.last() {
                    None => (piece),
                    Some((_, _, last)) => mark class=(series_class(last.category)) title=(titles(&covering)) {
                        (piece)
                        @for (_, end, part) in &covering {
                            @if end == to { span.tag { (line(&part.label)) } }
                        }
                    },
                }
            }
        }
    }
}

fn titles(covering: &[&(usize, usize, &Highlight)]) -> String {
    let labels: Vec<_> = covering.iter().map(|(_, _, part)| line(&part.label).into_owned()).collect();
    labels.join(", ")
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn ceiling(text: &str, at: usize) -> usize {
    (at.min(text.len())..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-22: overlapping parts are marked with both labels, and no character is lost.
    #[test]
    fn overlapping_parts_stack() {
        let part = |start, end, label: &str, category| Highlight { start, end, label: label.to_owned(), category };
        let html = render("abcdef", &[part(1, 4, "x", 0), part(3, 5, "y", 1)]).into_string();
        insta::assert_snapshot!(html, @r#"a<mark class="s1" title="x">bc</mark><mark class="s2" title="x, y">d<span class="tag">x</span></mark><mark class="s2" title="y">e<span class="tag">y</span></mark>f"#);
        assert_eq!(
            render("é", &[part(1, 99, "z", 0)]).into_string(),
            r#"<mark class="s1" title="z">é<span class="tag">z</span></mark>"#
        );
    }
}
