//! Looks: earlier runs that tried the same systems on a part of the same samples. Adding samples until
//! a change is significant finds one by chance, so look k is decided at α/5^(k−1): at most 1.25 α in all.

use std::collections::{BTreeMap, BTreeSet};

use karat_types::{Key, KeyBuilder, PlanHeader, RunHeader};
use serde::{Deserialize, Serialize};

/// The factor of p-values for each earlier look.
const SHARE: f64 = 5.0;

/// An earlier finished run, all of whose samples are among those of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierRun {
    /// Its id.
    pub run: String,
    /// Number of its samples.
    pub samples: u64,
    /// The content of its systems.
    pub systems: BTreeSet<Key>,
    /// Names of its metrics.
    pub metrics: BTreeSet<String>,
    /// True if it ran on a part of its dataset.
    pub is_pilot: bool,
}

impl EarlierRun {
    /// Describes a run.
    pub fn of(header: &RunHeader, is_pilot: bool) -> Self {
        let plan = &header.plan;
        Self {
            run: header.id.clone(),
            samples: header.shard.map_or(plan.dataset.rows, |part| part.rows),
            systems: (0..plan.systems.len()).map(|system| system_content(plan, system)).collect(),
            metrics: plan.metrics.iter().map(|metric| metric.name.clone()).collect(),
            is_pilot,
        }
    }
}

/// The earlier looks at what a run compares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Looks {
    /// The earlier runs, oldest first.
    pub earlier: Vec<EarlierRun>,
    /// True if this run is on a part of its dataset.
    pub is_pilot: bool,
}

/// The number of a look, and what makes it one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Look {
    /// 1 for the first.
    pub look: u32,
    /// True for a run on a part of its dataset, which is decided at a fifth of the level and does not count for the whole.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pilot: bool,
    /// The first look, if this is a later one.
    #[serde(skip_serializing_if = "Option::is_none", rename = "first_look")]
    pub first: Option<FirstLook>,
}

/// The first look at a contrast.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FirstLook {
    /// The run.
    pub run: String,
    /// Number of its samples.
    pub samples: u64,
}

impl Looks {
    /// The look at a metric of systems with this content.
    pub(crate) fn at(&self, systems: &BTreeSet<Key>, metric: &str) -> Look {
        let mut earlier = self.earlier.iter().filter(|it| {
            (self.is_pilot || !it.is_pilot) && systems.is_subset(&it.systems) && it.metrics.contains(metric)
        });
        let first = earlier.next().map(|it| FirstLook { run: it.run.clone(), samples: it.samples });
        let look = 1 + u32::from(first.is_some()) + u32::try_from(earlier.count()).unwrap_or(u32::MAX - 2);
        Look { look, pilot: self.is_pilot, first }
    }
}

impl Look {
    /// The factor of p-values, by which the level is divided.
    pub(crate) fn factor(&self) -> f64 {
        SHARE.powi(i32::try_from(self.look - 1 + u32::from(self.pilot)).unwrap_or(i32::MAX))
    }

    /// The sentence about a look that is not decided at the whole level; for example
    /// `look 2 (first: run a, 50 samples): decided at 1 %`.
    pub fn sentence(&self, alpha: f64) -> Option<String> {
        let level = format!("{:.2e}", 100.0 * alpha / self.factor()).parse::<f64>().unwrap_or_default();
        let decided = format!("decided at {level} %");
        let part = if self.pilot { "a pilot on a part of its dataset" } else { "" };
        match (&self.first, self.pilot) {
            (None, false) => None,
            (None, true) => Some(format!("{part}: {decided}")),
            (Some(first), _) => {
                let comma = if self.pilot { ", " } else { "" };
                let FirstLook { run, samples } = first;
                Some(format!("look {}{comma}{part} (first: run {run}, {samples} samples): {decided}", self.look))
            }
        }
    }
}

