//! The steps of a soak, and its end.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;

use super::callers::{Application, Starter};
use super::faults::{Fault, STEP_MINUTES, plan};
use super::network::{Models, Mood, Receiver};
use super::reader::{PagesRead, Reader};
use super::resources::Resources;
use super::server::{Address, Caller, Server};
use super::suites::{self, CHANGE_OF_CLOCKS, MINUTE, SCHEDULES};
use super::world::World;
use super::{Soak, error_of};

/// Steps are this long behind a due time.
const BEHIND: i64 = 10_000;

/// Steps between two versions of the data of `support`.
const VERSION_STEPS: usize = 2;

/// Steps between two runs that are asked for.
const ASKED_STEPS: usize = 4;

/// Steps between two looks at the resources.
const LOOK_STEPS: usize = 3;

/// Times that the end waits for: 200 ms each.
const LAST_LOOKS: usize = 900;

/// A soak under way, and what was noted in it.
pub(crate) struct Day {
    pub world: World,
    pub models: Models,
    pub receiver: Receiver,
    pub starter: Starter,
    pub application: Application,
    pub pages: PagesRead,
    /// The first moment; due times up to it are not followed.
    pub begin: i64,
    /// The last moment whose due times count.
    pub end: i64,
    /// Versions of the data of `support`: since when, and which.
    pub versions: Vec<(i64, usize)>,
    /// Moments at which something went wrong: runs around them are compared.
    pub disturbed: Vec<i64>,
    pub kills: usize,
    pub starts: usize,
    pub full_steps: usize,
    pub jumps: usize,
    pub outages: usize,
    pub looks: Vec<Resources>,
    /// Servers that ended although nothing killed them.
    pub crashes: Vec<String>,
    /// The exit code of the last server.
    pub exit: Option<i32>,
    pub tokens: Vec<String>,
    pub steps: usize,
    /// Due times that were not over when the last fault was.
    pub recovered: usize,
    /// Runs that were asked for and could not start, of which the service says so.
    pub told_failed: Vec<String>,
}

/// The state that steps change.
struct Now {
    address: Address,
    server: Option<Server>,
    /// Steps until the server is started again.
    down: usize,
    age: usize,
    provider: usize,
    receiver: usize,
    full: usize,
    planned: VecDeque<(i64, Fault)>,
    /// The share of this step, in thousandths, at which the server is killed, and the steps that it is down then.
    kill: Option<(u64, usize)>,
}

/// Runs a soak, and returns what was noted.
pub(crate) fn run(soak: &Soak) -> Result<Day, String> {
    let (mut day, mut now, reader) = Day::begin(soak)?;
    let last = day.begin + i64::from(soak.hours) * 60 * MINUTE;
    while day.world.now() + STEP_MINUTES * MINUTE <= last {
        day.step(&mut now, soak.step, &reader)?;
    }
    day.settle(&mut now, reader)?;
    Ok(day)
}

impl Day {
    fn begin(soak: &Soak) -> Result<(Self, Now, Reader), String> {
        let models = Models::start().map_err(error_of("starting the provider"))?;
        let receiver = Receiver::start().map_err(error_of("starting the receiver"))?;
        let mut world = World::new(&soak.program, receiver.url(), &suites::files(&models.base_url()))?;
        world.mount_disk();
        let begin = CHANGE_OF_CLOCKS - i64::from(soak.hours) * 30 * MINUTE + BEHIND;
        world.set_time(begin)?;
        let token = |role: &str| {
            let made = world.succeed(&["token", "create", "--role", role, "--name", role])?;
            Ok::<_, String>(made.trim().to_owned())
        };
        let tokens = vec![token("run")?, token("ingest")?];
        let address = Address::default();
        let caller = |token: &str| Caller { address: address.clone(), token: token.to_owned() };
        let server = Server::start(&world, &address)?;
        let mut now = Now {
            address: address.clone(),
            server: Some(server),
            down: 0,
            age: 0,
            provider: 0,
            receiver: 0,
            full: 0,
            planned: plan(soak.hours, soak.seed).into(),
            kill: None,
        };
        let (run, ingest) = (caller(&tokens[0]), caller(&tokens[1]));
        let mut day = Self {
            models,
            receiver,
            starter: Starter::new(run.clone()),
            application: Application::new(ingest),
            pages: PagesRead::default(),
            begin,
            end: begin,
            versions: vec![(begin, 0)],
            disturbed: Vec::new(),
            kills: 0,
            starts: 1,
            full_steps: 0,
            jumps: 0,
            outages: 0,
            looks: Vec::new(),
            crashes: Vec::new(),
            exit: None,
            tokens,
            steps: 0,
            recovered: 0,
            told_failed: Vec::new(),
            world,
        };
        // The first due time counts once its schedule is followed, and pages have something to show after a run.
        day.application.report(begin);
        day.application.send();
        day.wait_for("the schedules to be followed", &mut now, |day| {
            let listed = day.starter_caller().ask("GET /schedules", "", "").map_err(error_of("asking"))?;
            Ok(listed.status == 200 && listed.body.matches("\"schedule\":").count() == SCHEDULES.len())
        })?;
        std::thread::sleep(Duration::from_millis(2_500));
        day.starter.ask_for_run(0);
        day.starter.send();
        day.wait_for("the first run", &mut now, |day| {
            let run = day.starter_caller().ask("GET /eval/runs/asked-0", "", "").map_err(error_of("asking"))?;
            Ok(run.body.contains("\"status\":\"completed\""))
        })?;
        let reader = Reader::start(run).map_err(error_of("starting a reader"))?;
        Ok((day, now, reader))
    }

