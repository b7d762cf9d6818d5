//! Runs with their indexes: from memory, from the store, or built in the background while the page says so.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use karat_store::{Store, StoredRun};
use karat_types::{Key, PlanHeader, RunHeader, RunRows, RunStatus};

use crate::AppError;
use crate::views::Views;
use crate::views::index::{self, RunIndex};
use crate::views::patience;
use crate::views::run_view::RunView;
use crate::views::run_view::{MovedCells, moved_cells};

/// Time that a page waits for an index before it says that one is being built.
const PATIENCE: Duration = Duration::from_millis(250);

/// Bytes of indexes that are kept in memory.
const MEMORY: usize = 64 << 20;

/// An index of a run under way is shown for this long before a newer one is built, and for ten times as long as it took.
const FRESH: Duration = Duration::from_secs(2);

/// A run as pages read it, or the news that its index is not ready yet.
#[derive(Debug, Clone)]
pub enum ViewState {
    /// The run with its index.
    Ready(Arc<RunView>),
    /// The index is being built; ask again in a moment.
    Building {
        /// The run.
        run: String,
        /// Cells that the run has.
        cells: u64,
    },
}

/// The views that a process keeps, and those that it builds.
#[derive(Default)]
pub(crate) struct ViewCache {
    kept: Mutex<Kept>,
    is_built: Condvar,
    /// Held by the thread that computes figures beside pages.
    figures: Arc<Mutex<bool>>,
}

/// The turn of the one thread that computes figures beside pages.
pub(crate) struct FiguresTurn(Arc<Mutex<bool>>);

impl Drop for FiguresTurn {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = false;
    }
}

#[derive(Default)]
struct Kept {
    /// Latest used last.
    views: Vec<Arc<RunView>>,
    building: HashMap<String, Build>,
}

enum Build {
    Going,
    Failed(String),
}

impl Kept {
    fn find(&mut self, run: &str) -> Option<Arc<RunView>> {
        let at = self.views.iter().position(|view| view.header.id == run)?;
        let view = self.views.remove(at);
        self.views.push(Arc::clone(&view));
        Some(view)
    }

    /// Adds a view, and drops those that were not used for the longest time.
    fn add(&mut self, view: Arc<RunView>) {
        self.views.retain(|other| other.header.id != view.header.id);
        self.views.push(view);
        let mut size: usize = self.views.iter().map(|view| view.index.size()).sum();
        while size > MEMORY && self.views.len() > 1 {
            size -= self.views.remove(0).index.size();
        }
    }
}

impl Views<'_> {
    /// The run with its index. The first call for a large run builds the index in the background and returns
    /// [`ViewState::Building`] if that takes longer than a page may wait.
    ///
    /// # Errors
    /// No such run, or its rows cannot be read.
    pub fn run(&self, run: &str) -> Result<ViewState, AppError> {
        let rows = self.app.stored().run(run)?;
        let (state, id) = (rows.state()?, rows.header().id.clone());
        let views = self.app.opened.views();
        let mut kept = views.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.find(&id);
        let status = rows.header().status;
        let is_current = known.as_ref().is_some_and(|it| it.state == state && it.header.status == status);
        if let Some(view) = known.clone().filter(|_| is_current) {
            return Ok(ViewState::Ready(view));
        }
        // Each commit of a run changes its state; reading all rows again for each would take all of a processor.
        let is_fresh = |view: &RunView| view.built.elapsed() < FRESH.max(10 * view.took);
        if let Some(view) =
            known.clone().filter(|view| view.is_running() && status == RunStatus::Running && is_fresh(view))
        {
            return Ok(ViewState::Ready(view));
        }
        if !matches!(kept.building.get(&id), Some(Build::Going)) {
            kept.building.insert(id.clone(), Build::Going);
            let (views, app, id) = (Arc::clone(&views), self.app.clone(), id.clone());
            std::thread::spawn(move || views.finish(&id, app.views().build_view(&id)));
        }
        let until = patience::now() + PATIENCE;
        while let Some(Build::Going) = kept.building.get(&id) {
            let left = until.saturating_duration_since(patience::now());
            if left.is_zero() {
                break;
            }
            kept = views.is_built.wait_timeout(kept, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        if let Some(Build::Failed(why)) = kept.building.get(&id) {
            let error = karat_types::RowError(why.clone());
            kept.building.remove(&id);
            return Err(error.into());
        }
        match kept.find(&id).filter(|view| view.state == state || view.is_running()) {
            Some(view) => Ok(ViewState::Ready(view)),
            None => {
                drop(kept);
                Ok(ViewState::Building { run: id, cells: rows.totals()?.cells })
            }
        }
    }

    /// The run with its index, however long that takes: for tests, exports and measurements.
    ///
    /// # Errors
    /// No such run, or its rows cannot be read.
    pub fn wait_for_view(&self, run: &str) -> Result<Arc<RunView>, AppError> {
        loop {
            if let ViewState::Ready(view) = self.run(run)? {
                return Ok(view);
            }
        }
    }

    fn build_view(&self, run: &str) -> Result<RunView, AppError> {
        let begun = patience::now();
        let store = self.app.existing_store()?;
        let rows = store.rows(run)?;
        let loaded = load(&rows)?;
        let moved = previous_run(&store, rows.header())?.map(|earlier| -> Result<MovedCells, AppError> {
            let before = load(&store.rows(&earlier)?)?;
            Ok(MovedCells { since: earlier, cells: moved_cells((&loaded.0, &loaded.1), (&before.0, &before.1)) })
        });
        let moved = moved.transpose()?;
        Ok(RunView::new(rows.header().clone(), loaded, moved, begun))
    }
}

impl ViewCache {
    /// The turn to compute figures, or `None` if a thread has it.
    pub(crate) fn figures_turn(&self) -> Option<FiguresTurn> {
        let mut taken = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        let is_free = !std::mem::replace(&mut *taken, true);
        is_free.then(|| FiguresTurn(Arc::clone(&self.figures)))
    }

    fn finish(&self, run: &str, built: Result<RunView, AppError>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        match built {
            Ok(view) => {
                kept.building.remove(run);
                kept.add(Arc::new(view));
            }
            Err(error) => {
                kept.building.insert(run.to_owned(), Build::Failed(error.to_string()));
            }
        }
        self.is_built.notify_all();
    }
}

/// The index of a run, as the store keeps it, or from its rows. An index of a run under way is not kept in the store.
fn load(rows: &StoredRun) -> Result<(Arc<PlanHeader>, RunIndex, Key), AppError> {
    let state = rows.state()?;
    let key = index::version_key(state);
    if let Some(index) = rows.read_derived(index::KIND, key)?.and_then(|bytes| index::read(&bytes)) {
        let plan = index.resolve(&rows.header().plan);
        return Ok((plan, index, state));
    }
    let index = index::build(rows)?;
    if rows.header().status != RunStatus::Running {
        // A store that cannot be written now is not a reason to show nothing.
        let _ = rows.keep_derived(index::KIND, key, &index::write(&index));
    }
    let plan = index.resolve(&rows.header().plan);
    Ok((plan, index, state))
}

/// The newest finished run of the same suite that started before a run.
fn previous_run(store: &Store, header: &RunHeader) -> Result<Option<String>, AppError> {
    let mut earlier = store.run_before(&header.id)?;
    while let Some(run) = earlier {
        let before = store.run(&run)?;
        if before.is_whole() && before.plan.run.measures_judges == header.plan.run.measures_judges {
            return Ok(Some(run));
        }
        earlier = store.run_before(&run)?;
    }
    Ok(None)
}
