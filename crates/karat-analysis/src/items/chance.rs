//! Items at an end of the scale that chance explains: they differ in nothing from the others.

use super::collect::{Collected, ItemResult};
use super::figures::TestItem;
use super::flags::{CEILING, FLOOR, FlagKind};

/// An end of the scale: the flag of items there, the test of a score, and words for a note.
type ScaleEnd = (FlagKind, fn(f64) -> bool, &'static str);

/// Chance of an item from which a whole set is at its end: then its items are what they are.
const SET_AT_END: f64 = 0.5;

/// Removes *saturated* and *never solved* where systems that succeed at random on equal items would leave as many: such
/// items differ in nothing from the others. Says so in `notes`.
pub(super) fn remove_chance(collected: &Collected, items: &mut [TestItem], notes: &mut Vec<String>) {
    let ends: [ScaleEnd; 2] = [
        (FlagKind::Saturated, |score| score >= CEILING, "solved by all systems"),
        (FlagKind::NeverSolved, |score| score <= FLOOR, "solved by no system"),
    ];
    for (kind, is_at_end, what) in ends {
        let observed = items.iter().filter(|item| item.has(kind)).count();
        let Some(expected) = expected_at_end(collected, is_at_end) else { continue };
        if observed == 0 || expected < 1.0 || observed as f64 > expected + 2.0 * expected.sqrt() {
            continue;
        }
        items.iter_mut().for_each(|item| item.flags.retain(|flag| flag.flag != kind));
        notes.push(format!(
            "Items {what}: {observed}, no more than chance leaves ({expected:.0}). They are not flagged: more systems tell \
             whether they differ from the others."
        ));
    }
}

/// The number of items on which all systems are at one end of the scale, if each is there on any item with the same
/// probability; `None` if that is likely for every item, so that the set as a whole is at its end.
fn expected_at_end(collected: &Collected, is_at_end: fn(f64) -> bool) -> Option<f64> {
    let share = |results: &[Option<ItemResult>]| {
        let scores: Vec<f64> = results.iter().flatten().map(|result| result.score).collect();
        scores.iter().filter(|score| is_at_end(**score)).count() as f64 / scores.len().max(1) as f64
    };
    let shares: Vec<f64> = collected.systems.iter().map(|system| share(&system.results)).collect();
    let chance = |item: usize| {
        let known = shares.iter().enumerate().filter(|(system, _)| collected.result(item, *system).is_some());
        known.map(|(_, share)| share).product::<f64>()
    };
    let chances: Vec<f64> = (0..collected.items.len()).map(chance).collect();
    let expected: f64 = chances.iter().sum();
    (expected / (chances.len().max(1) as f64) < SET_AT_END).then_some(expected)
}
