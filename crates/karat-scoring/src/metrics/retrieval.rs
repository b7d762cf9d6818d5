//! Metrics of ranked retrieval: recall, precision, hit rate, MRR, MAP, nDCG.
//!
//! A document is relevant when its grade is above 0. A document that a ranking repeats counts where
//! it stands first; its later places count as not relevant. A query without relevant documents has
//! no score.
//!
//! ```
//! use karat_scoring::metrics::retrieval::{Gain, Judged, Relevance, top};
//!
//! let relevant = Relevance::binary(["d7", "d9"]);
//! let judged = Judged::new(&["d1", "d7", "d3"], &relevant).unwrap();
//! assert_eq!(judged.recall(top(3)), 0.5);
//! assert_eq!(judged.reciprocal_rank(None), 0.5);
//! assert!(judged.ndcg(top(3), Gain::Linear) < 1.0);
//! assert!(Judged::new(&["d1"], &Relevance::default()).is_none());
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use thiserror::Error;

/// The number of places of a ranking that count; `None` for all of them.
pub type Cutoff = Option<NonZeroUsize>;

/// The first `k` places; a `k` of 0 counts as 1.
#[must_use]
pub fn top(k: usize) -> Cutoff {
    NonZeroUsize::new(k).or(Some(NonZeroUsize::MIN))
}

/// The grades of the documents of one query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Relevance {
    grades: BTreeMap<String, f64>,
}

/// The largest grade: above it the exponential gain loses the lower grades.
const LARGEST_GRADE: f64 = 50.0;

/// A grade that nDCG cannot use.
#[derive(Debug, Clone, PartialEq, Error)]
#[error(
    "reading the grade of document {document:?}: {grade} is not a number up to {LARGEST_GRADE}; grade relevant documents 1, 2, 3, … and others 0"
)]
pub struct GradeError {
    document: String,
    grade: f64,
}

impl Relevance {
    /// These documents are relevant, all equally.
    pub fn binary<S: Into<String>>(documents: impl IntoIterator<Item = S>) -> Self {
        let grades = documents.into_iter().map(|d| (d.into(), 1.0)).collect();
        Self { grades }
    }

    /// Documents with their grades; a grade of 0 or less is not relevant.
    ///
    /// # Errors
    /// When a grade is not finite or above 50.
    pub fn graded_gains<S: Into<String>>(grades: impl IntoIterator<Item = (S, f64)>) -> Result<Self, GradeError> {
        let mut relevance = Self::default();
        for (document, grade) in grades {
            let document = document.into();
            if !grade.is_finite() || grade > LARGEST_GRADE {
                return Err(GradeError { document, grade });
            }
            relevance.grades.insert(document, grade);
        }
        Ok(relevance)
    }

    /// True if no document is relevant.
    pub fn is_empty(&self) -> bool {
        self.relevant().next().is_none()
    }

    fn grade(&self, document: &str) -> f64 {
        self.grades.get(document).copied().unwrap_or(0.0).max(0.0)
    }

    fn relevant(&self) -> impl Iterator<Item = f64> {
        self.grades.values().copied().filter(|grade| *grade > 0.0)
    }
}

/// The gain of a grade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gain {
    /// The grade itself: scikit-learn, ranx `ndcg`.
    #[default]
    Linear,
    /// `2^grade − 1`: Burges 2005, ranx `ndcg_burges`.
    Exponential,
}

impl Gain {
    fn of(self, grade: f64) -> f64 {
        match self {
            Self::Linear => grade,
            Self::Exponential => grade.exp2() - 1.0,
        }
    }
}

/// A ranking whose documents have been looked up; there is at least one relevant document.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    places: Vec<Place>,
    /// The grades of all relevant documents, best first.
    ideal: Vec<f64>,
    /// The number of rankings in which something is relevant.
    rankings: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    /// The rank in its own ranking, from 1.
    rank: usize,
    /// 0 for what is not relevant.
    grade: f64,
}

impl Judged {
    /// Looks up a ranking, best first; `None` when no document is relevant.
    #[must_use]
    pub fn new<S: AsRef<str>>(ranking: &[S], relevance: &Relevance) -> Option<Self> {
        Self::union([(ranking, relevance)])
    }

