//! The report of a large run, begun while its calls are under way: what is found and the file of cells, as far as cells are
//! on disk in the order of the plan. What is left at the end is the rest of them.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread::{self, Thread};
use std::time::Duration;

use karat_analysis::{Findings, Options, Pinned, Reading};
use karat_engine::Outcome;
use karat_report::json::{CellLines, CellsFile, CellsUnderWay};
use karat_report::{Cells, Estimate, RenderError};
use karat_store::{Store, StoredRun};
use karat_types::{CellRow, Key, PlanHeader, RunRows, RunStatus};

use crate::AppError;
use crate::begun::expected;
use crate::whole::{WholeFile, unwritable};

/// The report of a smaller run takes no time.
const LARGE: u64 = 32_768;

/// So many cells are read at a time: as long as somebody reads, the store keeps what was written since.
const AT_ONCE: u64 = 4_096;

/// Where fewer are there, more are waited for.
const PAUSE: Duration = Duration::from_millis(100);

/// Where the store has room for fewer bytes than this, it gets all of them.
const SPARE: u64 = 256 << 20;

/// A report under way.
pub(crate) struct ReportAhead {
    store: Store,
    stored: StoredRun,
    /// What the store held of the run when the last of it was read.
    state: Key,
    reading: Reading,
    cells: Option<CellsBegun>,
    /// The first place of the plan that has not been read.
    next: u64,
}

/// A file of cells under way.
struct CellsBegun {
    target: PathBuf,
    file: CellsUnderWay<WholeFile>,
    estimate: Option<Estimate>,
}

impl ReportAhead {
    /// Begins that of a new run; `cells` is where its cells go, where they are wanted. `None` where that wins nothing, or where
    /// more is written of a cell after it is there.
    pub fn begin(store: &Store, run: &str, cells: Option<PathBuf>) -> Option<Self> {
        let store = store.clone();
        let stored = store.rows(run).ok()?;
        let header = stored.header();
        if header.plan.cells() < LARGE || !header.plan.judges.is_empty() {
            return None;
        }
        let reading = Reading::begin(header, Options::default().level).ok()??;
        let estimate = expected(header);
        let cells = cells.and_then(|target| {
            let file = WholeFile::create_from(store.aside(run), &target).ok()?;
            Some(CellsBegun { target, file: CellsUnderWay::new(file), estimate })
        });
        Some(Self { store, stored, state: Key::default(), reading, cells, next: 0 })
    }

    /// Reads until the run is finished and all of it is read; `None` where it ends otherwise.
    fn follow(&mut self, end: &End) -> Result<Option<()>, AppError> {
        let is_finished = loop {
            if let Some(is_finished) = end.get() {
                break *is_finished;
            }
            if self.read()? < AT_ONCE {
                thread::park_timeout(PAUSE);
            }
            // What is paid comes first.
            if self.store.room().is_some_and(|room| room < SPARE) {
                return Ok(None);
            }
        };
        if !is_finished {
            return Ok(None);
        }
        // Before the last of it is read: what is written from now on changes it.
        self.state = self.stored.state()?;
        while self.read()? > 0 {}
        Ok(Some(()))
    }

    /// Reads the cells that follow in the plan, up to the first that is not there, and says how many.
    fn read(&mut self) -> Result<u64, AppError> {
        let Self { stored, reading, cells, next, .. } = self;
        let begun = *next;
        let plan: &PlanHeader = &stored.header().plan.clone();
        let (mut file, estimate) = match cells {
            Some(CellsBegun { file, estimate, .. }) => (Some(file), estimate.as_ref()),
            None => (None, None),
        };
        let lines = CellLines::of(Cells { plan, rows: stored, estimate, canonical: false });
        let mut take = |row: &CellRow<'_>| -> Result<(), AppError> {
            reading.take(stored, row).map_err(AppError::from)?;
            file.as_mut().map_or(Ok(()), |file| Ok(file.add(&lines, row)?))
        };
        let mut taken = Ok(());
        let read = stored.for_each_in(begun..begun + AT_ONCE, &mut |row| {
            if row.cell.ordinal == *next {
                taken = take(&row);
                *next += 1;
                if taken.is_ok() {
                    return ControlFlow::Continue(());
                }
            }
            ControlFlow::Break(())
        });
        read.map_err(RenderError::from)?;
        taken.map(|()| *next - begun)
    }

    /// Whether it is of all that the store holds of a run now.
    pub fn is_of(&self, stored: &StoredRun) -> bool {
        self.stored.header().id == stored.header().id
            && self.next == stored.header().plan.cells()
            && stored.state().is_ok_and(|state| state == self.state)
    }

    /// What is found, and the file of cells where it goes to the same place.
    pub fn finish(self, baseline: Option<&Pinned>, target: &Path) -> Result<(Findings, Option<CellsFile>), AppError> {
        let findings = self.reading.finish(baseline).map_err(AppError::from)?;
        let cells = self.cells.filter(|cells| cells.target == target).map(|cells| {
            let name = target.file_name().unwrap_or_default().to_string_lossy();
            let (file, facts) = cells.file.end(&name)?;
            file.finish().map_err(|error| unwritable(target, error))?;
            Ok::<_, AppError>(facts)
        });
        Ok((findings, cells.transpose()?))
    }
}

