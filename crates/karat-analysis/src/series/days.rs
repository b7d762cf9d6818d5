//! Cards on a calendar: every day from the first to the last card, also those without any.

use std::collections::{BTreeMap, BTreeSet};

use karat_stats::describe::{mean, median};

use super::input::SeriesInput;
use super::parts::Contributions;
use super::view::{SeriesCard, SeriesDay};
use crate::drift::{date_of, day_number};

/// Calendar days of the moving median where no drift rule names them.
pub(super) const SHORT: i32 = 7;

/// Fewest days with a value for a moving median: two points show no trend.
const FEWEST: usize = 3;

/// Most days of a calendar: one wrong date must not make it a century long.
const MOST: i32 = 4_000;

/// The calendar.
#[derive(Debug, Default)]
pub(super) struct Calendar {
    pub(super) days: Vec<SeriesDay>,
    /// Days with cards before the first day.
    pub(super) earlier: usize,
}

pub(super) fn calendar(cards: &[SeriesCard], input: &SeriesInput<'_>) -> Calendar {
    let mut by_day: BTreeMap<i32, Vec<&SeriesCard>> = BTreeMap::new();
    for card in cards {
        day_number(&card.date).into_iter().for_each(|day| by_day.entry(day).or_default().push(card));
    }
    let (Some((first, _)), Some((last, _))) = (by_day.first_key_value(), by_day.last_key_value()) else {
        return Calendar::default();
    };
    // A card after the last one that counts would stretch the calendar; `as_of` has removed it.
    let (last, from) = (*last, (*first).max(last.saturating_sub(MOST - 1)));
    let short = input.drift.as_ref().map_or(SHORT, |drift| drift.drift.short_window);
    let values: BTreeMap<i32, f64> = by_day
        .iter()
        .filter_map(|(day, cards)| Some((*day, mean(&cards.iter().map(|card| card.composite).collect::<Vec<f64>>())?)))
        .collect();
    let late: BTreeSet<&str> = input.drift.iter().flat_map(|drift| drift.late.iter().map(String::as_str)).collect();
    let usual: BTreeMap<&str, (f64, f64)> = input
        .drift
        .iter()
        .flat_map(|drift| &drift.past.ranges)
        .map(|it| (it.date.as_str(), (it.low, it.high)))
        .collect();
    let day = |day: i32| {
        let date = date_of(day);
        let cards = by_day.get(&day).map(Vec::as_slice).unwrap_or_default();
        let window: Vec<f64> = values.range(day.saturating_sub(short - 1)..=day).map(|(_, value)| *value).collect();
        let pinned: Vec<f64> = cards.iter().filter_map(|card| card.baseline).collect();
        let parts: Vec<&Contributions> = cards.iter().filter_map(|card| card.parts.as_ref()).collect();
        SeriesDay {
            cards: cards.len(),
            value: values.get(&day).copied(),
            median: median(&window).filter(|_| window.len() >= FEWEST && !cards.is_empty()),
            baseline: mean(&pinned),
            usual: usual.get(date.as_str()).copied(),
            parts: Contributions::mean(&parts),
            is_superseded: late.contains(date.as_str()) || cards.iter().any(|card| card.is_regraded),
            date,
        }
    };
    Calendar { days: (from..=last).map(day).collect(), earlier: by_day.range(..from).count() }
}
