//! Precision, recall and F1 between two lists of texts that match when they are similar enough.

use karat_text::similar::Statement;

use super::edit;
use super::squad::{self, EmptyRule};
use super::text::Exact;

/// The similarity of two texts, in 0..=1. Texts are compared without regard to case, Unicode form and
/// runs of white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Similarity {
    /// [`edit::indel_ratio`].
    #[default]
    Indel,
    /// [`edit::levenshtein_ratio`].
    Levenshtein,
    /// [`edit::jaccard_alphanumeric`].
    Jaccard,
    /// [`squad::token_f1`].
    TokenF1,
}

impl Similarity {
    fn of(self, a: &str, b: &str) -> f64 {
        match self {
            Self::Indel => edit::indel_ratio(a, b),
            Self::Levenshtein => edit::levenshtein_ratio(a, b),
            Self::Jaccard => edit::jaccard_alphanumeric(a, b),
            Self::TokenF1 => squad::token_f1(a, &[b], EmptyRule::V2).unwrap_or(0.0),
        }
    }
}

/// Matches the members of two lists: one to one, as many pairs as possible.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SetMatcher {
    /// The similarity of two members.
    pub similarity: Similarity,
    /// Members match from this similarity on; 1 for equal members only. Members that differ in a number, a unit, a name, a
    /// negation or a direction, or in any word that stands in place of another one, never match; see [`Statement`].
    pub threshold: f64,
}

impl Default for SetMatcher {
    fn default() -> Self {
        Self { similarity: Similarity::default(), threshold: 1.0 }
    }
}

/// A candidate's member that matches a reference's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// Position in the candidate.
    pub candidate: usize,
    /// Position in the reference.
    pub reference: usize,
    /// Their similarity.
    pub similarity: f64,
}

/// The overlap of two lists.
#[derive(Debug, Clone, PartialEq)]
pub struct SetScore {
    /// Matched ÷ members of the candidate; `None` when only the candidate is empty.
    pub precision: Option<f64>,
    /// Matched ÷ members of the reference; `None` when only the reference is empty.
    pub recall: Option<f64>,
    /// `2 · matched / (both sizes)`; 1 when both are empty.
    pub f1: f64,
    /// The matched members, by position in the reference.
    pub pairs: Vec<Pair>,
}

impl SetMatcher {
    /// Compares two lists.
    ///
    /// The matching is optimal: no other one-to-one matching at this threshold has more pairs.
    /// Members prefer their most similar partner, the first of equals, so the same lists give the
    /// same pairs.
    ///
    /// ```
    /// use karat_scoring::metrics::set_f1::SetMatcher;
    ///
    /// let matcher = SetMatcher { threshold: 0.8, ..SetMatcher::default() };
    /// let score = matcher.compare(&["Sales rose by 5%", "New CEO"], &["sales rose by 5 %"]);
    /// assert_eq!(score.recall, Some(1.0));
    /// assert_eq!(score.precision, Some(0.5));
    /// assert_eq!(matcher.compare(&["Sales fell by 5%"], &["Sales rose by 5%"]).recall, Some(0.0));
    /// ```
    #[must_use]
    pub fn compare<A: AsRef<str>, B: AsRef<str>>(&self, candidate: &[A], reference: &[B]) -> SetScore {
        let candidate: Vec<Member> = candidate.iter().map(|text| Member::new(text.as_ref())).collect();
        let reference: Vec<Member> = reference.iter().map(|text| Member::new(text.as_ref())).collect();
        let pairs = self.matching(&candidate, &reference);
        score(pairs, candidate.len(), reference.len())
    }

    fn matching(&self, candidate: &[Member], reference: &[Member]) -> Vec<Pair> {
        let partners: Vec<Vec<Pair>> =
            (0..reference.len()).map(|index| self.partners(index, reference, candidate)).collect();
        let mut owner: Vec<Option<Pair>> = vec![None; candidate.len()];
        for index in 0..reference.len() {
            augment(index, &partners, &mut owner);
        }
        let mut pairs: Vec<Pair> = owner.into_iter().flatten().collect();
        pairs.sort_by_key(|pair| pair.reference);
        pairs
    }