/// Runs, and reads meanwhile what is there. What goes wrong with it is told by whoever makes the report without it.
pub(crate) fn beside<E>(
    ahead: Option<ReportAhead>,
    run: impl FnOnce() -> Result<Outcome, E>,
) -> Result<(Outcome, Option<ReportAhead>), E> {
    let Some(mut ahead) = ahead else { return run().map(|outcome| (outcome, None)) };
    let end = End::default();
    thread::scope(|scope| {
        let end = &end;
        let follow = move || ahead.follow(end).ok().flatten().map(|()| ahead);
        let Ok(reader) = thread::Builder::new().name("karat-report".to_owned()).spawn_scoped(scope, follow) else {
            return run().map(|outcome| (outcome, None));
        };
        let waits = Waits { end, reader: reader.thread() };
        let outcome = run();
        waits.end(outcome.as_ref().is_ok_and(|outcome| outcome.status == RunStatus::Finished));
        Ok((outcome?, reader.join().ok().flatten()))
    })
}

/// Whether the run has ended, and been finished.
type End = OnceLock<bool>;

/// Whom the end of the run is told, also where a panic is the end.
struct Waits<'a> {
    end: &'a End,
    reader: &'a Thread,
}

impl Waits<'_> {
    fn end(self, is_finished: bool) {
        let _ = self.end.set(is_finished);
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let _ = self.end.set(false);
        self.reader.unpark();
    }
}

