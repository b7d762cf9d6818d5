//! A made-up dated suite: one document a day, graded by judges under a rubric with caps, gates and a golden set.

use karat_types::{Cap, Gate, GateReference, GateRules, JudgmentRecord, Rubric, SampleRecord, Score, Threshold};
use serde_json::{Value, json};

use super::{MemoryCell, MemoryRun, cell, header, judgment, model, run_spec};
use crate::drift::{DriftOptions, Method, WatchedMetric, date_of, day_number, drift, drift_past};
use crate::golden::Golden;
use crate::series::{JudgeChoice, SeriesDrift, SeriesInput, SeriesView, series_view};
use crate::{GradeRow, History, Pinned, PinnedRun, RowFilter, for_each_graded};

/// A made-up dated suite. Change fields, then call [`DatedSuite::view`] or [`DatedSuite::run`].
#[derive(Debug, Clone)]
pub struct DatedSuite {
    /// The suite's name.
    pub name: String,
    /// The scorer's id.
    pub scorer: String,
    /// Name of the composite.
    pub overall: String,
    /// The way in which the composite follows from the axes: `weighted_mean`, `mean`, `min`, `given`.
    pub method: String,
    /// Axes with their weights.
    pub axes: Vec<(String, f64)>,
    /// The scale of all axes.
    pub scale: (f64, f64),
    /// Calendar days from 2026-01-01.
    pub days: i32,
    /// The judges.
    pub judges: Vec<String>,
    /// The variants, each a system.
    pub variants: Vec<String>,
    /// Days without a document, from and to.
    pub gap: Option<(i32, i32)>,
    /// Days on which all grades are lower, from and to.
    pub slide: Option<(i32, i32)>,
    /// Every so many days a cap lowers the first axis; 0 for never.
    pub cap_every: i32,
    /// Every so many days a document is pinned; 0 for never.
    pub pinned_every: i32,
    /// A text at the end of every judge's reasoning.
    pub note: String,
    /// True if all grades are equal.
    pub is_flat: bool,
    /// True if a metric scores the documents instead of judges.
    pub is_plain: bool,
}

impl Default for DatedSuite {
    fn default() -> Self {
        let axes = [("accuracy", 0.3), ("novelty", 0.2), ("sources", 0.15), ("density", 0.2), ("coherence", 0.15)];
        Self {
            name: "daily".to_owned(),
            scorer: "quality".to_owned(),
            overall: "composite".to_owned(),
            method: "weighted_mean".to_owned(),
            axes: axes.map(|(name, weight)| (name.to_owned(), weight)).to_vec(),
            scale: (1.0, 5.0),
            days: 120,
            judges: vec!["strict".to_owned()],
            variants: vec!["published".to_owned()],
            gap: Some((30, 36)),
            slide: Some((70, 88)),
            cap_every: 11,
            pinned_every: 9,
            note: String::new(),
            is_flat: false,
            is_plain: false,
        }
    }
}

/// The day before the first.
const BEFORE: &str = "2025-12-31";

impl DatedSuite {
    /// The name of the composite metric.
    pub fn metric(&self) -> String {
        if self.is_plain { self.scorer.clone() } else { format!("{}.{}", self.scorer, self.overall) }
    }

    fn date(&self, day: i32) -> String {
        date_of(day_number(BEFORE).unwrap_or_default() + day)
    }

    /// The stored run of all days.
    pub fn run(&self) -> MemoryRun {
        let shown: Vec<i32> =
            (1..=self.days).filter(|day| self.gap.is_none_or(|(from, to)| !(from..=to).contains(day))).collect();
        let sample = |(row, day): (usize, &i32)| SampleRecord {
            row: row as u64,
            id: self.date(*day),
            date: Some(self.date(*day)),
            ..SampleRecord::default()
        };
        let mut run = MemoryRun {
            header: header(self.plan_json(shown.len())),
            samples: shown.iter().enumerate().map(sample).collect(),
            cells: Vec::new(),
            outputs: Default::default(),
        };
        run.header.id = "run-daily".to_owned();
        let rubric = self.rubric();
        for (row, day) in shown.iter().enumerate() {
            for system in 0..self.variants.len() {
                let ordinal = (row * self.variants.len() + system) as u64;
                run.cells.push(self.cell(ordinal, row, system, *day, &rubric));
            }
        }
        run
    }

    fn cell(&self, ordinal: u64, sample: usize, system: usize, day: i32, rubric: &Rubric) -> MemoryCell {
        let mut record = cell(ordinal);
        let mut judgments = Vec::new();
        if self.is_plain {
            record.scores = vec![(0, Score::value(self.grade(day, 0, system, 0)))];
        } else {
            judgments =
                (0..self.judges.len()).map(|judge| self.judgment(ordinal, day, (system, judge), rubric)).collect();
        }
        MemoryCell { sample, system, trial: 0, cell: record, judgments }
    }

