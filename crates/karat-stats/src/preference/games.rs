//! The outcomes of pairwise comparisons.

use crate::numeric::input::{InputError, in_domain};

/// The comparisons of two models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pairing {
    /// Index of one model.
    pub a: usize,
    /// Index of the other.
    pub b: usize,
    /// Comparisons that `a` won.
    pub wins_a: u64,
    /// Comparisons that `b` won.
    pub wins_b: u64,
    /// Ties.
    pub ties: u64,
}

/// Checked comparisons of a number of models; pairs may occur more than once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Games {
    models: usize,
    pairings: Vec<Pairing>,
}

impl Games {
    /// Comparisons of `models` models, numbered from 0.
    ///
    /// # Errors
    /// An index past the models, or a model compared with itself.
    pub fn new(models: usize, pairings: Vec<Pairing>) -> Result<Self, InputError> {
        for pairing in &pairings {
            let index = pairing.a.max(pairing.b);
            if index >= models {
                return Err(InputError::OutOfBounds { name: "model index", index, len: models });
            }
            let itself = pairing.a == pairing.b;
            in_domain("opponent of a model", pairing.b as f64, "another model", !itself)?;
        }
        Ok(Self { models, pairings })
    }

    /// Number of models.
    pub fn models(&self) -> usize {
        self.models
    }

    /// The comparisons.
    pub fn pairings(&self) -> &[Pairing] {
        &self.pairings
    }

    /// Returns true if a chain of won or tied comparisons leads from every model to every other.
    ///
    /// Otherwise some model could be moved to infinity (Ford 1957).
    pub fn is_strongly_connected(&self) -> bool {
        let beats = |from: usize| {
            self.pairings.iter().filter_map(move |game| {
                let won = |wins: u64| wins + game.ties > 0;
                if game.a == from && won(game.wins_a) {
                    Some(game.b)
                } else if game.b == from && won(game.wins_b) {
                    Some(game.a)
                } else {
                    None
                }
            })
        };
        let loses_to = |from: usize| {
            self.pairings.iter().filter_map(move |game| {
                let lost = |wins: u64| wins + game.ties > 0;
                if game.a == from && lost(game.wins_b) {
                    Some(game.b)
                } else if game.b == from && lost(game.wins_a) {
                    Some(game.a)
                } else {
                    None
                }
            })
        };
        reaches_all(self.models, beats) && reaches_all(self.models, loses_to)
    }
}

fn reaches_all<Next: Iterator<Item = usize>>(models: usize, next: impl Fn(usize) -> Next) -> bool {
    let mut reached = vec![false; models];
    let mut open = Vec::new();
    if let Some(first) = reached.first_mut() {
        *first = true;
        open.push(0);
    }
    while let Some(model) = open.pop() {
        for other in next(model) {
            if !reached[other] {
                reached[other] = true;
                open.push(other);
            }
        }
    }
    reached.into_iter().all(|reached| reached)
}