    /// The union of rankings over separate spaces (text, tables, pages): a cutoff of `k` takes the
    /// top `k` of each, and relevant documents of all spaces count. Places are interleaved rank by
    /// rank in the order given. Documents of different spaces are different. `None` when no
    /// document of any space is relevant.
    ///
    /// ```
    /// use karat_scoring::metrics::retrieval::{Judged, Relevance, top};
    ///
    /// let (text, table) = (Relevance::binary(["c1"]), Relevance::binary(["t1"]));
    /// let spaces = [(["c9", "c1"], &text), (["t1", "t2"], &table)];
    /// let union = Judged::union(spaces.iter().map(|(ranking, r)| (ranking.as_slice(), *r))).unwrap();
    /// assert_eq!(union.recall(top(1)), 0.5);
    /// assert_eq!(union.recall(top(2)), 1.0);
    /// ```
    #[must_use]
    pub fn union<'a, S: AsRef<str> + 'a>(spaces: impl IntoIterator<Item = (&'a [S], &'a Relevance)>) -> Option<Self> {
        let (mut places, mut ideal, mut rankings) = (Vec::new(), Vec::new(), 0);
        for (ranking, relevance) in spaces {
            let mut seen = BTreeSet::new();
            for (index, document) in ranking.iter().enumerate() {
                let first = seen.insert(document.as_ref());
                let grade = if first { relevance.grade(document.as_ref()) } else { 0.0 };
                places.push(Place { rank: index + 1, grade });
            }
            rankings += usize::from(!relevance.is_empty());
            ideal.extend(relevance.relevant());
        }
        places.sort_by_key(|place| place.rank);
        ideal.sort_by(|a, b| b.total_cmp(a));
        (!ideal.is_empty()).then_some(Self { places, ideal, rankings })
    }

    /// Relevant documents found in the top `k` ÷ all relevant documents.
    #[must_use]
    pub fn recall(&self, k: Cutoff) -> f64 {
        self.hits(k) as f64 / self.ideal.len() as f64
    }

    /// Relevant documents found in the top `k` ÷ `k`, however few were retrieved; of a union ÷ `k`
    /// times the number of spaces in which something is relevant. Without cutoff ÷ the number retrieved, 0 when nothing was.
    #[must_use]
    pub fn precision(&self, k: Cutoff) -> f64 {
        self.hits(k) as f64 / self.depth(k).max(1) as f64
    }

    /// The harmonic mean of precision and recall: `2 · hits / (k + relevant)`.
    #[must_use]
    pub fn f1(&self, k: Cutoff) -> f64 {
        2.0 * self.hits(k) as f64 / (self.depth(k) + self.ideal.len()) as f64
    }

    /// 1 when any relevant document is in the top `k`, else 0.
    #[must_use]
    pub fn hit_rate(&self, k: Cutoff) -> f64 {
        f64::from(u8::from(self.hits(k) > 0))
    }

    /// 1 ÷ the place of the first relevant document within the top `k`, 0 when there is none. Its
    /// mean over queries is MRR.
    #[must_use]
    pub fn reciprocal_rank(&self, k: Cutoff) -> f64 {
        let first = self.top(k).iter().position(|place| place.grade > 0.0);
        first.map_or(0.0, |index| 1.0 / (index + 1) as f64)
    }

    /// The sum of the precisions at the relevant places of the top `k` ÷ all relevant documents
    /// (not min(k, R)). Its mean over queries is MAP.
    #[must_use]
    pub fn average_precision(&self, k: Cutoff) -> f64 {
        let mut hits = 0.0;
        let mut sum = 0.0;
        for (index, place) in self.top(k).iter().enumerate() {
            if place.grade > 0.0 {
                hits += 1.0;
                sum += hits / (index + 1) as f64;
            }
        }
        sum / self.ideal.len() as f64
    }

    /// Precision at R, the number of relevant documents.
    #[must_use]
    pub fn r_precision(&self) -> f64 {
        let relevant = self.ideal.len();
        let top = self.places.iter().take(relevant);
        top.filter(|place| place.grade > 0.0).count() as f64 / relevant as f64
    }

    /// Normalised discounted cumulative gain of the top `k`: `Σ gain / log2(place + 1)` ÷ the same
    /// of the best possible ranking. In 0..=1.
    #[must_use]
    pub fn ndcg(&self, k: Cutoff, gain: Gain) -> f64 {
        let found = self.top(k).iter().map(|place| place.grade);
        let best = self.ideal.iter().copied();
        let best = match k {
            Some(k) => discounted_gain(best.take(k.get() * self.rankings), gain),
            None => discounted_gain(best, gain),
        };
        discounted_gain(found, gain) / best
    }

    fn top(&self, k: Cutoff) -> &[Place] {
        match k {
            Some(k) => {
                let end = self.places.partition_point(|place| place.rank <= k.get());
                &self.places[..end]
            }
            None => &self.places,
        }
    }

    fn hits(&self, k: Cutoff) -> usize {
        self.top(k).iter().filter(|place| place.grade > 0.0).count()
    }

    /// The number of places that a cutoff grants.
    fn depth(&self, k: Cutoff) -> usize {
        k.map_or(self.places.len(), |k| k.get().saturating_mul(self.rankings))
    }
}