    /// The candidates that match one member of the reference, most similar first.
    fn partners(&self, index: usize, reference: &[Member], candidate: &[Member]) -> Vec<Pair> {
        let similarity = |member: &Member| {
            let wanted = &reference[index];
            if member.statement.key() == wanted.statement.key() {
                return Some(1.0);
            }
            let similarity = self.similarity.of(&member.folded, &wanted.folded);
            let is_match = self.threshold < 1.0
                && similarity >= self.threshold
                && member.statement.only_adds_words(&wanted.statement);
            is_match.then_some(similarity)
        };
        let pair = |(position, member): (usize, &Member)| {
            Some(Pair { candidate: position, reference: index, similarity: similarity(member)? })
        };
        let mut partners: Vec<Pair> = candidate.iter().enumerate().filter_map(pair).collect();
        partners.sort_by(|a, b| b.similarity.total_cmp(&a.similarity));
        partners
    }
}

/// A member of a list as it is compared.
struct Member {
    statement: Statement,
    folded: String,
}

impl Member {
    fn new(text: &str) -> Self {
        let lenient = Exact { ignore_case: true, trim: true, normalize: true, ..Exact::default() };
        Self { statement: Statement::new(text), folded: lenient.fold(text).into_owned() }
    }
}

/// Gives member `start` of the reference a partner, moving others if that makes room (Kuhn's
/// algorithm: a breadth-first search for an augmenting path).
fn augment(start: usize, partners: &[Vec<Pair>], owner: &mut [Option<Pair>]) {
    let mut reached_by: Vec<Option<Pair>> = vec![None; owner.len()];
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(reference) = queue.pop_front() {
        for pair in &partners[reference] {
            if reached_by[pair.candidate].is_some() {
                continue;
            }
            reached_by[pair.candidate] = Some(*pair);
            match owner[pair.candidate] {
                Some(taken) => queue.push_back(taken.reference),
                None => return reassign(*pair, &reached_by, owner),
            }
        }
    }
}

/// Walks an augmenting path back: each member takes the partner it reached and leaves its old one
/// to the member before it.
fn reassign(end: Pair, reached_by: &[Option<Pair>], owner: &mut [Option<Pair>]) {
    let mut step = Some(end);
    while let Some(pair) = step {
        let previous = owner.iter().flatten().find(|old| old.reference == pair.reference).map(|old| old.candidate);
        owner[pair.candidate] = Some(pair);
        step = previous.and_then(|candidate| reached_by[candidate]);
    }
}