    fn judgment(&self, ordinal: u64, day: i32, (system, judge): (usize, usize), rubric: &Rubric) -> JudgmentRecord {
        let is_capped = self.cap_every > 0 && day % self.cap_every == 0;
        let caps: Vec<&Cap> = rubric.caps.iter().filter(|_| is_capped).collect();
        let scores = rubric.dimensions.iter().enumerate().map(|(axis, dimension)| {
            let grade = self.grade(day, axis, system, judge);
            let bound = caps.iter().find_map(|cap| Some((*cap, *cap.max.get(&dimension.name)?)));
            match bound.filter(|(_, max)| *max < grade) {
                Some((cap, max)) => Score::value_because(max, cap.lowered_reason(grade)),
                None => Score::value(grade),
            }
        });
        let scores: Vec<Score> = scores.collect();
        let weighted: Vec<(f64, f64)> = scores
            .iter()
            .zip(&rubric.dimensions)
            .filter_map(|(score, dimension)| Some((score.number()?, dimension.weight)))
            .collect();
        let given = || weighted.first().map(|(value, _)| *value);
        let composite = rubric.overall.as_ref().and_then(|overall| overall.of(&weighted)).or_else(given);
        let all = scores.into_iter().chain(composite.map(Score::value));
        JudgmentRecord {
            scores: all.enumerate().map(|(at, score)| (at as u16, score)).collect(),
            reasoning: format!(
                "Day {day}: {} stories, {}.{}",
                3 + day % 5,
                if is_capped { "no source" } else { "sourced" },
                self.note
            ),
            caps: caps.iter().map(|cap| cap.id.clone()).collect(),
            prompt_version: Some("v1".to_owned()),
            ..judgment(ordinal, 0, judge as u16)
        }
    }

