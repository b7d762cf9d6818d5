//! Threads that follow schedules and send alerts. What is due, and that it runs once, is decided by the app; due runs wait
//! for a place beside those of the queue.

use std::io;
use std::thread::JoinHandle;
use std::time::Duration;

use karat_app::{AppError, Delivered, FollowedSuites, Scheduler, Stop};

use crate::runs::dispatcher::ServerWork;
use crate::telemetry::log::ServerLog;

/// Time between two looks at the schedules, and between two at the outbox.
const TICK: Duration = Duration::from_secs(1);

/// Time between two looks at the signal to stop.
const NAP: Duration = Duration::from_millis(100);

/// The threads that follow schedules.
pub(crate) struct Background {
    threads: Vec<JoinHandle<()>>,
}

impl Background {
    /// Follows schedules and sends messages until the server stops.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(work: &ServerWork, suites: FollowedSuites) -> io::Result<Self> {
        let (following, sending) = (work.clone(), work.clone());
        let schedules = std::thread::Builder::new().name("schedules".to_owned());
        let schedules = schedules.spawn(move || follow(&following, suites))?;
        let outbox = std::thread::Builder::new().name("outbox".to_owned()).spawn(move || send(&sending))?;
        Ok(Self { threads: vec![schedules, outbox] })
    }

    /// Waits until the threads have ended.
    pub fn join(self) {
        for thread in self.threads {
            // A panic was reported where it happened.
            let _ = thread.join();
        }
    }
}

fn follow(work: &ServerWork, suites: FollowedSuites) {
    let ServerWork { app, runs, due, wake, stop, telemetry } = work;
    let mut scheduler = Scheduler::new(app.clone(), suites);
    let mut trouble = Trouble::new("following schedules");
    while !stop.is_set() {
        match scheduler.tick() {
            Ok(found) => {
                trouble.end(&telemetry.log);
                found.notes.iter().for_each(|note| telemetry.log.note(note));
                for reason in found.skipped {
                    telemetry.metrics.add("schedule_skipped_total", &[("reason", reason)], 1.0);
                }
                for run in found.runs {
                    if !runs.is_running(&run.run) && due.push(run) {
                        wake.wake();
                    }
                }
            }
            Err(error) => trouble.tell(&telemetry.log, &error),
        }
        pause(stop);
    }
}

fn send(work: &ServerWork) {
    let ServerWork { app, stop, telemetry, .. } = work;
    let mut delivery = app.service().delivery();
    let mut trouble = Trouble::new("sending alerts");
    let mut tell = |delivered: Result<Delivered, AppError>| match delivered {
        Ok(delivered) => {
            trouble.end(&telemetry.log);
            delivered.failures.iter().for_each(|failure| telemetry.log.note(failure));
            for (channel, outcome) in delivered.attempts {
                let labels = [("channel", channel), ("outcome", outcome)];
                telemetry.metrics.add("alert_deliveries_total", &labels, 1.0);
            }
        }
        Err(error) => trouble.tell(&telemetry.log, &error),
    };
    while !stop.is_set() {
        tell(delivery.step());
        pause(stop);
    }
    tell(delivery.finish());
}

/// The trouble that keeps a thread from its work. It is said once, and so is its end, however often the work is tried.
struct Trouble {
    work: &'static str,
    said: String,
}

impl Trouble {
    fn new(work: &'static str) -> Self {
        Self { work, said: String::new() }
    }

    fn tell(&mut self, log: &ServerLog, error: &AppError) {
        let text = format!("{}: {error}", self.work);
        if text != self.said {
            log.note(&text);
            self.said = text;
        }
    }

    fn end(&mut self, log: &ServerLog) {
        if !std::mem::take(&mut self.said).is_empty() {
            log.note(&format!("{}: it works again", self.work));
        }
    }
}

fn pause(stop: &Stop) {
    let mut left = TICK;
    while !left.is_zero() && !stop.is_set() {
        std::thread::sleep(NAP);
        left = left.saturating_sub(NAP);
    }
}