fn score(pairs: Vec<Pair>, candidate: usize, reference: usize) -> SetScore {
    let matched = pairs.len() as f64;
    let share = |size: usize| match (size, candidate + reference) {
        (_, 0) => Some(1.0),
        (0, _) => None,
        _ => Some(matched / size as f64),
    };
    let f1 = match candidate + reference {
        0 => 1.0,
        both => 2.0 * matched / both as f64,
    };
    SetScore { precision: share(candidate), recall: share(reference), f1, pairs }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(threshold: f64, similarity: Similarity) -> SetMatcher {
        SetMatcher { similarity, threshold }
    }

    #[test]
    fn equal_members_match_once_each() {
        let score = SetMatcher::default().compare(&["a", "B", "b", "c"], &["b", "a "]);
        assert_eq!(score.precision, Some(0.5));
        assert_eq!(score.recall, Some(1.0));
        assert!((score.f1 - 2.0 / 3.0).abs() < 1e-12);
        let positions: Vec<_> = score.pairs.iter().map(|p| (p.candidate, p.reference)).collect();
        assert_eq!(positions, [(1, 0), (0, 1)]);
    }

    #[test]
    fn empty_lists_have_a_meaning_or_none() {
        let compare = |a: &[&str], b: &[&str]| SetMatcher::default().compare(a, b);
        let both = compare(&[], &[]);
        assert_eq!((both.precision, both.recall, both.f1), (Some(1.0), Some(1.0), 1.0));
        let nothing_given = compare(&[], &["a"]);
        assert_eq!((nothing_given.precision, nothing_given.recall), (None, Some(0.0)));
        let nothing_wanted = compare(&["a"], &[]);
        assert_eq!((nothing_wanted.precision, nothing_wanted.recall), (Some(0.0), None));
        assert!(nothing_wanted.f1.abs() < 1e-12);
    }

    #[test]
    fn matching_is_optimal_where_greedy_is_not() {
        // "q b c" is most like "q b", which is the only partner of "q b d e".
        let matcher = at(0.6, Similarity::Jaccard);
        let score = matcher.compare(&["q b c", "q b"], &["q b", "q b c x"]);
        assert_eq!(score.pairs.len(), 2);
        let crossed = matcher.compare(&["q b", "q b c"], &["q b c", "q b"]);
        assert_eq!(crossed.recall, Some(1.0));
    }

    /// F13: a claim whose number, direction, name or negation is another one never matches, at any similarity.
    #[test]
    fn inverted_claims_never_match() {
        let gold = [
            "Revenue rose by 12 percent in the second quarter.",
            "The plant in Bern opened before the one in Oslo.",
            "Naps do not lower the risk of a stroke.",
            "The dose was 5 mg.",
        ];
        let inverted = [
            "Revenue fell by 12 percent in the second quarter.",
            "The plant in Oslo opened before the one in Bern.",
            "Naps do lower the risk of a stroke.",
            "The dose was 5 g.",
        ];
        for similarity in [Similarity::Indel, Similarity::Levenshtein, Similarity::Jaccard, Similarity::TokenF1] {
            for threshold in [0.01, 0.6, 0.9, 1.0] {
                let recall = |candidate: &[&str]| at(threshold, similarity).compare(candidate, &gold).recall;
                assert_eq!((recall(&inverted), recall(&gold)), (Some(0.0), Some(1.0)), "{similarity:?} {threshold}");
            }
        }
        let longer = ["As is known, naps do not lower the risk of a stroke."];
        assert_eq!(at(0.6, Similarity::Indel).compare(&longer, &gold).pairs.len(), 1);
    }

    #[test]
    fn every_similarity_is_one_for_equal_texts() {
        for similarity in [Similarity::Indel, Similarity::Levenshtein, Similarity::Jaccard, Similarity::TokenF1] {
            let score = at(1.0, similarity).compare(&["Ｓame  text"], &["same TEXT"]);
            assert!((score.f1 - 1.0).abs() < 1e-12, "{similarity:?}");
        }
    }

    /// The size of the best matching by trying all.
    fn most_pairs(edges: &[Vec<bool>], row: usize, used: &mut Vec<bool>) -> usize {
        let Some(edge) = edges.get(row) else { return 0 };
        let mut best = most_pairs(edges, row + 1, used);
        for column in 0..used.len() {
            if edge[column] && !used[column] {
                used[column] = true;
                best = best.max(1 + most_pairs(edges, row + 1, used));
                used[column] = false;
            }
        }
        best
    }

    proptest! {
        #[test]
        fn no_matching_has_more_pairs(
            a in prop::collection::vec("[bcd]( [bcd]){0,3}", 0..6),
            b in prop::collection::vec("[bcd]( [bcd]){0,3}", 0..6),
        ) {
            let matcher = at(0.6, Similarity::Indel);
            let score = matcher.compare(&a, &b);
            let matches = |x: &String, y: &String| {
                let (one, other) = (Statement::new(x), Statement::new(y));
                one.key() == other.key() || edit::indel_ratio(x, y) >= 0.6 && one.only_adds_words(&other)
            };
            let similar = |x: &String| b.iter().map(|y| matches(x, y)).collect();
            let edges: Vec<Vec<bool>> = a.iter().map(similar).collect();
            prop_assert_eq!(score.pairs.len(), most_pairs(&edges, 0, &mut vec![false; b.len()]));
            for pair in &score.pairs {
                let again = edit::indel_ratio(&a[pair.candidate], &b[pair.reference]);
                prop_assert!((again - pair.similarity).abs() < 1e-12);
            }
        }
    }
}
