//! Tokens and money: list price of all results, and the amount that this run paid.

use std::ops::AddAssign;

use karat_types::{CellCost, CellRow, CellStatus, Money, Usage};

/// Tokens and cost of calls of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bill {
    /// Tokens.
    pub usage: Usage,
    /// Sum of the known costs.
    priced: Money,
    /// Cells or judgments whose cost is unknown.
    pub unpriced: u64,
    /// Amount paid by this run; reused results are not included.
    pub paid: Money,
}

impl Bill {
    /// Cost at list price; `None` if any price is unknown.
    pub fn cost(&self) -> Option<Money> {
        (self.unpriced == 0).then_some(self.priced)
    }

    /// Cost of the parts with a known price.
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

/// Tokens and cost of some cells. "Extraction" is every call other than a judge's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spend {
    /// Number of cells; cells skipped by a condition do not count.
    pub cells: u64,
    /// Number of cells with an output.
    pub answered: u64,
    /// Calls of the systems.
    pub extraction: Bill,
    /// Calls of the judges.
    pub judging: Bill,
    /// Calls of the models that play users: no part of what a system costs.
    pub users: Bill,
    /// Texts whose vectors scorers compared. Its `paid` is 0: one call makes the vectors of many cells, so only the whole run
    /// knows what was paid for them.
    pub vectors: Bill,
}

impl Spend {
    /// The spend of one cell with its judgments.
    pub fn of(row: &CellRow<'_>) -> Self {
        let status = row.cell.status;
        let (cells, answered) = (status != CellStatus::Skipped, status == CellStatus::Ok);
        let mut spend = Self { cells: u64::from(cells), answered: u64::from(answered), ..Self::default() };
        let mut own = row.cell.cost;
        if let Some(user) = row.cell.facts.user {
            // The ledger has one sum for a cell; the part of its user is known.
            let paid = user.cost.unwrap_or_default().min(own.paid);
            own.paid = Money(own.paid.0 - paid.0);
            spend.users.add(&CellCost { usage: user.usage, cost: user.cost, paid });
        }
        if let Some(vectors) = row.cell.facts.vectors {
            spend.vectors.add(&CellCost { usage: vectors.usage, cost: vectors.cost, paid: Money::ZERO });
        }
        spend.extraction.add(&own);
        match row.judging {
            Some(costs) => costs.iter().for_each(|cost| spend.judging.add(cost)),
            None => row.judgments.iter().for_each(|judgment| spend.judging.add(&judgment.cost)),
        }
        spend
    }

    /// Cost of systems, judges, simulated users and vectors at list price; `None` if any price is unknown.
    pub fn cost(&self) -> Option<Money> {
        Some(self.extraction.cost()? + self.judging.cost()? + self.users.cost()? + self.vectors.cost()?)
    }

    /// Cost of the cells and judgments with a known price.
    pub fn known_cost(&self) -> Money {
        let bills = [&self.extraction, &self.judging, &self.users, &self.vectors];
        bills.into_iter().map(Bill::known_cost).sum()
    }

    /// Returns whether models played users.
    pub fn has_users(&self) -> bool {
        self.users != Bill::default()
    }

    /// Returns whether scorers compared vectors of texts.
    pub fn has_vectors(&self) -> bool {
        self.vectors != Bill::default()
    }

    /// Amount that this run paid for systems, judges and simulated users.
    pub fn amount_paid(&self) -> Money {
        self.extraction.paid + self.judging.paid + self.users.paid
    }

    /// Cost per cell in dollars, systems and judges together. `None` without cells or with an unknown price.
    pub fn per_cell_usd(&self) -> Option<f64> {
        usd_per_cell(self.cost()?, self.cells)
    }

    /// Expected cost in dollars of one more cell, from the cells that have an output: failed calls are no guide to it.
    /// `None` if no cell has an output or a price is unknown.
    pub fn next_cell_usd(&self) -> Option<f64> {
        usd_per_cell(self.cost()?, self.answered)
    }

    /// Cost per cell in dollars without the judges: the cost of the system in production.
    pub fn system_per_cell_usd(&self) -> Option<f64> {
        usd_per_cell(self.extraction.cost()?, self.cells)
    }

    /// Score per dollar: the score divided by the system's own cost per cell. `None`, shown as n/a, if the cost
    /// is 0 or unknown.
    pub fn efficiency(&self, score: f64) -> Option<f64> {
        let usd = self.system_per_cell_usd().filter(|usd| *usd > 0.0)?;
        crate::infer::finding::finite(score / usd)
    }
}

impl AddAssign for Spend {
    fn add_assign(&mut self, other: Self) {
        self.cells += other.cells;
        self.answered += other.answered;
        self.extraction += other.extraction;
        self.judging += other.judging;
        self.users += other.users;
        self.vectors += other.vectors;
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

    /// BY-16: failed cells do not count in the cost of one more cell.
    #[test]
    fn failed_cells_do_not_enter_the_cost_of_others() {
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
