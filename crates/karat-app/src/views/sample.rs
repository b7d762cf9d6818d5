//! The page of a sample: what each system said to it, and the samples before and after it in the reader's list.

use karat_report::page::MarkedSources;

use crate::AppError;
use crate::error::StoredError;
use crate::views::Views;
use crate::views::query::CellQuery;
use crate::views::run_view::RunView;
use crate::views::texts::{OutputView, SystemOutputs};

/// A sample with the outputs of all systems.
#[derive(Debug, Clone)]
pub struct SampleView {
    /// Its id.
    pub id: String,
    /// The systems that have a row for it, in plan order.
    pub systems: Vec<SystemOutputs>,
    /// The parts of its texts that outputs and judges refer to.
    pub sources: MarkedSources,
    /// Place in the reader's list, from 1, and the length of that list; `None` if the list does not have it.
    pub place: Option<(u64, u64)>,
    /// The sample before it in the list.
    pub previous: Option<String>,
    /// The sample after it in the list.
    pub next: Option<String>,
}

impl Views<'_> {
    /// A sample of a run, with its neighbours in the list that a query selects. A sample that is not in that list has
    /// those of the whole run.
    ///
    /// # Errors
    /// The run has no such sample, or its rows cannot be read.
    pub fn sample(&self, view: &RunView, query: &CellQuery, id: &str) -> Result<SampleView, AppError> {
        let missing = || StoredError::NoSample { target: view.header.id.clone(), sample: id.to_owned() };
        let groups = view.index.groups_of_sample(id).ok_or_else(missing)?;
        let sample = view.index.sample(view.index.group(groups.start).start);
        let listed = samples_of(view, query);
        let position = listed.iter().position(|other| *other == sample);
        let (around, at) = match position {
            Some(at) => (listed, Some(at)),
            None => {
                let all = samples_of(view, &CellQuery::default());
                let at = all.iter().position(|other| *other == sample);
                (all, at)
            }
        };
        let neighbour = |at: Option<usize>| {
            let sample = around.get(at?)?;
            view.index.sample_ids().nth(*sample).map(str::to_owned)
        };
        let rows = self.app.stored().run(&view.header.id)?;
        let systems = groups.map(|group| SystemOutputs::read(view, &rows, group));
        let mut systems: Vec<SystemOutputs> = systems.collect::<Result<_, _>>()?;
        let mut sources = MarkedSources::default();
        systems.iter_mut().for_each(|system| system.mark(view, &mut sources));
        let has_marks = |output: &OutputView| output.marked.as_ref().is_some_and(|it| !it.highlights.is_empty());
        // All systems' outputs in one form: as lines if a part of any is marked, else as they are.
        if !systems.iter().flat_map(|system| &system.outputs).any(has_marks) {
            systems.iter_mut().flat_map(|system| &mut system.outputs).for_each(|output| output.marked = None);
        }
        Ok(SampleView {
            id: id.to_owned(),
            systems,
            sources,
            place: position.map(|at| (at as u64 + 1, around.len() as u64)),
            previous: neighbour(at.and_then(|at| at.checked_sub(1))),
            next: neighbour(at.map(|at| at + 1)),
        })
    }
}

/// The samples of a query, each once, in the order of their first rows.
fn samples_of(view: &RunView, query: &CellQuery) -> Vec<usize> {
    let mut seen = fixedbitset::FixedBitSet::with_capacity(view.index.sample_ids().count());
    let samples =
        query.select(view).groups.into_iter().map(|group| view.index.sample(view.index.group(group as usize).start));
    samples.filter(|sample| !seen.put(*sample)).collect()
}