    fn starter_caller(&self) -> Caller {
        self.starter.caller()
    }

    fn step(&mut self, now: &mut Now, length: Duration, reader: &Reader) -> Result<(), String> {
        self.steps += 1;
        now.age += 1;
        self.advance(now)?;
        self.end_faults(now, reader)?;
        self.begin_faults(now, reader)?;
        if now.server.is_none() {
            now.down = now.down.saturating_sub(1);
            if now.down == 0 {
                now.server = Some(Server::start(&self.world, &now.address)?);
                self.starts += 1;
                now.age = 0;
            }
        }
        if now.server.is_some() {
            self.use_service();
        }
        match now.kill.take() {
            Some((at, down)) => {
                let before = length * u32::try_from(at).unwrap_or(500) / 1000;
                std::thread::sleep(before);
                self.kill(now, down);
                std::thread::sleep(length.saturating_sub(before));
            }
            None => std::thread::sleep(length),
        }
        if let Some(status) = now.server.as_mut().and_then(Server::has_ended) {
            self.crashes.push(format!("step {}: {status}", self.steps));
            now.server = Some(Server::start(&self.world, &now.address)?);
        }
        if self.steps.is_multiple_of(VERSION_STEPS) && now.server.is_some() && now.full == 0 {
            self.change_data()?;
        }
        if self.steps.is_multiple_of(LOOK_STEPS)
            && let Some(server) = &now.server
        {
            let look = self.look(server, now.age);
            self.looks.push(look);
        }
        Ok(())
    }

    fn look(&self, server: &Server, age: usize) -> Resources {
        let due = SCHEDULES.iter().map(|it| self.due_times(it.is_due, self.world.now()).len()).sum();
        let at = (self.world.now() - self.begin) / (36_000);
        Resources { at, age, due, ..server.resources(&self.world) }
    }

    /// The due times of a schedule up to a moment.
    pub fn due_times(&self, is_due: fn(i64) -> bool, until: i64) -> Vec<i64> {
        let first = self.begin.div_euclid(MINUTE) + 1;
        (first..=until.div_euclid(MINUTE)).map(|minute| minute * MINUTE).filter(|time| is_due(*time)).collect()
    }

    /// Sets the clock shortly behind the next due times, or to where a fault puts it.
    fn advance(&mut self, now: &mut Now) -> Result<(), String> {
        let step = STEP_MINUTES * MINUTE;
        let time = self.world.now();
        let minutes = (time - self.begin) / MINUTE;
        let jump = match now.planned.front() {
            Some((at, Fault::Jump { minutes: by })) if *at <= minutes => Some(*by),
            _ => None,
        };
        let next = (time.div_euclid(step) + 1) * step + BEHIND;
        let to = match jump {
            Some(by) => {
                now.planned.pop_front();
                self.jumps += 1;
                self.disturbed.push(next);
                next + by * MINUTE
            }
            None => next,
        };
        self.end = self.end.max(to);
        self.world.set_time(to)
    }

