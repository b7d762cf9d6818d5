//! Selects the cells of a gate, and groups them by its `per` column.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use karat_text::path::Path;
use karat_text::template::Expression;
use karat_types::{CellRow, Gate, RunRows};
use serde_json::Value;

use crate::score::prefix::span::{columns, compile_condition, holds};
use crate::{AnalysisError, Findings, GateProblem};

/// Units other than columns.
pub(super) const UNITS: [&str; 3] = ["system", "run", "sample"];

/// The cells of one gate: sample × system.
#[derive(Debug, Default)]
pub(super) struct Scope {
    systems: usize,
    /// By sample × system, if the gate has a condition.
    chosen: Option<Vec<bool>>,
    /// Group of each sample, and the groups' values, if the gate is evaluated per column.
    pub(super) groups: Option<(Vec<u32>, Vec<Value>)>,
}

/// The cells of a gate, or the problem that prevents it from being applied.
type Scoped = Result<Scope, GateProblem>;

impl Scope {
    /// Returns true if the gate includes a sample of a system.
    pub(super) fn holds(&self, sample: usize, system: usize) -> bool {
        let chosen = self.chosen.as_ref();
        chosen.is_none_or(|chosen| chosen.get(sample * self.systems + system).copied().unwrap_or(false))
    }

    /// One scope per gate, or its problem. Reads the rows once if any gate needs them.
    pub(super) fn read(findings: &Findings, rows: &dyn RunRows, gates: &[Gate]) -> Result<Vec<Scoped>, AnalysisError> {
        let mut readers: Vec<_> = gates.iter().map(|gate| ScopeReader::new(findings, gate)).collect();
        let scopes = |readers: Vec<Result<ScopeReader<'_>, _>>| {
            readers.into_iter().map(|reader| reader.and_then(ScopeReader::finish)).collect()
        };
        if readers.iter().flatten().all(ScopeReader::is_idle) {
            return Ok(scopes(readers));
        }
        let mut sample = None;
        let mut position = 0_usize;
        let read = rows.for_each(&mut |row| {
            if sample.replace(row.sample.row).is_some_and(|earlier| earlier != row.sample.row) {
                position += 1;
            }
            readers.iter_mut().flatten().for_each(|reader| reader.row(position, &row, findings));
            ControlFlow::Continue(())
        });
        read.map_err(|source| AnalysisError::Rows { run: rows.header().id.clone(), source })?;
        Ok(scopes(readers))
    }
}

/// Fills a [`Scope`].
struct ScopeReader<'a> {
    gate: &'a Gate,
    condition: Option<Expression>,
    column: Option<Path>,
    known: BTreeMap<String, u32>,
    scope: Scope,
    /// The problem of the first sample to which the gate cannot be applied.
    wrong: Option<GateProblem>,
}

impl<'a> ScopeReader<'a> {
    fn new(findings: &Findings, gate: &'a Gate) -> Result<Self, GateProblem> {
        let wrong = |what: String| GateProblem::of(gate, what);
        let condition = gate.condition.as_deref().map(|source| compile_condition(&findings.plan, source)).transpose();
        let column = (!UNITS.contains(&gate.per.as_str())).then(|| Path::parse(&gate.per)).transpose();
        let condition = condition.map_err(|error| wrong(error.message))?;
        let column = column.map_err(|error| wrong(format!("`per: {}` is not a valid path: {error}", gate.per)))?;
        let systems = findings.plan.systems.len();
        let scope = Scope {
            systems,
            chosen: condition.is_some().then(|| vec![false; findings.samples() * systems]),
            groups: column.is_some().then(|| (vec![0; findings.samples()], Vec::new())),
        };
        Ok(Self { gate, condition, column, known: BTreeMap::new(), scope, wrong: None })
    }

    fn is_idle(&self) -> bool {
        self.condition.is_none() && self.column.is_none()
    }

    fn finish(self) -> Scoped {
        self.wrong.map_or(Ok(self.scope), Err)
    }

    fn row(&mut self, sample: usize, row: &CellRow<'_>, findings: &Findings) {
        if self.wrong.is_none() {
            let placed = self.place_cell(sample, row, findings);
            self.wrong = placed.err().map(|what| GateProblem::of(self.gate, what));
        }
    }

    /// Records the group of a cell, and whether the gate includes it. The error gives the reason why that is unknown.
    fn place_cell(&mut self, sample: usize, row: &CellRow<'_>, findings: &Findings) -> Result<(), String> {
        if let (Some(path), Some((groups, values))) = (&self.column, &mut self.scope.groups) {
            let value = path.first_in(&columns(row.sample)).cloned().ok_or_else(|| {
                format!(
                    "`per: {}`: sample `{}` has no such column in the stored run; list it under the dataset's `metadata` and run again",
                    self.gate.per, row.sample.id
                )
            })?;
            let fresh = values.len() as u32;
            let group = *self.known.entry(value.to_string()).or_insert(fresh);
            if group == fresh {
                values.push(value);
            }
            if let Some(slot) = groups.get_mut(sample) {
                *slot = group;
            }
        }
        if let (Some(condition), Some(chosen)) = (&self.condition, &mut self.scope.chosen) {
            let holds = holds(condition, &findings.plan, row.sample, row.system)?;
            if let Some(slot) = chosen.get_mut(sample * self.scope.systems + row.system) {
                *slot = holds;
            }
        }
        Ok(())
    }
}
