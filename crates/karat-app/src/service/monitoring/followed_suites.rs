//! The suites whose schedules and alerts a server follows. They are read again each minute; after an edit that cannot be
//! loaded, the last good version is followed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use karat_alert::AlertSpec;
use karat_schedule::ScheduleSpec;
use karat_suite::has_service_keys;
use karat_types::Moment;

use crate::error::{Names, ServiceError};
use crate::project::presets::SuiteFiles;
use crate::project::root::RootFiles;
use crate::service::Service;
use crate::service::monitoring::due_run::DueRun;
use crate::service::monitoring::schedules::{ScheduleLine, find_schedule};
use crate::{App, AppError, Invocation};

/// Milliseconds between two readings of the suites.
const REREAD_MS: i64 = 60_000;

/// The suites that a server follows. Clones share them.
#[derive(Clone)]
pub struct FollowedSuites(Arc<Shared>);

struct Shared {
    app: App,
    /// Paths that were given; without any, those found below the root.
    given: Vec<String>,
    /// True if suites that run programs are refused.
    safe: bool,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    read_at: Option<Moment>,
    suites: BTreeMap<String, Followed>,
}

#[derive(Default)]
struct Followed {
    /// The last good version.
    suite: Arc<FollowedSuite>,
    /// The reason why its file cannot be used now.
    broken: Option<String>,
}

/// The last good version of a suite.
#[derive(Default)]
pub(crate) struct FollowedSuite {
    pub name: String,
    pub schedules: Vec<ScheduleSpec>,
    pub alerts: Vec<AlertSpec>,
}

impl FollowedSuites {
    /// Follows suites; without any, `karat.yaml` of the root and of the folders in it. With `safe`, suites that run programs
    /// are refused.
    pub fn new(app: App, given: Vec<String>, safe: bool) -> Self {
        Self(Arc::new(Shared { app, given, safe, known: Mutex::default() }))
    }

    /// Suites whose files cannot be used now, each with its reason.
    pub fn broken_suites(&self) -> Vec<(String, String)> {
        self.refresh();
        let known = self.lock_known();
        known.suites.iter().filter_map(|(path, it)| Some((path.clone(), it.broken.clone()?))).collect()
    }

    /// The schedules of all suites, by suite.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn schedules(&self) -> Result<Vec<ScheduleLine>, AppError> {
        self.refresh();
        let mut lines = Vec::new();
        for (path, suite) in self.suites() {
            for spec in &suite.schedules {
                lines.push(self.0.app.service().schedule_line(&path, &suite.name, spec)?);
            }
        }
        lines.sort_by(|a, b| (&a.suite, &a.schedule, &a.path).cmp(&(&b.suite, &b.schedule, &b.path)));
        Ok(lines)
    }

    /// A schedule of a suite, by their names.
    ///
    /// # Errors
    /// There is no such suite or schedule, or the store cannot be read.
    pub fn schedule(&self, suite: &str, schedule: &str) -> Result<ScheduleLine, AppError> {
        let (path, suite) = self.suite_by_name(suite)?;
        self.0.app.service().schedule_line(&path, &suite.name, find_schedule(&suite.name, &suite.schedules, schedule)?)
    }

    /// The run of a due time of a schedule; without one, of the last up to now.
    ///
    /// # Errors
    /// There is no such suite or schedule, or it is not due then.
    pub fn due_run(&self, suite: &str, schedule: &str, due: Option<Moment>) -> Result<DueRun, AppError> {
        let (path, suite) = self.suite_by_name(suite)?;
        let spec = find_schedule(&suite.name, &suite.schedules, schedule)?;
        let mut run = DueRun::at(&path, &suite.name, spec, due, self.0.app.clock.now())?;
        run.refuse_commands(self.0.safe);
        Ok(run)
    }

    /// Pauses a schedule from now on, or resumes it.
    ///
    /// # Errors
    /// There is no such suite or schedule, or the store cannot be written.
    pub fn pause_schedule(&self, suite: &str, schedule: &str, paused: bool) -> Result<ScheduleLine, AppError> {
        let (path, suite) = self.suite_by_name(suite)?;
        let spec = find_schedule(&suite.name, &suite.schedules, schedule)?;
        self.0.app.service().set_paused(&suite.name, spec, paused)?;
        self.0.app.service().schedule_line(&path, &suite.name, spec)
    }

    /// The suite of this name, with its path.
    fn suite_by_name(&self, name: &str) -> Result<(String, Arc<FollowedSuite>), AppError> {
        self.refresh();
        let suites = self.suites();
        let names: Vec<String> = suites.iter().map(|(_, suite)| suite.name.clone()).collect();
        let missing = || ServiceError::NotFollowed { suite: name.to_owned(), known: Names::of(&names) };
        let known = suites.into_iter().find(|(_, suite)| suite.name == name);
        known.ok_or_else(|| missing().into())
    }

    /// All suites, by path.
    pub(crate) fn suites(&self) -> Vec<(String, Arc<FollowedSuite>)> {
        self.lock_known().suites.iter().map(|(path, it)| (path.clone(), it.suite.clone())).collect()
    }

    /// True if suites that run programs are refused.
    pub(crate) fn is_safe(&self) -> bool {
        self.0.safe
    }

    /// Reads the suites if that is due. Returns what is wrong now and was not before.
    pub(crate) fn refresh(&self) -> Vec<String> {
        let now = self.0.app.clock.now();
        let mut known = self.lock_known();
        // A clock that was set back reads again, too.
        let is_fresh = known.read_at.is_some_and(|at| (0..REREAD_MS).contains(&now.0.saturating_sub(at.0)));
        if is_fresh {
            return Vec::new();
        }
        known.read_at = Some(now);
        let paths = if self.0.given.is_empty() { self.0.app.project().found_suites() } else { self.0.given.clone() };
        known.suites.retain(|path, _| paths.contains(path));
        paths.into_iter().filter_map(|path| self.read(path, &mut known.suites)).collect()
    }

    fn read(&self, path: String, suites: &mut BTreeMap<String, Followed>) -> Option<String> {
        let app = &self.0.app;
        // Most suites have neither schedules nor alerts: they are not loaded, and what is wrong with them is their own.
        if app.service().has_service_keys(&path) == Some(false) {
            suites.remove(&path);
            return None;
        }
        let mut invocation = Invocation::of_any_day(&path);
        invocation.overrides.safe = self.0.safe;
        let known = suites.entry(path.clone()).or_default();
        match app.runs().load(&invocation) {
            Ok(plan) => {
                let (name, schedules, alerts) = (plan.header.suite.clone(), plan.schedules, plan.alerts);
                *known = Followed { suite: Arc::new(FollowedSuite { name, schedules, alerts }), broken: None };
                None
            }
            Err(error) => {
                let problem = error.to_string();
                if known.broken.as_ref() == Some(&problem) {
                    return None;
                }
                known.broken = Some(problem.clone());
                Some(format!("{path} cannot be used, its last good version is followed: {problem}"))
            }
        }
    }

    fn lock_known(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service<'_> {
    /// Returns whether a suite has schedules or alerts; `None` if its file cannot be read.
    pub(crate) fn has_service_keys(&self, path: &str) -> Option<bool> {
        let read = match self.app.opened.root() {
            Some(root) => has_service_keys(Arc::new(RootFiles::new(root.to_owned())), path),
            None => has_service_keys(Arc::new(SuiteFiles), path),
        };
        read.ok()
    }
}
