//! Names of cells: the ordinal in the plan, or `sample/model/variant[/trial]`.

use karat_types::{CellRow, PlanHeader};

/// `sample/model/variant`; without the model if the system has none.
pub(crate) fn path(plan: &PlanHeader, sample: &str, system: usize) -> String {
    let model = plan.system_model(system).map(|model| model.id.as_str());
    let parts = [Some(sample), model, Some(plan.system_variant(system))];
    parts.into_iter().flatten().collect::<Vec<_>>().join("/")
}

/// Returns whether `name` names this cell; without a trial, it names the first.
pub(crate) fn is_named(name: &str, ordinal: u64, path: &str, trial: u32) -> bool {
    let behind = name.strip_prefix(path);
    name == ordinal.to_string()
        || behind.is_some_and(|rest| (rest.is_empty() && trial == 0) || rest == format!("/{trial}"))
}

/// Returns whether `name` names this row of a stored run.
pub(crate) fn is_row(name: &str, plan: &PlanHeader, row: &CellRow<'_>) -> bool {
    is_named(name, row.cell.ordinal, &path(plan, &row.sample.id, row.system), row.trial)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_named_by_number_or_path() {
        let is = |name: &str, trial: u32| is_named(name, 7, "s/1/m/raw", trial);
        assert!(is("7", 3) && is("s/1/m/raw", 0) && is("s/1/m/raw/2", 2));
        assert!(!is("s/1/m/raw", 1) && !is("s/1/m/raw/1", 2) && !is("s/1/m/rawr", 0) && !is("8", 0));
    }
}
