//! BC-04: no near duplicate crosses parts, shares and strata hold, the test is the latest, and kept rows stay.

use std::collections::BTreeSet;

use karat_dataset::duplicates::{Search, TextGroups, verifier_of};
use karat_dataset::split::{PartShare, RowFacts, assign};
use proptest::prelude::*;

use crate::duplicates::{Numbering, edited_texts};

fn parts() -> Vec<PartShare> {
    PartShare::parse_list("train=0.8,dev=0.1,test=0.1").unwrap()
}

/// BC-04: of all pairs with a Jaccard index of at least 0.5, none is in two parts; the parts have their shares.
#[test]
fn no_pair_of_half_the_shingles_crosses_parts() {
    let texts = edited_texts();
    let mut groups = verifier_of(&texts, 0.5, Search::All).groups();
    let split = assign(&vec![RowFacts::default(); texts.len()], &mut groups, &parts(), 7);
    let mut numbering = Numbering::default();
    let shingles: Vec<_> = texts.iter().map(|text| numbering.shingles(text)).collect();
    let mut crossing = 0;
    for (right, text) in shingles.iter().enumerate() {
        for (left, other) in shingles[..right].iter().enumerate() {
            if split.part_of[left] != split.part_of[right] && text.jaccard(other, 0.5) >= 0.5 {
                crossing += 1;
            }
        }
    }
    assert_eq!(crossing, 0);
    assert!(split.parts.iter().all(|part| !part.is_off()), "{:?}", split.parts);
    assert!(split.groups >= 300 && split.aside.is_empty());
}

/// BC-04: strata keep their shares in every part.
#[test]
fn strata_keep_their_shares() {
    let facts: Vec<RowFacts> =
        (0..1000).map(|row| RowFacts { stratum: u32::from(row % 10 == 0), ..RowFacts::default() }).collect();
    let split = assign(&facts, &mut TextGroups::of_rows(1000), &parts(), 3);
    let count = |part, stratum| {
        let rows = (0..1000).filter(|row| split.part_of[*row] == Some(part) && facts[*row].stratum == stratum);
        rows.count()
    };
    assert_eq!([count(0, 1), count(1, 1), count(2, 1)], [80, 10, 10]);
    assert_eq!([count(0, 0), count(1, 0), count(2, 0)], [720, 90, 90]);
}

/// BC-04: by time, no row of another part is later than the latest row of any group of the test.
#[test]
fn the_test_is_the_latest() {
    let facts: Vec<RowFacts> =
        (0..400_i64).map(|row| RowFacts { day: Some((row * 37) % 200), ..RowFacts::default() }).collect();
    let mut groups = TextGroups::of_rows(400);
    (0..100).for_each(|row| groups.join(row, row + 300));
    let named = PartShare::parse_list("test=0.2,train=0.8").unwrap();
    let split = assign(&facts, &mut groups, &named, 1);
    let latest = |row: u32, groups: &mut TextGroups| {
        let root = groups.of(row);
        (0..400).filter(|other| groups.of(*other) == root).filter_map(|other| facts[other as usize].day).max()
    };
    let train =
        (0..400).filter(|row| split.part_of[*row as usize] == Some(1)).filter_map(|row| facts[row as usize].day).max();
    let test =
        (0..400).filter(|row| split.part_of[*row as usize] == Some(0)).filter_map(|row| latest(row, &mut groups)).min();
    assert!(train <= test, "train until {train:?}, test from {test:?}");
    assert!(split.parts.iter().all(|part| !part.is_off()), "{:?}", split.parts);
}

/// BC-04: a tenth of new rows moves no old one; a new row that joins rows of two parts is set aside.
#[test]
fn kept_rows_stay_where_they_are() {
    let texts = edited_texts();
    let old = texts.len() * 10 / 11;
    let mut before = verifier_of(&texts[..old], 0.5, Search::All).groups();
    let first = assign(&vec![RowFacts::default(); old], &mut before, &parts(), 7);
    let mut facts: Vec<RowFacts> =
        first.part_of.iter().map(|part| RowFacts { kept: *part, ..RowFacts::default() }).collect();
    facts.resize(texts.len(), RowFacts::default());
    let mut groups = verifier_of(&texts, 0.5, Search::All).groups();
    let second = assign(&facts, &mut groups, &parts(), 99);
    assert_eq!(second.part_of[..old], first.part_of[..]);
    assert!(
        second.part_of[old..]
            .iter()
            .zip(old..)
            .all(|(part, row)| part.is_some() || second.aside.contains(&(row as u32)))
    );
    // A new row that belongs to a row of the first part and to one of the last.
    let one = first.part_of.iter().position(|part| *part == Some(0)).unwrap() as u32;
    let other = first.part_of.iter().position(|part| *part == Some(2)).unwrap() as u32;
    let new = old as u32;
    groups.join(one, new);
    groups.join(other, new);
    let third = assign(&facts, &mut groups, &parts(), 99);
    assert!(third.aside.contains(&new) && third.torn.len() == 1);
    assert_eq!(third.part_of[..old], first.part_of[..]);
}

/// BC-04: a group that is larger than its part is told by the sizes.
#[test]
fn a_group_that_does_not_fit_is_told() {
    let mut groups = TextGroups::of_rows(10);
    (1..9).for_each(|row| groups.join(0, row));
    let split = assign(&[RowFacts::default(); 10], &mut groups, &PartShare::parse_list("a=0.5,b=0.5").unwrap(), 1);
    assert!(split.parts.iter().all(|part| part.is_off()));
    assert_eq!(split.parts.iter().map(|part| part.largest_group).max(), Some(9));
    let empty = assign(&[], &mut TextGroups::of_rows(0), &parts(), 1);
    assert!(empty.part_of.is_empty() && empty.parts.iter().all(|part| part.rows == 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

    /// BC-04: each row is in one part or set aside, groups stay whole, and kept rows stay.
    #[test]
    fn groups_stay_whole(
        rows in prop::collection::vec((0_u32..3, prop::option::of(0_i64..9), prop::option::weighted(0.3, 0_u32..3)), 1..60),
        joins in prop::collection::vec((0_usize..60, 0_usize..60), 0..40),
        seed in 0_u64..100,
    ) {
        let facts: Vec<RowFacts> = rows.iter().map(|(stratum, day, kept)| RowFacts { stratum: *stratum, day: *day, kept: *kept }).collect();
        let count = facts.len();
        let mut groups = TextGroups::of_rows(count as u32);
        joins.iter().for_each(|(one, other)| groups.join((one % count) as u32, (other % count) as u32));
        let split = assign(&facts, &mut groups, &parts(), seed);
        prop_assert_eq!(split.parts.iter().map(|part| part.rows).sum::<u64>() as usize + split.aside.len(), count);
        for row in 0..count {
            prop_assert_eq!(split.part_of[row].is_none(), split.aside.contains(&(row as u32)));
            if let Some(kept) = facts[row].kept {
                prop_assert_eq!(split.part_of[row], Some(kept));
            }
            let root = groups.of(row as u32);
            let members: Vec<usize> = (0..count).filter(|other| groups.of(*other as u32) == root).collect();
            let own: BTreeSet<_> = members.iter().filter_map(|other| split.part_of[*other]).collect();
            let kept: BTreeSet<_> = members.iter().filter_map(|other| facts[*other].kept).collect();
            prop_assert!(own.len() <= 1 || own == kept);
        }
    }
}
