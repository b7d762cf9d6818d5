//! The share of cells that the first judge of a cascade was sure about in the suite's last run: by it a cascade draws as many
//! of them as an estimate needs.

use std::ops::ControlFlow;
use std::sync::Arc;

use karat_store::Store;
use karat_suite::Plan;
use karat_types::{AskedJudge, CascadeSpec, PlanHeader, RunHeader, RunRows, ScorerSpec};

use crate::AppError;

/// Writes the shares into the plan's cascades: those of the run's own start if it has started, so that its draws stay the
/// same, else those of the suite's last finished run. Reads that run's rows only if the plan has a cascade.
///
/// # Errors
/// The store cannot be read.
pub(crate) fn set_sure_shares(plan: &mut Plan, store: &Store, started: Option<&RunHeader>) -> Result<(), AppError> {
    if plan.header.scorers.iter().all(|scorer| scorer.cascade.is_none()) {
        return Ok(());
    }
    let shares: Vec<(String, Vec<f64>)> = match started {
        Some(header) => header.plan.scorers.iter().filter_map(of_start).collect(),
        None => match store.latest_finished(&plan.header.suite)? {
            Some(run) => last_shares(&store.rows(&run)?, &plan.header),
            None => Vec::new(),
        },
    };
    for scorer in &mut Arc::make_mut(&mut plan.header).scorers {
        let known = shares.iter().find(|(id, _)| *id == scorer.id);
        if let (Some(cascade), Some((_, shares))) = (&mut scorer.cascade, known) {
            cascade.sure.clone_from(shares);
        }
    }
    Ok(())
}

fn of_start(scorer: &ScorerSpec) -> Option<(String, Vec<f64>)> {
    Some((scorer.id.clone(), scorer.cascade.as_ref()?.sure.clone()))
}

/// Sure cells and all cells of a system.
type SureCells = (u64, u64);

/// The shares in a stored run, by scorer, for the systems of a plan. A scorer whose rule is another now, and one with a
/// system that the run does not have, has none.
fn last_shares(rows: &dyn RunRows, plan: &PlanHeader) -> Vec<(String, Vec<f64>)> {
    let before = rows.header().plan.clone();
    let is_same = |then: &CascadeSpec, now: &CascadeSpec| (&then.first, &then.unsure) == (&now.first, &now.unsure);
    let cascades = plan.scorers.iter().filter_map(|scorer| {
        let at = before.scorers.iter().position(|it| it.id == scorer.id)?;
        let then = before.scorers.get(at)?.cascade.as_ref()?;
        is_same(then, scorer.cascade.as_ref()?).then(|| (at, scorer.id.clone()))
    });
    let cascades: Vec<(usize, String)> = cascades.collect();
    let mut counts: Vec<Vec<SureCells>> = vec![vec![(0, 0); before.systems.len()]; cascades.len()];
    let read = rows.for_each(&mut |row| {
        for ((scorer, _), counts) in cascades.iter().zip(&mut counts) {
            let mut own = row.judgments.iter().filter(|it| usize::from(it.scorer) == *scorer);
            if let (Some(draw), Some(count)) = (own.find_map(|it| it.cascade), counts.get_mut(row.system)) {
                *count = (count.0 + u64::from(draw.asked != AskedJudge::Unsure), count.1 + 1);
            }
        }
        ControlFlow::Continue(())
    });
    // A damaged run teaches nothing; its report says what is wrong.
    if read.is_err() {
        return Vec::new();
    }
    let systems: Vec<Option<usize>> =
        (0..plan.systems.len()).map(|system| same_system(&before, plan, system)).collect();
    let share = |counts: &[SureCells], system: &Option<usize>| {
        let (sure, all) = *counts.get((*system)?)?;
        (all > 0).then(|| sure as f64 / all as f64)
    };
    let all = cascades.into_iter().zip(counts).filter_map(|((_, id), counts)| {
        Some((id, systems.iter().map(|system| share(&counts, system)).collect::<Option<Vec<f64>>>()?))
    });
    all.collect()
}

/// The system of an earlier plan with the same model and variant.
fn same_system(before: &PlanHeader, plan: &PlanHeader, system: usize) -> Option<usize> {
    let id = karat_analysis::system_id(plan, system);
    (0..before.systems.len()).find(|at| karat_analysis::system_id(before, *at) == id)
}
