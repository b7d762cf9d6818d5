//! The calls that an early stop spared, and the later verdicts, for reports.

use std::ops::ControlFlow;
use std::sync::Arc;

use karat_types::{DecidedBy, EarlyVerdict, Money, RowError, RunRows, StopRecord, StoppedClaim, StoredStop};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::json;

use crate::figures::cost::Spend;
use crate::gate::decision::Decision;
use crate::gate::verdict_text::Verdict;
use crate::gate::verdicts::Verdicts;
use crate::score::prefix::{Counted, Prefix};

/// The early stop of a run, for reports.
#[derive(Debug, Clone, PartialEq)]
pub struct StopSummary {
    stop: Arc<StoredStop>,
    /// The verdict of each claim: the early one, else that of the whole run.
    verdicts: Vec<Option<Verdict>>,
    counts: StopCounts,
    /// True if the figures of the whole run agree with the early verdicts, once it was continued to its end.
    agrees: Option<bool>,
}

/// Calls and money of a run that may have stopped early.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct StopCounts {
    /// Calls of the run's cells and judgments, without reused ones.
    made: u64,
    /// Those of cells that were under way at the stop.
    after_stop: u64,
    /// Calls of the cells that were not made, by the mean of those that were.
    not_made: u64,
    /// Their cost; `None` if a price is unknown.
    not_paid: Option<f64>,
}

/// The cells of one system.
#[derive(Debug, Clone, Copy, Default)]
struct SystemCells {
    cells: u64,
    calls: u64,
    paid: Money,
    after_stop: u64,
    unpriced: bool,
}

impl StopSummary {
    /// The summary of a run; `None` for a run that cannot stop early, or has not ended. `verdicts` are those of its gates.
    ///
    /// # Errors
    /// Rows that cannot be read.
    pub fn of(rows: &dyn RunRows, verdicts: &Verdicts) -> Result<Option<Self>, RowError> {
        let Some(stop) = rows.stop().cloned() else { return Ok(None) };
        let plan = &rows.header().plan;
        let mut systems = vec![SystemCells::default(); plan.systems.len()];
        let mut counts = StopCounts::default();
        let mut add = |row: karat_types::CellRow<'_>, counted: Counted| {
            let judged: usize = row.judgments.iter().filter(|it| !it.reused).map(|it| it.calls.len()).sum();
            let own = if row.cell.reused { 0 } else { row.cell.calls.len() };
            let calls = (own + judged) as u64;
            counts.made += calls;
            if let Some(system) = systems.get_mut(row.system) {
                match counted {
                    Counted::AfterStop => {
                        counts.after_stop += calls;
                        system.after_stop += 1;
                    }
                    Counted::InFigures => {
                        let spend = Spend::of(&row);
                        system.cells += 1;
                        system.calls += calls;
                        system.paid += spend.amount_paid();
                        system.unpriced |= spend.cost().is_none();
                    }
                }
            }
            ControlFlow::Continue(())
        };
        match Prefix::of(rows)? {
            Some(prefix) => prefix.for_each_marked(0..u64::MAX, &mut add)?,
            None => rows.for_each(&mut |row| add(row, Counted::InFigures))?,
        }
        counts.not_paid = Some(0.0);
        for (system, spec) in systems.iter().zip(&plan.systems) {
            let planned = plan.dataset.rows * u64::from(spec.trials);
            let left = planned.saturating_sub(system.cells + system.after_stop) as f64;
            if left > 0.0 && system.cells > 0 {
                let each = left / system.cells as f64;
                counts.not_made += (system.calls as f64 * each).round() as u64;
                let paid = system.paid.usd() * each;
                counts.not_paid = counts.not_paid.filter(|_| !system.unpriced).map(|sum| sum + paid);
            }
        }
        let record = &stop.record;
        let decision =
            |claim: &StoppedClaim| verdicts.decisions.iter().find(|it| is_of(it, claim)).map(|it| it.verdict);
        let of_run: Vec<Option<Verdict>> = record.claims.iter().map(decision).collect();
        let early = |claim: &StoppedClaim| claim.verdict.map(verdict_of);
        let is_over = stop.to_end && rows.header().status == karat_types::RunStatus::Finished;
        let agrees = is_over.then(|| {
            let both = record.claims.iter().map(early).zip(&of_run);
            both.filter_map(|(early, now)| early.zip(*now)).all(|(early, now)| early == now)
        });
        let verdicts = record.claims.iter().zip(of_run).map(|(claim, now)| early(claim).or(now)).collect();
        Ok(Some(Self { stop: Arc::new(stop), verdicts, counts, agrees }))
    }

    /// The same without what depends on the course of a run: calls under way at the stop.
    #[must_use]
    pub fn canonical(mut self) -> Self {
        self.counts = StopCounts { made: self.counts.made - self.counts.after_stop, ..StopCounts::default() };
        self
    }

    /// `stopped after 61 of 200 samples: 3 of 3 gates decided (≤ 5 % error)`.
    pub fn sentence(&self) -> String {
        let record = &self.stop.record;
        let total = record.claims.len();
        let decided = record.claims.iter().filter(|claim| claim.verdict.is_some()).count();
        let error = format!("{:.4}", record.alpha * 100.0);
        let error = error.trim_end_matches('0').trim_end_matches('.');
        let mut parts = Vec::new();
        if total > 0 {
            let noun = if total == 1 { "gate" } else { "gates" };
            let when = if record.is_stopped() { "decided" } else { "decided before" };
            parts.push(format!("{decided} of {total} {noun} {when} (≤ {error} % error)"));
        }
        if !record.race.is_empty() {
            let dropped: Vec<&str> = record.race.iter().map(|dropped| dropped.system.as_str()).collect();
            parts.push(format!("{} dropped from the race", dropped.join(", ")));
        }
        let what = if parts.is_empty() { "nothing to decide".to_owned() } else { parts.join(", ") };
        let course = record.course();
        if let Some(agrees) = self.agrees {
            let agree = if agrees { "agree" } else { "do not agree" };
            return format!(
                "stopped after {course}, then continued to its end: its figures {agree} with the early verdicts"
            );
        }
        if self.stop.to_end {
            return format!("stopped after {course}, then continued to its end, which it has not reached");
        }
        if record.is_stopped() && total == 0 && record.race.is_empty() {
            return format!("the run whose outputs are scored stopped after {course}: figures are of these");
        }
        if record.is_stopped() {
            return format!("stopped after {course}: {what}{}", self.spared_text());
        }
        let kept: Vec<String> = record.open.iter().map(|open| format!("`{}`: {}", open.gate, open.why)).collect();
        let kept = if kept.is_empty() { String::new() } else { format!("; kept going by {}", kept.join("; ")) };
        format!("ran to its end, {course}: {what}{}{kept}", self.spared_text())
    }

    /// `; 139 calls not made, about $4.17`.
    fn spared_text(&self) -> String {
        let StopCounts { not_made, not_paid, .. } = self.counts;
        let usd = not_paid.filter(|usd| *usd > 0.0).map_or_else(String::new, |usd| match usd < 0.01 {
            true => format!(", about ${usd:.4}"),
            false => format!(", about ${usd:.2}"),
        });
        match not_made {
            0 => String::new(),
            1 => format!("; 1 call not made{usd}"),
            calls => format!("; {calls} calls not made{usd}"),
        }
    }

    /// The record.
    pub fn record(&self) -> &StopRecord {
        &self.stop.record
    }
}

