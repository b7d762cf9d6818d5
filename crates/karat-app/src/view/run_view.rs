//! A run with its index: from memory, from the store, or built in the background while the page says so.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fixedbitset::FixedBitSet;
use karat_analysis::{headline_metrics, system_id};
use karat_store::{Store, StoredRun};
use karat_types::{Better, CellStatus, Key, PlanHeader, RunHeader, RunRows, RunStatus};

use crate::view::index::{self, CellFlag, MetricColumn, RunIndex};
use crate::{App, AppError};

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

/// A metric that a page may show, filter and sort by.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewMetric {
    /// Its name.
    pub name: String,
    /// Unit that is not a plain number: `ms`, `USD`.
    pub unit: Option<&'static str>,
    /// Lowest and highest possible value, if they are declared.
    pub range: Option<(f64, f64)>,
    /// True if it only takes the values 0 and 1.
    pub binary: bool,
    /// The better direction.
    pub better: Better,
    /// True if summaries show it.
    pub is_headline: bool,
}

/// A run with its index. Immutable: a run that goes on gets another one.
#[derive(Debug)]
pub struct RunView {
    /// The run.
    pub header: RunHeader,
    /// Its plan, with metrics resolved to checks where their scores decide it.
    pub plan: Arc<PlanHeader>,
    /// The numbers of its cells.
    pub index: RunIndex,
    /// Hash of what the store held of the run when the index was built.
    pub state: Key,
    /// Metrics of the plan, then latency and cost.
    pub metrics: Vec<ViewMetric>,
    /// The previous finished run of the suite, and the cells whose scores differ from it.
    pub moved: Option<MovedCells>,
    built: Instant,
    took: Duration,
}

/// The cells whose scores differ from those of an earlier run.
#[derive(Debug, Clone)]
pub struct MovedCells {
    /// The earlier run.
    pub since: String,
    cells: FixedBitSet,
}

impl RunView {
    /// The view of a run whose index was begun to be built at `begun`.
    pub(crate) fn new(
        header: RunHeader,
        (plan, index, state): (Arc<PlanHeader>, RunIndex, Key),
        moved: Option<MovedCells>,
        begun: Instant,
    ) -> Self {
        let metrics = metrics(&plan);
        Self { header, plan, index, state, metrics, moved, built: Instant::now(), took: begun.elapsed() }
    }

    /// Returns true if a cell has a flag.
    pub fn has_flag(&self, cell: usize, flag: CellFlag) -> bool {
        match flag {
            CellFlag::Moved => self.moved.as_ref().is_some_and(|moved| moved.cells.contains(cell)),
            own => self.index.has_flag(cell, own),
        }
    }

    /// Number of cells with a flag.
    pub fn count_flag(&self, flag: CellFlag) -> u64 {
        (0..self.index.len()).filter(|cell| self.has_flag(*cell, flag)).count() as u64
    }

    /// Number of cells with a status.
    pub fn count_status(&self, status: CellStatus) -> u64 {
        (0..self.index.len()).filter(|cell| self.index.status(*cell) == status).count() as u64
    }

    /// Position of a metric by its name.
    pub fn metric(&self, name: &str) -> Option<usize> {
        self.metrics.iter().position(|metric| metric.name == name)
    }

    /// The numbers of a metric.
    pub fn column(&self, metric: usize) -> Option<&MetricColumn> {
        let own = self.plan.metrics.len();
        match self.metrics.get(metric) {
            Some(_) if metric < own => self.index.metric(metric),
            Some(beside) if beside.name == LATENCY => Some(self.index.latency()),
            Some(_) => Some(self.index.cost()),
            None => None,
        }
    }

    /// The name of a system: model and variant.
    pub fn system_name(&self, system: usize) -> String {
        system_id(&self.plan, system)
    }

    /// Returns true if rows may still be added.
    pub fn is_running(&self) -> bool {
        self.header.status == RunStatus::Running
    }
}

const LATENCY: &str = "latency";
const COST: &str = "cost";