/// Removes what a killed run has left of a file of cells.
pub(crate) fn clear(store: &Store, run: &str) {
    let _ = fs::remove_file(store.aside(run));
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use karat_engine::Stop;
    use karat_store::StoreUrl;
    use karat_types::{Clock, Layout, Moment, SilentObserver};

    use super::*;
    use crate::{App, Execution, Format, Invocation, Opened, ReportTo, Tape};

    const SUITE: &str = "name: large
dataset: { source: rows.jsonl, id: id, input: q, reference: a }
models: [ { id: m, provider: stub, model: s } ]
variants: { direct: [ { prompt: { text: '{{ sample.q }}' } } ] }
scorers: { hit: { metric: contains }, one: { metric: contains, value: '1' } }
";

    struct Still;

    impl Clock for Still {
        fn now(&self) -> Moment {
            Moment(1_700_000_000_000)
        }
    }

    /// As a process of its own.
    fn app(folder: &Path) -> App {
        App {
            store: StoreUrl::in_folder(folder),
            home: folder.join("home"),
            lookup: Arc::new(|_| None),
            clock: Arc::new(Still),
            own_program: None,
            opened: Opened::default(),
        }
    }

    fn large(folder: &Path) -> Invocation {
        let row = |at| format!("{{\"id\":\"s{at}\",\"q\":\"question {at}\",\"a\":\"{}\"}}\n", at % 7);
        fs::write(folder.join("rows.jsonl"), (0..LARGE).map(row).collect::<String>()).unwrap();
        fs::write(folder.join("karat.yaml"), SUITE).unwrap();
        Invocation { suite: folder.join("karat.yaml").display().to_string(), ..Invocation::default() }
    }

    fn to(folder: &Path) -> ReportTo {
        ReportTo {
            folder: Some(folder.to_owned()),
            layout: Some(Layout::Flat),
            formats: vec![Format::Markdown, Format::Json],
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn run(app: &App, invocation: &Invocation, id: &str, to: ReportTo) {
        let execution = Execution {
            run_id: Some(id.to_owned()),
            resume: false,
            observer: Arc::new(SilentObserver),
            stop: Stop::default(),
            tape: Tape::None,
            report: Some(to),
        };
        let plan = app.load(invocation).unwrap().plan;
        assert_eq!(app.run(plan, invocation, execution).unwrap().status, RunStatus::Finished);
    }

    /// BY-09: a report that was begun while calls were under way is the one that is made afterwards, to the byte.
    #[test]
    fn a_report_made_ahead_is_the_same() {
        let folder = testkit::scratch().unwrap();
        let [out, again] = ["out", "again"].map(|name| folder.path().join(name));
        let (one, invocation) = (app(folder.path()), large(folder.path()));
        run(&one, &invocation, "a:1", to(&out));
        assert!(one.opened.report().as_ref().is_some_and(|ahead| ahead.next == LARGE && ahead.cells.is_some()));
        let aside = one.open_store().unwrap().aside("a:1");
        assert!(aside.exists() && names(&out.join("results")).is_empty());

        one.report_into("a:1", &to(&out), false).unwrap();
        assert!(one.opened.report().is_none());
        assert_eq!(names(&out.join("results")), ["a_1.cells.jsonl", "a_1.json", "a_1.manifest.json"]);
        assert!(!aside.exists());
        let other = app(folder.path());
        other.report_into("a:1", &to(&again), false).unwrap();
        for file in ["results/a_1.manifest.json", "results/a_1.cells.jsonl", "results/a_1.json", "reports/a_1.md"] {
            let [made, afterwards] = [&out, &again].map(|folder| fs::read_to_string(folder.join(file)).unwrap());
            assert!(made == afterwards, "{file}");
            assert!(file != "results/a_1.cells.jsonl" || made.lines().count() as u64 == LARGE);
        }
        // What lies there is not written again.
        let written = || fs::metadata(out.join("results/a_1.cells.jsonl")).unwrap().modified().unwrap();
        let before = written();
        other.report_into("a:1", &to(&out), false).unwrap();
        assert_eq!(written(), before);
    }

    /// What was made ahead serves nothing but the run as it ended, and leaves nothing behind.
    #[test]
    fn a_report_made_ahead_of_something_else_is_not_used() {
        let folder = testkit::scratch().unwrap();
        let [out, other] = ["out", "other"].map(|name| folder.path().join(name));
        let (one, invocation) = (app(folder.path()), large(folder.path()));
        run(&one, &invocation, "a", to(&out));
        one.report_into("a", &to(&other), true).unwrap();
        assert!(one.opened.report().is_none(), "the canonical report is another one");
        assert!(names(&out.join("results")).is_empty() && !one.open_store().unwrap().aside("a").exists());

        run(&one, &invocation, "b", to(&out));
        let written = one.report_into("b", &to(&other), false).unwrap();
        assert!(written.files.iter().all(|file| file.starts_with(&other)) && names(&out.join("results")).is_empty());

        run(&one, &invocation, "c", to(&out));
        let store = one.open_store().unwrap();
        let ledger = store.reopen("c").unwrap();
        let ended = ledger.finish(RunStatus::Finished, Moment(9));
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(ended).unwrap();
        assert!(!one.opened.report().as_ref().unwrap().is_of(&store.rows("c").unwrap()), "somebody wrote it since");

        // What a killed run has left goes with the next report of it.
        let left = store.aside("b");
        fs::write(&left, "{").unwrap();
        app(folder.path()).report_into("b", &to(&other), false).unwrap();
        assert!(!left.exists());
    }

    /// Nothing is made ahead where that wins nothing, nor where a cell's row is not all that is written of it.
    #[test]
    fn small_and_judged_runs_are_reported_afterwards() {
        let folder = testkit::scratch().unwrap();
        let (one, invocation) = (app(folder.path()), large(folder.path()));
        let begun = |text: &str, limit| {
            fs::write(folder.path().join("karat.yaml"), text).unwrap();
            let plan = one.load(&Invocation { limit, ..invocation.clone() }).unwrap().plan;
            let store = one.open_store().unwrap();
            let id = one.new_id(&plan.header);
            let header = karat_types::RunHeader {
                id: id.clone(),
                plan: plan.header,
                started_at: Moment(0),
                completed_at: None,
                status: RunStatus::Running,
                version: String::new(),
                git_commit: None,
                invocation: serde_json::Value::Null,
            };
            let _ledger = store.begin(&header).unwrap();
            ReportAhead::begin(&store, &id, None).is_some()
        };
        let judged = SUITE.replace("one: {", "good: { rubric: { ask: 'Is it?' } }, one: {")
            + "judges: [ { id: j, provider: stub, model: s } ]\n";
        assert_eq!((begun(SUITE, None), begun(SUITE, Some(100)), begun(&judged, None)), (true, false, false));
    }
}
