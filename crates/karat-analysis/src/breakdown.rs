//! Which judges and which steps the money goes to (CL-22).

use std::collections::BTreeMap;

use karat_types::{Action, CellRow, CellStatus, Money, PlanHeader, StepSpec, Usage, VariantSpec};

/// What one judge or one step cost at list price, whoever paid.
#[derive(Debug, Clone, PartialEq)]
pub struct CostLine {
    /// Id of the judge or step.
    pub id: String,
    /// The step's variant.
    pub variant: Option<String>,
    /// Its judgments, or the cells that it worked for.
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

/// The lines by judge and by step, in plan order; those without a judgment or cell are left out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Breakdown {
    /// By judge.
    pub judges: Vec<CostLine>,
    /// By variant and step. A step that several variants share stands with each, as if each had made it.
    pub steps: Vec<CostLine>,
}

/// Id of the line for cells whose run did not keep its steps apart.
const ALL_STEPS: &str = "(all steps)";

/// Sums of one line.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    times: u64,
    usage: Usage,
    priced: Money,
    unpriced: bool,
}

impl Sum {
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

/// The breakdown as it accumulates.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    judges: BTreeMap<u16, Sum>,
    /// By variant and position of the step; `usize::MAX` for all of them together.
    steps: BTreeMap<(usize, usize), Sum>,
}

impl Sums {
    pub(crate) fn add(&mut self, plan: &PlanHeader, row: &CellRow<'_>) {
        for judgment in row.judgments {
            self.judges.entry(judgment.judge).or_default().add(judgment.cost.usage, judgment.cost.cost);
        }
        let Some(system) = plan.systems.get(row.system).filter(|_| row.cell.status != CellStatus::Skipped) else {
            return;
        };
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
        let judge = |(at, sum): (u16, Sum)| Some(sum.line(plan.judges.get(usize::from(at))?.id.clone(), None));
        let step = |((variant, at), sum): ((usize, usize), Sum)| {
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

/// The steps before the last recorded one are never made.
fn first_step(variant: &VariantSpec) -> usize {
    let is_recorded = |step: &StepSpec| matches!(step.action, Action::Recorded(_));
    variant.steps.iter().rposition(is_recorded).unwrap_or_default()
}
