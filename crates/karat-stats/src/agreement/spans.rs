//! Agreement of people who mark spans of a text.

use std::collections::BTreeSet;

use crate::numeric::input::InputError;

/// A marked span: characters `start..end` of a text, with a category. Spans of one rater may overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkedSpan {
    /// The first character.
    pub start: usize,
    /// The character behind the last.
    pub end: usize,
    /// Index of the category.
    pub category: usize,
}

/// A text and the spans that each rater marked in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedText {
    /// Length in characters.
    pub length: usize,
    /// By rater.
    pub raters: Vec<Vec<MarkedSpan>>,
}

/// Agreement over the characters of all texts, for every two raters of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanAgreement {
    /// Share of characters to which both raters gave the same categories, none included. Unmarked text is most of a text,
    /// so this is high where little is marked.
    pub share: f64,
    /// By category, F1 = 2·|A ∩ B| / (|A| + |B|) over marked characters (Hripcsak & Rothschild 2005); `None` where neither
    /// marked any.
    pub f1: Vec<Option<f64>>,
}

/// Agreement of spans, summed over texts and pairs of raters. `None` if no text with characters has two raters.
///
/// # Errors
/// [`InputError::OutOfBounds`] for a span beyond its text or a category that is not below `categories`.
pub fn span_agreement<'a>(
    texts: impl IntoIterator<Item = &'a MarkedText>,
    categories: usize,
) -> Result<Option<SpanAgreement>, InputError> {
    let (mut same, mut all) = (0_u64, 0_u64);
    let mut shared = vec![0_u64; categories];
    let mut marked = vec![0_u64; categories];
    for text in texts {
        let raters = text.raters.iter().map(|spans| by_category(spans, text.length, categories));
        let raters: Vec<Vec<BTreeSet<usize>>> = raters.collect::<Result<_, _>>()?;
        for (at, a) in raters.iter().enumerate() {
            for b in &raters[at + 1..] {
                let mut different = BTreeSet::new();
                for (category, (a, b)) in a.iter().zip(b).enumerate() {
                    shared[category] += a.intersection(b).count() as u64;
                    marked[category] += (a.len() + b.len()) as u64;
                    different.extend(a.symmetric_difference(b).copied());
                }
                all += text.length as u64;
                same += (text.length - different.len()) as u64;
            }
        }
    }
    let f1 =
        shared.iter().zip(&marked).map(|(both, marked)| (*marked > 0).then(|| 2.0 * *both as f64 / *marked as f64));
    Ok((all > 0).then(|| SpanAgreement { share: same as f64 / all as f64, f1: f1.collect() }))
}

/// The characters of each category.
fn by_category(spans: &[MarkedSpan], length: usize, categories: usize) -> Result<Vec<BTreeSet<usize>>, InputError> {
    let mut marked = vec![BTreeSet::new(); categories];
    for span in spans {
        if span.end > length {
            return Err(InputError::OutOfBounds { name: "end of a span", index: span.end, len: length });
        }
        let out_of_bounds =
            InputError::OutOfBounds { name: "category of a span", index: span.category, len: categories };
        marked.get_mut(span.category).ok_or(out_of_bounds)?.extend(span.start..span.end);
    }
    Ok(marked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(length: usize, raters: &[&[(usize, usize, usize)]]) -> MarkedText {
        let spans = |spans: &&[(usize, usize, usize)]| {
            spans
                .iter()
                .map(|(start, end, category)| MarkedSpan { start: *start, end: *end, category: *category })
                .collect()
        };
        MarkedText { length, raters: raters.iter().map(spans).collect() }
    }

    /// HU-30: counted by hand: 0..4 and 2..6 of ten characters share 2 of 4 each, and differ in 4 of 10.
    #[test]
    fn overlapping_spans_agree_in_part() {
        let texts = [text(10, &[&[(0, 4, 0)], &[(2, 6, 0)]])];
        let found = span_agreement(&texts, 2).unwrap().unwrap();
        assert!((found.share - 0.6).abs() < 1e-12, "{found:?}");
        assert_eq!(found.f1, [Some(0.5), None]);
    }

    /// HU-30: spans of one rater overlap without counting twice; three raters are three pairs; one rater is none.
    #[test]
    fn overlaps_and_pairs_are_counted_once() {
        let same: &[(usize, usize, usize)] = &[(0, 3, 0), (1, 3, 0), (2, 5, 1)];
        let found = span_agreement(&[text(5, &[same, same, same])], 2).unwrap().unwrap();
        assert_eq!((found.share, found.f1), (1.0, vec![Some(1.0), Some(1.0)]));
        let found = span_agreement(&[text(4, &[&[(0, 2, 0)], &[(0, 2, 0)], &[]])], 1).unwrap().unwrap();
        assert!((found.share - 8.0 / 12.0).abs() < 1e-12 && found.f1 == [Some(0.5)], "{found:?}");
        assert_eq!(span_agreement(&[text(4, &[&[(0, 2, 0)]])], 1).unwrap(), None);
        assert!(span_agreement(&[text(4, &[&[(0, 5, 0)]])], 1).is_err());
        assert!(span_agreement(&[text(4, &[&[(0, 2, 1)]])], 1).is_err());
    }
}
