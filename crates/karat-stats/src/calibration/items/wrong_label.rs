//! The probability that a reference is wrong, from systems that agree against it.
//!
//! The one-coin model of Dawid and Skene (1979): a system of accuracy p gives the right answer with p, and each wrong one
//! with (1 − p)·c, where c is the probability that two wrong answers to one item are the same. An answer in place of the
//! reference then has the odds p/((1 − p)·c) from each system that gives it, and their inverse from each that gives the
//! reference. Systems of one group are no independent witnesses, so a group counts once, by the mean of its systems.

use std::collections::BTreeMap;

/// Accuracies are kept this far from 0 and 1: no system is beyond doubt.
const MARGIN: f64 = 0.02;

/// A system that answers items.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnsweringSystem {
    /// Share of items on which it agrees with the reference, from 0 to 1.
    pub accuracy: f64,
    /// The group of systems that err alike, such as models of one family.
    pub group: usize,
}

/// The answer of a system to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Index of the system.
    pub system: usize,
    /// The number of the answer; equal answers have equal numbers. `None` for the reference.
    pub other: Option<usize>,
}

/// The systems of a set, and their habits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabelModel<'a> {
    /// The systems.
    pub systems: &'a [AnsweringSystem],
    /// Probability that two wrong answers to one item are the same, above 0 and at most 1.
    pub coincidence: f64,
    /// Share of wrong references before anything is seen, between 0 and 1.
    pub prior: f64,
}

/// The answer that contradicts a reference best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contradiction {
    /// Its number.
    pub answer: usize,
    /// Probability that it is right, and the reference wrong.
    pub probability: f64,
    /// Number of systems that give it.
    pub systems: usize,
    /// Number of their groups.
    pub groups: usize,
}

/// The answer that most probably is right in place of the reference; `None` if no system contradicts it.
pub fn wrong_label(model: &LabelModel<'_>, answers: &[Answer]) -> Option<Contradiction> {
    let others: std::collections::BTreeSet<usize> = answers.iter().filter_map(|answer| answer.other).collect();
    let best = others.into_iter().map(|other| (other, model.log_odds(answers, other)));
    let (answer, log_odds) = best.reduce(|best, next| if next.1 > best.1 { next } else { best })?;
    let given = answers.iter().filter(|it| it.other == Some(answer));
    let groups: Vec<usize> = given.filter_map(|it| Some(model.systems.get(it.system)?.group)).collect();
    let different: std::collections::BTreeSet<usize> = groups.iter().copied().collect();
    Some(Contradiction {
        answer,
        probability: 1.0 / (1.0 + (-log_odds).exp()),
        systems: groups.len(),
        groups: different.len(),
    })
}

impl LabelModel<'_> {
    fn log_odds(&self, answers: &[Answer], other: usize) -> f64 {
        let mut groups: BTreeMap<usize, (f64, u32)> = BTreeMap::new();
        for answer in answers {
            let Some(system) = self.systems.get(answer.system) else { continue };
            let weight = match answer.other {
                Some(it) if it == other => self.weight(system),
                Some(_) => 0.0,
                None => -self.weight(system),
            };
            let (sum, n) = groups.entry(system.group).or_default();
            (*sum, *n) = (*sum + weight, *n + 1);
        }
        let prior = self.prior.clamp(1e-9, 1.0 - 1e-9);
        (prior / (1.0 - prior)).ln() + groups.values().map(|(sum, n)| sum / f64::from(*n)).sum::<f64>()
    }

    /// The log odds that an answer of the system brings. One that does no better than chance brings none.
    fn weight(&self, system: &AnsweringSystem) -> f64 {
        let c = self.coincidence.clamp(0.01, 1.0);
        let accuracy = system.accuracy.clamp(MARGIN, 1.0 - MARGIN);
        (accuracy / ((1.0 - accuracy) * c)).ln().max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn systems(accuracies: &[f64]) -> Vec<AnsweringSystem> {
        accuracies.iter().enumerate().map(|(group, accuracy)| AnsweringSystem { accuracy: *accuracy, group }).collect()
    }

    fn answers(others: &[Option<usize>]) -> Vec<Answer> {
        others.iter().enumerate().map(|(system, other)| Answer { system, other: *other }).collect()
    }

    /// BC-08: the odds are those of Bayes' rule, computed by hand.
    #[test]
    fn systems_that_agree_outweigh_a_reference() {
        let systems = systems(&[0.8, 0.8, 0.6]);
        let model = LabelModel { systems: &systems, coincidence: 0.5, prior: 0.05 };
        let found = wrong_label(&model, &answers(&[Some(4), Some(4), None])).unwrap();
        let odds = (0.05 / 0.95) * (0.8 / 0.1) * (0.8 / 0.1) / (0.6 / 0.2);
        assert!((found.probability - odds / (1.0 + odds)).abs() < 1e-12, "{found:?}");
        assert_eq!((found.answer, found.systems, found.groups), (4, 2, 2));
        assert_eq!(wrong_label(&model, &answers(&[None, None])), None);
        assert_eq!(wrong_label(&model, &[]), None);
    }

    /// BC-08: a group of like systems is one witness, and systems at chance are none.
    #[test]
    fn like_systems_and_guesses_prove_little() {
        let mut all = systems(&[0.9; 6]);
        let apart = wrong_label(&LabelModel { systems: &all, coincidence: 0.3, prior: 0.03 }, &answers(&[Some(1); 6]));
        all.iter_mut().for_each(|it| it.group = 0);
        let model = LabelModel { systems: &all, coincidence: 0.3, prior: 0.03 };
        let alike = wrong_label(&model, &answers(&[Some(1); 6])).unwrap();
        assert!(apart.unwrap().probability > 0.99 && alike.probability < 0.5, "{alike:?}");
        assert_eq!((alike.systems, alike.groups), (6, 1));
        let guessing = systems(&[0.25; 6]);
        let model = LabelModel { systems: &guessing, coincidence: 1.0 / 3.0, prior: 0.03 };
        let found = wrong_label(&model, &answers(&[Some(1); 6])).unwrap();
        assert!((found.probability - 0.03).abs() < 1e-6, "{found:?}");
    }

    /// BC-08: of two answers the likelier one is named, and the first of equals.
    #[test]
    fn the_best_answer_is_named() {
        let systems = systems(&[0.7; 5]);
        let model = LabelModel { systems: &systems, coincidence: 0.3, prior: 0.03 };
        let found = wrong_label(&model, &answers(&[Some(0), Some(1), Some(1), Some(1), None])).unwrap();
        assert_eq!((found.answer, found.systems), (1, 3));
        let tie = wrong_label(&model, &answers(&[Some(7), Some(2), Some(7), Some(2), None])).unwrap();
        assert_eq!(tie.answer, 2);
    }
}
