//! Tokens and money (CL-22): what answers cost at list price, whoever paid, and what this run paid.

use std::ops::AddAssign;

use karat_types::{CellCost, CellRow, CellStatus, Money, Usage};

/// One bill: calls of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bill {
    /// Tokens.
    pub usage: Usage,
    /// Sum of the costs that are known.
    priced: Money,
    /// Cells or judgments whose cost is unknown.
    pub unpriced: u64,
    /// What this run paid; what was reused is not in it.
    pub paid: Money,
}

impl Bill {
    /// What it costs at list price; `None` when the price of any part is unknown.
    pub fn cost(&self) -> Option<Money> {
        (self.unpriced == 0).then_some(self.priced)
    }

    /// What those parts cost whose price is known.
    fn known_cost(&self) -> Money {
        self.priced
    }

    fn add(&mut self, cost: &CellCost) {
        self.usage += cost.usage;
        self.priced += cost.cost.unwrap_or_default();
        self.unpriced += u64::from(cost.cost.is_none());
        self.paid += cost.paid;
    }
}

impl AddAssign for Bill {
    fn add_assign(&mut self, other: Self) {
        self.usage += other.usage;
        self.priced += other.priced;
        self.unpriced += other.unpriced;
        self.paid += other.paid;
    }
}

/// The bills of some cells: "extraction" is every call that is not a judge's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spend {
    /// Cells that were made; one that a condition left out costs nothing, and is none.
    pub cells: u64,
    /// Those of them that have an output.
    pub answered: u64,
    /// Calls of the systems.
    pub extraction: Bill,
    /// Calls of the judges.
    pub judging: Bill,
}

impl Spend {
    /// The spend of one cell with its judgments.
    pub fn of(row: &CellRow<'_>) -> Self {
        let status = row.cell.status;
        let (cells, answered) = (status != CellStatus::Skipped, status == CellStatus::Ok);
        let mut spend = Self { cells: u64::from(cells), answered: u64::from(answered), ..Self::default() };
        spend.extraction.add(&row.cell.cost);
        row.judgments.iter().for_each(|judgment| spend.judging.add(&judgment.cost));
        spend
    }

    /// Systems and judges together at list price; `None` when any price is unknown.
    pub fn cost(&self) -> Option<Money> {
        Some(self.extraction.cost()? + self.judging.cost()?)
    }

    /// What those cells and judgments cost whose price is known.
    pub fn known_cost(&self) -> Money {
        self.extraction.known_cost() + self.judging.known_cost()
    }

    /// What this run paid for systems and judges.
    pub fn paid(&self) -> Money {
        self.extraction.paid + self.judging.paid
    }

    /// Cost of a cell in dollars, systems and judges together. `None` for no cells or an unknown price.
    pub fn per_cell_usd(&self) -> Option<f64> {
        usd_per_cell(self.cost()?, self.cells)
    }

    /// What one more cell would cost in dollars, by those that have an output: a call that failed says nothing of it. `None`
    /// where none has one, or a price is unknown.
    pub fn next_cell_usd(&self) -> Option<f64> {
        usd_per_cell(self.cost()?, self.answered)
    }

    /// Cost of a cell in dollars without the judges: what the system itself would cost in use.
    pub fn system_per_cell_usd(&self) -> Option<f64> {
        usd_per_cell(self.extraction.cost()?, self.cells)
    }

    /// Score per dollar: the score over the system's own cost of a cell (CL-18). `None`, shown as
    /// n/a, when the cost is 0 or unknown.
    pub fn efficiency(&self, score: f64) -> Option<f64> {
        let usd = self.system_per_cell_usd().filter(|usd| *usd > 0.0)?;
        crate::figures::finding::finite(score / usd)
    }
}

impl AddAssign for Spend {
    fn add_assign(&mut self, other: Self) {
        self.cells += other.cells;
        self.answered += other.answered;
        self.extraction += other.extraction;
        self.judging += other.judging;
    }
}

fn usd_per_cell(money: Money, cells: u64) -> Option<f64> {
    (cells > 0).then(|| money.usd() / cells as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bill(cost: Option<i128>) -> Spend {
        let mut spend = Spend { cells: 1, ..Spend::default() };
        spend.extraction.add(&CellCost { cost: cost.map(Money), paid: Money::ZERO, ..CellCost::default() });
        spend
    }

    /// BY-16: what failed says nothing of what one more cell costs.
    #[test]
    fn what_failed_has_no_price() {
        assert_eq!(bill(Some(0)).next_cell_usd(), None);
        assert_eq!(Spend { cells: 4, answered: 2, ..bill(Some(2_000_000_000)) }.next_cell_usd(), Some(1.0));
    }

    /// CL-18: cost-efficiency is score over cost, and n/a when the cost is 0 or unknown.
    #[test]
    fn efficiency_is_not_applicable_without_a_cost() {
        assert_eq!(bill(Some(2_000_000_000)).efficiency(8.0), Some(4.0));
        assert_eq!(bill(Some(0)).efficiency(8.0), None);
        assert_eq!(bill(None).efficiency(8.0), None);
    }

    #[test]
    fn one_unknown_price_makes_the_sum_unknown() {
        let mut sum = bill(Some(5));
        sum += bill(None);
        assert_eq!((sum.cells, sum.cost()), (2, None));
        assert_eq!(sum.extraction.unpriced, 1);
    }
}