    fn begin_faults(&mut self, now: &mut Now, reader: &Reader) -> Result<(), String> {
        let time = self.world.now();
        let minutes = (time - self.begin) / MINUTE;
        while let Some((_, fault)) = now.planned.front().copied().filter(|(at, _)| *at <= minutes) {
            match fault {
                Fault::Jump { .. } => return Ok(()),
                Fault::Kill { .. } if now.server.is_none() || now.kill.is_some() => return Ok(()),
                Fault::Kill { down, at } => {
                    now.kill = Some((at, down));
                    // Otherwise few kills would find calls in flight.
                    self.starter.ask_for_run(self.steps);
                }
                Fault::Provider { mood, steps } => {
                    self.models.mood.set(mood);
                    now.provider = steps;
                    self.outages += 1;
                    // Without new data nothing would be called.
                    self.starter.ask_for_run(self.steps);
                }
                Fault::Receiver { mood, steps } => {
                    self.receiver.mood.set(mood);
                    now.receiver = steps;
                }
                Fault::DiskFull { steps } => {
                    if let Some(disk) = self.world.disk() {
                        reader.is_full.store(true, Ordering::SeqCst);
                        disk.fill()?;
                        now.full = steps;
                    }
                }
            }
            self.disturbed.push(time);
            now.planned.pop_front();
        }
        Ok(())
    }

    fn end_faults(&mut self, now: &mut Now, reader: &Reader) -> Result<(), String> {
        // A busy machine sends the first alert later: the receiver fails until it was asked.
        if now.receiver == 1 && self.receiver.count_refused() == 0 {
            now.receiver += 1;
        }
        for (left, mood) in [(&mut now.provider, &self.models.mood), (&mut now.receiver, &self.receiver.mood)] {
            *left = left.saturating_sub(1);
            if *left == 0 {
                mood.set(Mood::Works);
            }
        }
        if now.full > 0 {
            self.full_steps += 1;
            now.full -= 1;
            if let (0, Some(disk)) = (now.full, self.world.disk()) {
                disk.free()?;
                reader.is_full.store(false, Ordering::SeqCst);
            }
        }
        Ok(())
    }

    /// Replaces the data of `support`, if none of its runs is under way or about to begin: a run that goes on with other
    /// data than it was planned for is refused.
    fn change_data(&mut self) -> Result<(), String> {
        let history = self.history("support")?;
        let is_over = history.iter().all(|it| it["state"] != "fired");
        let last = history.iter().filter_map(|it| parse_time(it["due"].as_str()?)).max();
        let owed = SCHEDULES.iter().find(|it| it.suite == "support");
        if !is_over || last < owed.and_then(|it| self.due_times(it.is_due, self.end).pop()) {
            return Ok(());
        }
        let version = self.versions.len();
        self.world.write("support/data.jsonl", &suites::support_data(version))?;
        self.versions.push((self.world.now(), version));
        Ok(())
    }

    fn use_service(&mut self) {
        let time = self.world.now();
        // The suite of traces is due at half past: what it reads stays as it is until its run is over.
        let minute = time.div_euclid(MINUTE).rem_euclid(60);
        if !(20..50).contains(&minute) {
            self.application.report(time);
            self.application.send();
        }
        if self.steps.is_multiple_of(ASKED_STEPS) {
            self.starter.ask_for_run(self.steps);
        }
        self.starter.send();
    }

    fn kill(&mut self, now: &mut Now, down: usize) {
        let Some(server) = now.server.take() else { return };
        // A call that arrives from now on is one of the next server.
        server.kill();
        self.models.note_kill();
        self.kills += 1;
        self.disturbed.push(self.world.now());
        now.down = down + 1;
    }

    /// Due times of a suite that are claimed and not over.
    fn open_due_times(&self, suite: &str) -> Result<usize, String> {
        Ok(self.history(suite)?.iter().filter(|it| it["state"] == "fired").count())
    }

    /// The stored due times of a suite.
    pub fn history(&self, suite: &str) -> Result<Vec<Value>, String> {
        let file = format!("{suite}/karat.yaml");
        self.world.json(&["schedule", "history", &file, "-n", "100000", "--json"])
    }