/// A digest of all that makes the outputs of a system but its name and prices: its steps, its models and their settings,
/// its services and tools, and the parameters that its steps read.
pub(crate) fn system_content(plan: &PlanHeader, system: usize) -> Key {
    let steps = plan.systems.get(system).and_then(|it| plan.variants.get(it.variant)).map(|it| it.steps.as_slice());
    let steps = steps.unwrap_or_default();
    let named = steps.iter().filter_map(|step| step.model.as_ref());
    let named = named.filter_map(|id| plan.models.iter().find(|model| model.id == *id));
    let mut key = KeyBuilder::new("karat/system-content").json(steps);
    for model in plan.system_model(system).into_iter().chain(named) {
        key = key.text(&model.provider).text(&model.model).json(&model.base_url).json(&model.with);
        key = key.json(&model.parameters);
    }
    let reads: BTreeSet<&str> =
        steps.iter().flat_map(|step| &step.reads).filter_map(|name| name.strip_prefix("params.")).collect();
    let is_read = |name: &str| reads.iter().any(|it| it.split(['.', '[']).next() == Some(name));
    let params: BTreeMap<_, _> = plan.params.iter().filter(|(name, _)| is_read(name)).collect();
    key.json(&params).json(&plan.services).json(&plan.tools).finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::compare::{ComparisonVerdict, Contrast};
    use crate::testing::{MemoryRun, Sketch};
    use crate::{Findings, Options, analyse};

    fn run(shares: &[usize], samples: usize) -> MemoryRun {
        let mut sketch = Sketch::new(1, shares.len(), samples).metric("binary", json!(true));
        for (variant, passed) in shares.iter().enumerate() {
            for sample in 0..samples {
                sketch = sketch.value(sample, variant, f64::from(u8::from(sample < *passed)));
            }
        }
        sketch.run()
    }

    fn contrast(looks: Looks, shares: &[usize]) -> (Contrast, Findings) {
        let found = analyse(&run(shares, 60), &Options { looks, ..Options::default() }).unwrap();
        (found.contrasts[0].clone(), found)
    }

    fn earlier(id: &str, of: &[usize], is_pilot: bool) -> EarlierRun {
        let mut rows = run(of, 20);
        rows.header.id = id.to_owned();
        EarlierRun::of(&rows.header, is_pilot)
    }

    /// DC-14: look k is decided at a fifth of the level of the look before, on every screen.
    #[test]
    fn a_later_look_needs_more() {
        // Six changes, all one way: mid-p 0.0156, and eight: 0.0039.
        let first = contrast(Looks::default(), &[40, 46]).0;
        assert_eq!((first.verdict, first.look.look), (ComparisonVerdict::Better, 1));
        let looks = Looks { earlier: vec![earlier("a", &[9, 12], false)], is_pilot: false };
        let (second, found) = contrast(looks.clone(), &[40, 46]);
        assert_eq!((second.verdict, second.look.look), (ComparisonVerdict::Undecided, 2));
        assert!((second.p_adjusted.unwrap() - 5.0 * second.p.unwrap()).abs() < 1e-12);
        assert!((second.difference.level().unwrap() - 0.99).abs() < 1e-12);
        assert_eq!(second.look.sentence(0.05).unwrap(), "look 2 (first: run a, 20 samples): decided at 1 %");
        assert!(found.recommendations.iter().any(|it| it.caveat.as_ref().is_some_and(|it| it.starts_with("look 2 "))));
        assert_eq!(contrast(looks, &[40, 48]).0.verdict, ComparisonVerdict::Better);
    }

    /// DC-14: a look has both sides; other systems, or one of the two, are none.
    #[test]
    fn a_look_has_both_sides() {
        let mut other = earlier("a", &[9, 12], false);
        other.systems = BTreeSet::from([Key([1; 16])]);
        let looks = Looks { earlier: vec![other], is_pilot: false };
        assert_eq!(contrast(looks, &[40, 46]).0.look, Look { look: 1, pilot: false, first: None });
    }

    /// DC-14: a pilot is decided at a fifth, and does not tax the whole run.
    #[test]
    fn a_pilot_does_not_tax_the_whole() {
        let pilots = vec![earlier("a", &[9, 12], true)];
        let whole = contrast(Looks { earlier: pilots.clone(), is_pilot: false }, &[40, 46]).0;
        assert_eq!((whole.verdict, whole.look.look), (ComparisonVerdict::Better, 1));
        let pilot = contrast(Looks { earlier: Vec::new(), is_pilot: true }, &[40, 46]).0;
        assert_eq!(pilot.look.sentence(0.05).unwrap(), "a pilot on a part of its dataset: decided at 1 %");
        assert_eq!(pilot.verdict, ComparisonVerdict::Undecided);
        let second = contrast(Looks { earlier: pilots, is_pilot: true }, &[40, 46]).0;
        assert!(second.look.sentence(0.05).unwrap().ends_with("decided at 0.2 %"), "{:?}", second.look);
    }

    /// DC-14: a system keeps its content under another name and price, and loses it with its prompt or model.
    #[test]
    fn content_is_what_makes_outputs() {
        let rows = Sketch::new(2, 1, 5).fill(1.0).run();
        let plan = (*rows.header.plan).clone();
        let key = system_content(&plan, 0);
        assert_ne!(key, system_content(&plan, 1));
        let mut named = plan.clone();
        named.variants[0].id = "renamed".to_owned();
        named.models[0].id = "renamed".to_owned();
        assert_eq!(system_content(&named, 0), key);
        let mut other = plan;
        other.models[0].model = "other".to_owned();
        assert_ne!(system_content(&other, 0), key);
    }
}