fn verdict_of(early: EarlyVerdict) -> Verdict {
    match early {
        EarlyVerdict::Pass => Verdict::Pass,
        EarlyVerdict::Fail => Verdict::Fail,
        EarlyVerdict::Undecided => Verdict::Undecided,
    }
}

fn is_of(decision: &Decision, claim: &StoppedClaim) -> bool {
    decision.id == claim.gate
        && decision.subject == claim.metric
        && decision.bound == claim.bound
        && decision.system == claim.system
        && decision.group == claim.group
}

/// `{rule, min, seed, alpha, units, stopped_after, calls_made, calls_after_stop, calls_not_made, usd_not_made, claims[],
/// race[], open[], after_end}`.
impl Serialize for StopSummary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let record = &self.stop.record;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("rule", &record.rule)?;
        map.serialize_entry("min", &record.min)?;
        map.serialize_entry("seed", &record.seed)?;
        map.serialize_entry("alpha", &record.alpha)?;
        map.serialize_entry("unit", if record.clustered { "cluster" } else { "sample" })?;
        map.serialize_entry("units", &record.units)?;
        map.serialize_entry("stopped_after", &record.stopped_after)?;
        map.serialize_entry("calls_made", &self.counts.made)?;
        map.serialize_entry("calls_after_stop", &self.counts.after_stop)?;
        map.serialize_entry("calls_not_made", &self.counts.not_made)?;
        map.serialize_entry("usd_not_made", &self.counts.not_paid)?;
        let claims: Vec<_> =
            record.claims.iter().zip(&self.verdicts).map(|(claim, verdict)| claim_json(claim, *verdict)).collect();
        map.serialize_entry("claims", &claims)?;
        map.serialize_entry("race", &record.race)?;
        map.serialize_entry("open", &record.open)?;
        map.serialize_entry("after_end", &self.agrees.map(|agrees| json!({ "agrees": agrees })))?;
        map.end()
    }
}

fn claim_json(claim: &StoppedClaim, verdict: Option<Verdict>) -> serde_json::Value {
    let group = claim.group.as_ref().map(|(column, value)| json!({ column: value }));
    let by = match claim.by {
        DecidedBy::Certain => "certain",
        DecidedBy::Bound => "bound",
        DecidedBy::End => "end",
    };
    let mut claim = json!({
        "gate": claim.gate,
        "metric": claim.metric,
        "bound": claim.bound,
        "threshold": claim.threshold,
        "share": claim.share,
        "system": claim.system,
        "group": group,
        "verdict": verdict.map(Verdict::as_str),
        "by": by,
        "units": claim.units,
        "population": claim.population,
        "n": claim.n,
        "mean": claim.mean,
        "p_pass": claim.p_pass,
        "p_fail": claim.p_fail,
        "lower": claim.lower,
        "upper": claim.upper,
        "level": claim.level,
        "why": claim.why,
    });
    if let Some(members) = claim.as_object_mut() {
        members.retain(|name, value| !["why", "share"].contains(&name.as_str()) || !value.is_null());
    }
    claim
}