    /// Ends the faults, waits until everything is over, and ends the server.
    fn settle(&mut self, now: &mut Now, reader: Reader) -> Result<(), String> {
        (now.provider, now.receiver, now.full) = (1, 1, now.full.min(1));
        self.end_faults(now, &reader)?;
        if now.server.is_none() {
            now.server = Some(Server::start(&self.world, &now.address)?);
            self.starts += 1;
        }
        let caller = self.starter_caller();
        self.wait_for("all due times to be seen", now, |day| {
            let answer = caller.ask("GET /schedules", "", "").map_err(error_of("asking"))?;
            let listed: Value = serde_json::from_str(&answer.body).map_err(error_of("reading the schedules"))?;
            Ok(listed["items"].as_array().is_some_and(|items| items.iter().all(|it| day.is_seen(it))))
        })?;
        for it in &SCHEDULES {
            let line = format!("POST /schedules/{}/{}/pause", it.suite, it.schedule);
            let paused = caller.ask(&line, "Content-Type: application/json\r\n", "{}").map_err(error_of(&line))?;
            if paused.status != 200 {
                return Err(format!("{line}: {} {}", paused.status, paused.body));
            }
        }
        let open = |day: &Self| {
            let suites = ["support", "idle", "live", "night"];
            suites.iter().try_fold(0, |sum, suite| Ok::<_, String>(sum + day.open_due_times(suite)?))
        };
        self.recovered = open(self)?;
        let mut looks = 0;
        self.wait_for("all runs to be over", now, |day| {
            looks += 1;
            // Runs that were left are taken up each minute.
            if looks % 10 == 0 {
                day.world.set_time(day.world.now() + 2 * MINUTE)?;
            }
            day.application.send();
            day.starter.send();
            let mut is_over = open(day)? == 0;
            for status in ["queued", "running"] {
                let answer =
                    caller.ask(&format!("GET /eval/runs?status={status}"), "", "").map_err(error_of("asking"))?;
                is_over &= answer.body.starts_with("{\"items\":[]");
            }
            Ok(is_over)
        })?;
        self.wait_for("the failing receiver to be asked", now, |day| Ok(day.receiver.count_refused() > 0))?;
        self.receiver.mood.set(Mood::Works);
        let mut looks = 0;
        self.wait_for("all messages to be sent", now, |day| {
            looks += 1;
            if looks % 10 == 0 {
                day.world.set_time(day.world.now() + 180 * MINUTE)?;
            }
            let messages = day.world.json(&["alert", "ls", "--outbox", "--json"])?;
            Ok(messages.iter().all(|it| it["state"] != "pending"))
        })?;
        for run in &self.starter.runs {
            let answer = caller.ask(&format!("GET /eval/runs/{}", run.id), "", "").map_err(error_of("asking"))?;
            if answer.body.contains("\"status\":\"failed\"") && !answer.body.contains("\"problem\":null") {
                self.told_failed.push(run.id.clone());
            }
        }
        if let Some(server) = &now.server {
            let look = self.look(server, now.age);
            self.looks.push(look);
        }
        self.pages = reader.end();
        self.exit = now.server.take().and_then(Server::end);
        Ok(())
    }

    /// Returns whether the last due time of a schedule is stored.
    fn is_seen(&self, line: &Value) -> bool {
        let schedule = SCHEDULES.iter().find(|it| line["suite"] == it.suite && line["schedule"] == it.schedule);
        let last = schedule.and_then(|it| self.due_times(it.is_due, self.end).pop());
        let stored = line["last"]["due"].as_str().and_then(parse_time);
        last.is_none() || stored >= last
    }

    fn wait_for(
        &mut self,
        what: &str,
        now: &mut Now,
        mut is_there: impl FnMut(&mut Self) -> Result<bool, String>,
    ) -> Result<(), String> {
        for _ in 0..LAST_LOOKS {
            if is_there(self)? {
                return Ok(());
            }
            if let Some(status) = now.server.as_mut().and_then(Server::has_ended) {
                return Err(format!("waiting for {what}: the server ended with {status}"));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        let log = std::fs::read_to_string(self.world.log()).unwrap_or_default();
        let tail: Vec<&str> = log.lines().filter(|line| !line.contains("\"request\"")).collect();
        let tail = tail[tail.len().saturating_sub(20)..].join("\n");
        Err(format!("waiting for {what}: it does not come. The last lines of the server:\n{tail}"))
    }
}

/// Reads a time such as `2027-03-28T01:00:00Z` as milliseconds.
pub(crate) fn parse_time(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}