fn discounted_gain(grades: impl Iterator<Item = f64>, gain: Gain) -> f64 {
    let terms = grades.zip(2_u32..).map(|(grade, place)| gain.of(grade) / f64::from(place).log2());
    // The sum of nothing is −0.
    terms.sum::<f64>() + 0.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(actual: f64, expected: f64) -> bool {
        (actual - expected).abs() < 1e-12
    }

    /// RG-04: recall, precision, MRR, MAP and nDCG by their formulas; a repeated document counts
    /// where it stands first.
    #[test]
    fn duplicates_keep_their_place_and_count_once() {
        let grades = Relevance::graded_gains([("d26", 1.0), ("d7", 2.0)]).unwrap();
        let judged = Judged::new(&["d26", "d26", "d7", "d18", "d7"], &grades).unwrap();
        assert!(close(judged.precision(top(3)), 2.0 / 3.0));
        assert!(close(judged.precision(top(10)), 0.2));
        assert!(close(judged.average_precision(None), 5.0 / 6.0));
        assert!(close(judged.r_precision(), 0.5));
        assert!(close(judged.f1(top(1)), 2.0 / 3.0));
        assert!(close(judged.ndcg(top(3), Gain::Linear), 0.760_187_533_431_868_5));
        assert!(close(judged.ndcg(top(3), Gain::Exponential), 0.688_528_880_940_466_6));
    }

    #[test]
    fn no_relevant_document_is_undefined_and_nothing_retrieved_is_zero() {
        let none = Relevance::graded_gains([("d1", 0.0), ("d2", -1.0)]).unwrap();
        assert_eq!(Judged::new(&["d1"], &none), None);
        let judged = Judged::new::<&str>(&[], &Relevance::binary(["d1"])).unwrap();
        for value in [
            judged.recall(None),
            judged.precision(None),
            judged.f1(None),
            judged.hit_rate(top(5)),
            judged.reciprocal_rank(None),
            judged.average_precision(None),
            judged.ndcg(None, Gain::Linear),
        ] {
            assert!(close(value, 0.0));
        }
    }

    #[test]
    fn grades_must_be_usable() {
        assert!(Relevance::graded_gains([("a", f64::NAN)]).is_err());
        let error = Relevance::graded_gains([("a", 1e9)]).unwrap_err().to_string();
        assert!(error.contains("document \"a\": 1000000000"), "{error}");
    }

    /// RG-04: HybridHitRate@K is a hit in the union of each space's top K.
    #[test]
    fn a_union_takes_the_top_of_each_space() {
        let (text, page, table) = (Relevance::binary(["x"]), Relevance::default(), Relevance::binary(["x", "t"]));
        let rankings = [vec!["a", "b", "x"], vec!["x"], vec!["p", "x"]];
        let spaces = rankings.iter().map(Vec::as_slice).zip([&text, &page, &table]);
        let union = Judged::union(spaces).unwrap();
        assert!(close(union.hit_rate(top(1)), 0.0));
        assert!(close(union.hit_rate(top(2)), 1.0));
        assert!(close(union.recall(top(2)), 1.0 / 3.0));
        assert!(close(union.recall(None), 2.0 / 3.0));
        // F28: a space in which nothing is relevant grants no places.
        assert!(close(union.precision(top(2)), 1.0 / 4.0));
        assert!(close(union.reciprocal_rank(None), 1.0 / 5.0));
    }

    proptest! {
        #[test]
        fn scores_are_bounded_and_the_ideal_ranking_is_best(
            ranking in prop::collection::vec("[a-f]", 0..8),
            grades in prop::collection::btree_map("[a-f]", 0..4_u8, 1..6),
            k in 1..9_usize,
        ) {
            let graded = grades.iter().map(|(d, g)| (d.clone(), f64::from(*g)));
            let relevance = Relevance::graded_gains(graded).unwrap();
            let Some(judged) = Judged::new(&ranking, &relevance) else {
                prop_assert!(grades.values().all(|grade| *grade == 0));
                return Ok(());
            };
            for gain in [Gain::Linear, Gain::Exponential] {
                prop_assert!((0.0..=1.0 + 1e-12).contains(&judged.ndcg(top(k), gain)));
            }
            prop_assert!(judged.recall(top(k)) <= judged.recall(top(k + 1)));
            let mut best: Vec<_> = grades.iter().collect();
            best.sort_by_key(|(_, grade)| std::cmp::Reverse(**grade));
            let best: Vec<_> = best.into_iter().map(|(d, _)| d).collect();
            let ideal = Judged::new(&best, &relevance).unwrap();
            prop_assert!(close(ideal.ndcg(top(k), Gain::Exponential), 1.0));
            prop_assert!(close(ideal.average_precision(None), 1.0));
        }
    }
}
