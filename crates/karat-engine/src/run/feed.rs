//! Hands the cells of units to workers, in the seeded order.

use std::sync::Arc;

use karat_suite::Plan;
use karat_types::SampleRecord;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::EngineError;
use crate::early::follower::{Follower, HandedUnit};
use crate::early::order::Window;
use crate::rows::row::Row;
use crate::run::cell_work::CellWork;
use crate::run::sample_writer::SampleWriter;

/// The workers of a group of systems: the cells of a row that they make, as indices among them, and their channel.
pub(crate) type Group = (Vec<u64>, mpsc::Sender<CellWork>);

/// Hands out units until all are, nothing more is needed, or the run is stopped.
///
/// # Errors
/// A dataset that cannot be read, a gate that cannot be applied to a row.
pub(crate) async fn feed_units(
    plan: &Plan,
    sample_writer: &SampleWriter<'_>,
    follower: &Arc<Follower>,
    groups: Vec<Group>,
) -> Result<(), EngineError> {
    let context = sample_writer.context;
    let per_row = context.plan.cells_per_row();
    let mut window = Window::empty();
    for at in 0..follower.order.len() {
        if !follower.wait_for_room(at).await || context.stop.is_set() {
            return Ok(());
        }
        let Some((key, numbers)) = follower.order.unit(at) else { return Ok(()) };
        if !window.has(at) {
            window = read_window(plan, follower, at).await.inspect_err(|_| context.stop.set())?;
        }
        let (mut samples, mut broken) = (Vec::with_capacity(numbers.len()), Vec::new());
        let mut purposes = Vec::with_capacity(numbers.len());
        for row in window.take(&numbers) {
            let record = match &row {
                Ok(sample) => context.systems.sample_record(sample),
                Err(error) => {
                    let row = error.row.unwrap_or_default();
                    SampleRecord { row, id: error.sample().to_string(), ..SampleRecord::default() }
                }
            };
            let open = follower.open_purposes(&record).inspect_err(|_| context.stop.set())?;
            let is_needed = open.iter().any(|purposes| !purposes.is_empty());
            purposes.push((record.row, open));
            match row {
                _ if !is_needed => {}
                Ok(sample) => samples.push(sample),
                Err(error) => broken.push(error),
            }
        }
        if !sample_writer.write_in_any_order(&samples, broken).await {
            return Ok(());
        }
        let mut work: Vec<Vec<CellWork>> = groups.iter().map(|_| Vec::new()).collect();
        for sample in samples {
            let first = sample.row * per_row;
            let open = purposes.iter().find(|(row, _)| *row == sample.row).map(|(_, open)| open);
            let row = Arc::new(Row::new(sample, &context.systems));
            for ((cells, _), work) in groups.iter().zip(&mut work) {
                let is_needed = |cell: &&u64| {
                    let (_, system, _) = context.plan.place(first + **cell);
                    open.and_then(|open| open.get(system)).is_some_and(|purposes| !purposes.is_empty())
                };
                work.extend(cells.iter().filter(is_needed).filter_map(|cell| {
                    let recorded = context.resolver.recorded_parts(first + cell)?;
                    Some(CellWork { row: row.clone(), ordinal: first + cell, recorded })
                }));
            }
        }
        let pending = work.iter().map(Vec::len).sum();
        follower.add_unit(HandedUnit { at, key, rows: purposes, pending });
        for ((_, sender), work) in groups.iter().zip(work) {
            for cell in work {
                tokio::select! {
                    sent = sender.send(cell) => if sent.is_err() { return Ok(()) },
                    () = context.stop.wait() => return Ok(()),
                }
            }
        }
    }
    Ok(())
}

/// Reads the rows of the next units on a thread of its own.
async fn read_window(plan: &Plan, follower: &Arc<Follower>, at: usize) -> Result<Window, EngineError> {
    let (plan, follower) = (plan.clone(), follower.clone());
    let read = spawn_blocking(move || Window::read(&plan, &follower.order, at)).await;
    read.map_err(|died| EngineError::Bug(died.to_string()))?.map_err(EngineError::Dataset)
}