/// The metrics of a plan, then latency and cost unless a scorer has their name.
fn metrics(plan: &PlanHeader) -> Vec<ViewMetric> {
    let headline = headline_metrics(plan);
    let own = plan.metrics.iter().enumerate().map(|(at, metric)| ViewMetric {
        name: metric.name.clone(),
        unit: plan.unit_of(metric),
        range: metric.range,
        binary: metric.binary,
        better: metric.better,
        is_headline: headline.contains(&at),
    });
    let beside = [(LATENCY, "ms"), (COST, "USD")].into_iter().filter(|(name, _)| plan.metric(name).is_none());
    let beside = beside.map(|(name, unit)| ViewMetric {
        name: name.to_owned(),
        unit: Some(unit),
        range: None,
        binary: false,
        better: Better::Lower,
        is_headline: false,
    });
    own.chain(beside).collect()
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

impl App {
    /// The run with its index. The first call for a large run builds the index in the background and returns
    /// [`ViewState::Building`] if that takes longer than a page may wait.
    ///
    /// # Errors
    /// No such run, or its rows cannot be read.
    pub fn run_view(&self, run: &str) -> Result<ViewState, AppError> {
        let rows = self.stored_run(run)?;
        let (state, id) = (rows.state()?, rows.header().id.clone());
        let views = self.opened.views();
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
            let (views, app, id) = (Arc::clone(&views), self.clone(), id.clone());
            std::thread::spawn(move || views.finish(&id, app.build_view(&id)));
        }
        let until = Instant::now() + PATIENCE;
        while let Some(Build::Going) = kept.building.get(&id) {
            let left = until.saturating_duration_since(Instant::now());
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
            if let ViewState::Ready(view) = self.run_view(run)? {
                return Ok(view);
            }
        }
    }

    fn build_view(&self, run: &str) -> Result<RunView, AppError> {
        let begun = Instant::now();
        let store = self.existing_store()?;
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
    if let Some(index) = rows.derived(index::KIND, key)?.and_then(|bytes| index::read(&bytes)) {
        let plan = index.resolve(&rows.header().plan);
        return Ok((plan, index, state));
    }
    let index = index::build(rows)?;
    if rows.header().status != RunStatus::Running {
        // A store that cannot be written now is no reason to show nothing.
        let _ = rows.keep_derived(index::KIND, key, &index::write(&index));
    }
    let plan = index.resolve(&rows.header().plan);
    Ok((plan, index, state))
}

/// The newest finished run of the same suite that started before a run.
fn previous_run(store: &Store, header: &RunHeader) -> Result<Option<String>, AppError> {
    let runs = store.runs_of_suite(&header.plan.suite, usize::MAX)?;
    let earlier = runs.into_iter().skip_while(|run| *run != header.id).skip(1);
    for run in earlier {
        let before = store.run(&run)?;
        if before.status == RunStatus::Finished && before.plan.run.of_ruler == header.plan.run.of_ruler {
            return Ok(Some(run));
        }
    }
    Ok(None)
}

/// The cells with a score that differs from that of the same sample, system and trial in another run. Metrics that
/// depend on time or price are left out: they always differ.
fn moved_cells(own: (&PlanHeader, &RunIndex), before: (&PlanHeader, &RunIndex)) -> FixedBitSet {
    let (plan, index) = own;
    let (other_plan, other) = before;
    let pairs: Vec<(usize, usize)> = (plan.metrics.iter().enumerate())
        .filter(|(_, metric)| !metric.volatile)
        .filter_map(|(at, metric)| Some((at, other_plan.metric(&metric.name)?)))
        .collect();
    let systems: Vec<Option<usize>> = (0..plan.systems.len())
        .map(|system| {
            let name = system_id(plan, system);
            (0..other_plan.systems.len()).find(|other| system_id(other_plan, *other) == name)
        })
        .collect();
    let samples: HashMap<&str, usize> = other.sample_ids().enumerate().map(|(at, id)| (id, at)).collect();
    let cells: HashMap<(usize, usize, u32), usize> = (0..other.len())
        .map(|cell| {
            let place = other.place(cell);
            ((other.sample(cell), place.system, place.trial), cell)
        })
        .collect();
    let partner = |cell: usize| {
        let place = index.place(cell);
        let sample = samples.get(index.sample_id(cell))?;
        cells.get(&(*sample, (*systems.get(place.system)?)?, place.trial)).copied()
    };
    let differs = |cell: usize, other_cell: usize| {
        pairs.iter().any(|(own, theirs)| {
            let value = index.metric(*own).and_then(|column| column.value(cell));
            let earlier = other.metric(*theirs).and_then(|column| column.value(other_cell));
            value.zip(earlier).is_some_and(|(value, earlier)| (value - earlier).abs() > 1e-12)
        })
    };
    let mut moved = FixedBitSet::with_capacity(index.len());
    moved.extend((0..index.len()).filter(|cell| partner(*cell).is_some_and(|earlier| differs(*cell, earlier))));
    moved
}