    /// A whole grade that depends on day, axis, system and judge alone.
    fn grade(&self, day: i32, axis: usize, system: usize, judge: usize) -> f64 {
        let (lo, hi) = self.scale;
        if self.is_flat {
            return f64::midpoint(lo, hi);
        }
        let mut state =
            (day as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (axis as u64 + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state ^= (system as u64 + 1).wrapping_mul(0x94d0_49bb_1331_11eb)
            ^ (judge as u64 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93);
        state ^= state >> 29;
        state = state.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state ^= state >> 32;
        let noise = (state % 1_000) as f64 / 1_000.0;
        let is_low = self.slide.is_some_and(|(from, to)| (from..=to).contains(&day));
        let share = if is_low { 0.15 + 0.45 * noise } else { 0.45 + 0.55 * noise };
        (lo + share * (hi - lo)).round().clamp(lo, hi)
    }

    fn rubric(&self) -> Rubric {
        let (lo, hi) = self.scale;
        let first = self.axes.first().map_or("", |(name, _)| name.as_str());
        let dimension = |(name, weight): &(String, f64)| {
            json!({
                "name": name, "weight": weight, "scale": { "range": { "lo": lo, "hi": hi } },
                "definition": format!("How good is the {name}?")
            })
        };
        let cap = json!({ "id": "no_source", "when": "sample.sources | length == 0", "max": { first: lo + 0.25 * (hi - lo) }, "say": "No source is cited." });
        let rubric = json!({
            "id": "daily", "version": "v1", "ask": "Judge the document.",
            "show": [{ "name": "output", "value": "{{ output }}" }],
            "dimensions": self.axes.iter().map(dimension).collect::<Vec<_>>(),
            "overall": { "id": self.overall, "method": self.method, "round": 2 },
            "caps": [cap], "rationale": { "field": "notes" }, "invalid": {}
        });
        serde_json::from_value(rubric).expect("the fixture's rubric is one")
    }

    fn plan_json(&self, rows: usize) -> Value {
        let (lo, hi) = self.scale;
        let metric = |name: String| json!({ "name": name, "scorer": 0, "range": [lo, hi], "aggregate": "mean" });
        let axes =
            self.axes.iter().filter(|_| !self.is_plain).map(|(name, _)| metric(format!("{}.{name}", self.scorer)));
        let kind = match self.is_plain {
            true => json!({ "metric": { "metric": "length" } }),
            false => {
                json!({ "rubric": { "rubric": self.rubric(), "judges": self.judges, "consensus": {}, "parameters": {} } })
            }
        };
        json!({
            "schema": "karat.plan/1", "suite": self.name, "about": "A made-up daily document", "suite_hash": "00",
            "plan_hash": "000102030405060708090a0b0c0d0e0f",
            "dataset": { "rows": rows, "hash": "00", "sources": [] },
            "models": [],
            "judges": self.judges.iter().map(|id| model(id, json!("unmetered"))).collect::<Vec<_>>(),
            "variants": self.variants.iter().map(|id| json!({ "id": id, "steps": [] })).collect::<Vec<_>>(),
            "systems": (0..self.variants.len()).map(|variant| json!({ "variant": variant, "trials": 1 })).collect::<Vec<_>>(),
            "trials": 1,
            "scorers": [{ "id": self.scorer, "kind": kind, "output": "$", "reduce": "mean", "aggregate": "mean" }],
            "metrics": axes.chain([metric(self.metric())]).collect::<Vec<_>>(),
            "run": run_spec(),
            "tokenizer": "o200k_base"
        })
    }

    /// Gates: the composite at least at the middle of the scale, no axis in the lowest quarter, no drop by more than an
    /// eighth.
    pub fn rules(&self) -> GateRules {
        let (lo, hi) = self.scale;
        let gate = |id: &str, metric: String| Gate {
            id: id.to_owned(),
            per: "sample".to_owned(),
            ..Gate::for_metric(&metric)
        };
        let bound = |share: f64| Some(Threshold::absolute(lo + share * (hi - lo)));
        let publish = Gate { min: bound(0.5), ..gate("publish", self.metric()) };
        let weak = Gate { min: bound(0.25), ..gate("no_weak_axis", format!("{}.*", self.scorer)) };
        let drop = Some(Threshold::absolute(0.125 * (hi - lo)));
        let regression =
            Gate { max_drop: drop, against: Some(GateReference::Baseline), ..gate("regression", self.metric()) };
        GateRules { gates: vec![publish, weak, regression], ..GateRules::default() }
    }

    /// The golden set: every so many days the grade of that day, half of a step of the scale higher.
    pub fn baseline(&self) -> Option<Pinned> {
        let run = self.run();
        let mut golden = Vec::new();
        for_each_graded(&run, None, &mut |cell| {
            let grade = cell.grade().filter(|grade| grade.system == self.variants[0]);
            let day = grade.and_then(|grade| day_number(grade.date.as_deref()?)).unwrap_or_default();
            if self.pinned_every > 0 && day % self.pinned_every == 0 {
                let raised =
                    grade.map(|grade| GradeRow { composite: grade.composite.midpoint(self.scale.1), ..grade.clone() });
                golden.extend(raised.and_then(|grade| Golden::of(&[&grade], "2026-01-01T00:00:00Z".to_owned())));
            }
        })
        .expect("rows in memory can be read");
        (self.pinned_every > 0).then(|| Pinned::golden(PinnedRun::default(), &golden))
    }

    /// The grades of all judges, or of one.
    pub fn history(&self, judge: &JudgeChoice) -> History {
        let mut history = History::default();
        let one = if let JudgeChoice::One(name) = judge { Some(name.clone()) } else { None };
        let choice = RowFilter { judge: one, ..RowFilter::default() };
        for_each_graded(&self.run(), None, &mut |cell| {
            cell.select(&choice).into_iter().for_each(|cell| history.add(cell))
        })
        .expect("rows in memory can be read");
        history
    }

    /// The page of the first system.
    pub fn view(&self, judge: JudgeChoice) -> SeriesView {
        let (run, history) = (self.run(), self.history(&judge));
        let (rules, baseline, metric) = (self.rules(), self.baseline(), self.metric());
        let days = history.series().remove(&self.variants[0]).unwrap_or_default();
        let as_of = self.date(self.days);
        let watched = WatchedMetric { range: Some(self.scale), ..WatchedMetric::default() };
        let options = DriftOptions::of(&metric).with_method(Method::MedianMad);
        let found = drift(&days, &as_of, &options, watched, &[]).expect("the fixture's rule is sound");
        let past = drift_past(&days, &as_of, &options, watched, &[]).expect("the fixture's rule is sound");
        series_view(SeriesInput {
            history: &history,
            plan: &run.plan(),
            rules: &rules,
            baseline: baseline.as_ref(),
            baseline_name: baseline.as_ref().map(|_| "golden set".to_owned()),
            metric: &metric,
            system: &self.variants[0],
            systems: self.variants.clone(),
            judge,
            judges: self.judges.clone(),
            as_of,
            since: None,
            until: None,
            drift: Some(SeriesDrift { drift: found, late: Vec::new(), past, replay: None }),
        })
    }
}
