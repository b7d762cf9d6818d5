//! Cost by judge and by step.

use std::collections::BTreeMap;

use karat_types::{Action, CellRow, CellStatus, Money, PlanHeader, StepSpec, Usage, VariantSpec};

/// Cost of one judge or step at list price, including reused results.
#[derive(Debug, Clone, PartialEq)]
pub struct CostLine {
    /// Id of the judge or step.
    pub id: String,
    /// The step's variant.
    pub variant: Option<String>,
    /// Number of its judgments, or of cells that used the step.
    pub times: u64,
    /// Its tokens.
    pub usage: Usage,
    /// `None` when the price of any part is unknown.
    pub cost: Option<Money>,
}

impl CostLine {
    /// `variant.step`; the id alone where it belongs to no variant.
    pub fn address(&self) -> String {
        match &self.variant {
            Some(variant) => format!("{variant}.{}", self.id),
            None => self.id.clone(),
        }
    }
}

/// Cost lines in plan order; judges and steps without a judgment or cell are left out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Breakdown {
    /// By judge.
    pub judges: Vec<CostLine>,
    /// By variant and step. A step shared by several variants is listed with each, at its full cost.
    pub steps: Vec<CostLine>,
}

/// Id of the line for cells whose steps were not stored separately.
const ALL_STEPS: &str = "(all steps)";

/// Sums of one line.
#[derive(Debug, Clone, Copy, Default)]
struct LineSum {
    times: u64,
    usage: Usage,
    priced: Money,
    unpriced: bool,
}

impl LineSum {
    fn add(&mut self, usage: Usage, cost: Option<Money>) {
        self.times += 1;
        self.usage += usage;
        self.priced += cost.unwrap_or_default();
        self.unpriced |= cost.is_none();
    }

    fn line(self, id: String, variant: Option<String>) -> CostLine {
        let cost = (!self.unpriced).then_some(self.priced);
        CostLine { id, variant, times: self.times, usage: self.usage, cost }
    }
}

/// Accumulates the breakdown row by row.
#[derive(Debug, Default)]
pub(crate) struct BreakdownSums {
    judges: BTreeMap<u16, LineSum>,
    /// By variant and position of the step; `usize::MAX` for all of them together.
    steps: BTreeMap<(usize, usize), LineSum>,
}

impl BreakdownSums {
    pub(crate) fn add(&mut self, plan: &PlanHeader, row: &CellRow<'_>) {
        for judgment in row.judgments.iter().filter(|it| it.is_asked()) {
            self.judges.entry(judgment.judge).or_default().add(judgment.cost.usage, judgment.cost.cost);
        }
        if row.cell.status == CellStatus::Skipped && row.cell.cost.cost == Some(Money::ZERO) {
            return;
        }
        let Some(system) = plan.systems.get(row.system) else { return };
        let Some(variant) = plan.variants.get(system.variant) else { return };
        let (first, total) = (first_step(variant), row.cell.cost);
        let mut add = |step: usize, usage, cost| self.steps.entry((system.variant, step)).or_default().add(usage, cost);
        let (kept, made) = (&row.cell.facts.steps, variant.steps.len().saturating_sub(first));
        let is_ok = row.cell.status == CellStatus::Ok;
        match kept.len() {
            0 if made > 1 && is_ok => add(usize::MAX, total.usage, total.cost),
            0 => add(first, total.usage, total.cost),
            length if is_ok && length != made => add(usize::MAX, total.usage, total.cost),
            _ => kept.iter().enumerate().for_each(|(at, step)| add(first + at, step.usage, step.cost)),
        }
    }

    pub(crate) fn finish(self, plan: &PlanHeader) -> Breakdown {
        let judge = |(at, sum): (u16, LineSum)| Some(sum.line(plan.judges.get(usize::from(at))?.id.clone(), None));
        let step = |((variant, at), sum): ((usize, usize), LineSum)| {
            let variant = plan.variants.get(variant)?;
            let id = variant.steps.get(at).map_or_else(|| ALL_STEPS.to_owned(), |step| step.id.clone());
            Some(sum.line(id, Some(variant.id.clone())))
        };
        Breakdown {
            judges: self.judges.into_iter().filter_map(judge).collect(),
            steps: self.steps.into_iter().filter_map(step).collect(),
        }
    }
}

/// Index of the first step that runs: steps before the last recorded one are never called.
fn first_step(variant: &VariantSpec) -> usize {
    let is_recorded = |step: &StepSpec| matches!(step.action, Action::Recorded(_));
    variant.steps.iter().rposition(is_recorded).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use karat_types::{RunRows, StepCost};
    use serde_json::json;

    use super::*;
    use crate::testing::{MemoryRun, Sketch};

    /// One system of two steps on three samples.
    fn run() -> MemoryRun {
        let mut run = Sketch::new(1, 1, 3).fill(5.0).run();
        let mut plan = serde_json::to_value(&*run.header.plan).unwrap();
        let step = |id: &str| json!({ "id": id, "action": { "prompt": { "messages": [] } } });
        plan["variants"][0]["steps"] = json!([step("draft"), step("edit")]);
        run.header.plan = Arc::new(serde_json::from_value(plan).unwrap());
        run
    }

    fn breakdown(run: &MemoryRun) -> Breakdown {
        let plan = run.plan();
        let mut sums = BreakdownSums::default();
        run.each(|row| sums.add(&plan, &row));
        sums.finish(&run.header().plan)
    }

    fn step(tokens: u64, cost: Option<i128>) -> StepCost {
        StepCost { usage: Usage { input_tokens: tokens, ..Usage::default() }, cost: cost.map(Money) }
    }

    /// CL-22: each step has its own line. An unknown price affects its own line only. A cell that failed in its first
    /// step counts there; a cell without stored steps counts as a whole.
    #[test]
    fn steps_are_distinguished() {
        let mut run = run();
        run.cells[0].cell.facts.steps = vec![step(10, Some(5)), step(4, None)];
        run.cells[1].cell.status = CellStatus::Error;
        run.cells[1].cell.cost.cost = Some(Money(7));
        run.cells[2].cell.cost.cost = Some(Money(9));
        let steps = breakdown(&run).steps;
        let lines: Vec<_> = steps.iter().map(|line| (line.address(), line.times, line.cost)).collect();
        let address = |id: &str| format!("variant-0.{id}");
        assert_eq!(
            lines,
            [
                (address("draft"), 2, Some(Money(12))),
                (address("edit"), 1, None),
                (address(ALL_STEPS), 1, Some(Money(9))),
            ]
        );
        assert_eq!(steps[0].usage.input_tokens, 10);
    }
}
