//! The race of a run's systems in one metric.

use karat_stats::sequential::{Race, RaceSpec};
use karat_types::{Better, DroppedSystem, Key, PlanHeader};

use super::population::Population;
use super::scores::UnitScores;
use crate::system_id;

/// A race that is followed.
pub(super) struct FollowedRace {
    metric: usize,
    range: (f64, f64),
    better: Better,
    race: Race,
    /// The last unit of each system's race.
    pub(super) last: Vec<Option<Key>>,
}

impl FollowedRace {
    /// The race of a plan.
    ///
    /// # Errors
    /// An unknown metric, one without a range, or fewer than two systems.
    pub(super) fn of(
        plan: &PlanHeader,
        name: &str,
        population: &Population,
        (min_units, alpha): (u64, f64),
    ) -> Result<Self, String> {
        let found = plan.metrics.iter().enumerate().find(|(_, metric)| metric.name == name);
        let (metric, spec) = found.ok_or_else(|| format!("`run.stop_early.race`: there is no metric `{name}`"))?;
        let range = spec.range.ok_or_else(|| format!("`run.stop_early.race`: {name} has no range"))?;
        let systems = plan.systems.len();
        let spec_of = RaceSpec { systems, units: population.units(), largest: population.largest(), min_units };
        let race = Race::new(spec_of, alpha).map_err(|error| format!("`run.stop_early.race`: {error}"))?;
        Ok(Self { metric, range, better: spec.better, race, last: vec![None; systems] })
    }

    /// Returns whether a system is still in the race, and the race is not decided.
    pub(super) fn is_open(&self, system: usize) -> bool {
        self.last.get(system).is_some_and(Option::is_none)
    }

    /// Adds the next unit.
    pub(super) fn add(&mut self, unit: Key, scores: &UnitScores) -> Result<(), String> {
        if self.race.is_decided() {
            return Ok(());
        }
        let (lo, hi) = self.range;
        let scaled = |value: f64| {
            let share = ((value - lo) / (hi - lo)).clamp(0.0, 1.0);
            if self.better == Better::Lower { 1.0 - share } else { share }
        };
        let mut samples: Vec<usize> = (0..scores.samples.len()).collect();
        samples.sort_by(|one, other| scores.samples[*one].id.cmp(&scores.samples[*other].id));
        let of_system = |system: usize| -> Vec<Option<f64>> {
            samples.iter().map(|sample| scores.score(self.metric, *sample, system).map(scaled)).collect()
        };
        let by_system: Vec<Vec<Option<f64>>> = (0..self.last.len()).map(of_system).collect();
        let dropped: Vec<usize> =
            self.race.add(&by_system).map_err(|error| error.to_string())?.iter().map(|drop| drop.system).collect();
        for system in dropped {
            self.last[system] = Some(unit);
        }
        if self.race.is_decided() {
            self.last.iter_mut().filter(|last| last.is_none()).for_each(|last| *last = Some(unit));
        }
        Ok(())
    }

    /// The dropped systems.
    pub(super) fn drops(&self, plan: &PlanHeader) -> Vec<DroppedSystem> {
        let drops = self.race.drops().iter();
        let named = drops.map(|drop| DroppedSystem {
            system: system_id(plan, drop.system),
            dropped_after: drop.units,
            by: system_id(plan, drop.by),
        });
        named.collect()
    }
}
