//! Due times run once, whatever happens to processes and clocks.

use std::fs;

use karat_app::{App, DueState, FollowedSuites, Scheduler, Session};
use karat_types::Exit;

use super::world::{FIRST_DUE, World, execution};

/// SV-13: a due time names its run; it runs once, also in a second process and after the clock was set back.
#[test]
fn a_due_time_runs_once() {
    let world = World::accepting();
    world.write_days(-20..20, |_| 2);
    let first = world.night(&world.app());
    assert_eq!(first.end.unwrap().run, "support-nightly-20270301T0130Z");
    assert_eq!(first.exit, Exit::GateFailed);
    world.set_time("2027-03-01T01:29:00Z");
    let app = world.app();
    let due = app
        .service()
        .due_run(&world.suite(), "nightly", Some(karat_app::parse_time("--due", FIRST_DUE).unwrap()))
        .unwrap();
    assert_eq!(app.service().claim_due_run(&due).unwrap(), DueState::Ended);
    let again = app.service().run_due(&due, execution()).unwrap();
    assert_eq!((again.exit, again.end.unwrap().calls), (Exit::GateFailed, 0), "the result of the first");
    assert_eq!(again.alerted.messages, Vec::<String>::new(), "its alerts are stored once");
    assert_eq!(world.received(), [("alert.opened".to_owned(), "gate_failed".to_owned())]);
}

/// SV-13: a run that was killed after it was claimed, or before its alerts were stored, goes on.
#[test]
fn a_claimed_run_goes_on() {
    let world = World::accepting();
    world.write_days(-20..20, |_| 2);
    let app = world.app();
    let due = app.service().due_run(&world.suite(), "nightly", None).unwrap();
    assert_eq!(app.service().claim_due_run(&due).unwrap(), DueState::New);
    drop(app);
    let app = world.app();
    assert_eq!(app.service().claim_due_run(&due).unwrap(), DueState::Unfinished);
    let ended = app.service().run_due(&due, execution()).unwrap();
    assert_eq!((ended.exit, ended.alerted.messages.len()), (Exit::GateFailed, 1));
}

/// SV-15: a night without data cannot run, and is told all the same.
#[test]
fn a_night_without_data_is_told() {
    let world = World::accepting();
    world.write_days(-20..0, |_| 9);
    let app = world.app();
    let due = app.service().due_run(&world.suite(), "nightly", None).unwrap();
    assert_eq!(app.service().claim_due_run(&due).unwrap(), DueState::New);
    let ended = app.service().run_due(&due, execution()).unwrap();
    assert!(ended.failure.unwrap().to_string().contains("the dataset has no rows of 2027-02-28"));
    app.service().deliver_due().unwrap();
    assert_eq!(world.received(), [("alert.opened".to_owned(), "run_failed".to_owned())]);
}

/// SV-13: a time at which a schedule is not due is refused, with the next one.
#[test]
fn a_wrong_due_time_is_refused() {
    let world = World::accepting();
    let at = karat_app::parse_time("--due", "2027-03-01T01:31Z").unwrap();
    let error = world.app().service().due_run(&world.suite(), "nightly", Some(at)).unwrap_err();
    assert_eq!(error.to_string(), "the schedule `nightly` is not due at 2027-03-01T01:31:00Z");
    assert_eq!(error.hint().unwrap(), "the next time is 2027-03-02T01:30:00Z");
    let error = world.app().service().due_run(&world.suite(), "nigthly", None).unwrap_err();
    assert_eq!(error.hint().unwrap(), "schedules: nightly");
}

/// A scheduler as a process of its own has it.
fn scheduler(world: &World) -> Scheduler {
    let app = world.app();
    Scheduler::new(app.clone(), FollowedSuites::new(app, vec![world.suite()], false))
}

fn claimed(scheduler: &mut Scheduler) -> Vec<String> {
    scheduler.tick().unwrap().runs.into_iter().map(|due| due.run).collect()
}

/// SV-13: two schedulers and a clock that is set back give each due time to one of them, once.
#[test]
fn two_schedulers_claim_a_due_time_once() {
    let world = World::accepting();
    world.edit("30 2 * * *", "* * * * *");
    let follow = || scheduler(&world);
    let (mut one, mut two) = (follow(), follow());
    assert!(claimed(&mut one).is_empty() && claimed(&mut two).is_empty(), "what is due now was due before");
    let mut runs = Vec::new();
    let mut minutes: Vec<i64> = (1..=6).collect();
    minutes.extend([2, 3, 6, 7]);
    for minute in minutes {
        world.set_time(FIRST_DUE);
        world.advance(minute * 60_000);
        let app = world.app();
        for due in [one.tick().unwrap(), two.tick().unwrap()].into_iter().flat_map(|due| due.runs) {
            app.service().run_due(&due, execution()).unwrap();
            runs.push(due.run);
        }
    }
    let expected: Vec<String> = (31..=37).map(|minute| format!("support-nightly-20270301T01{minute}Z")).collect();
    assert_eq!(runs, expected);
}

/// SV-13: after three due times without a server, 0, 1 or 3 run by policy, each about its own day.
#[test]
fn missed_times_follow_the_policy() {
    for (policy, expected) in [("skip", vec![]), ("once", vec!["0304"]), ("all", vec!["0302", "0303", "0304"])] {
        let world = World::accepting();
        world.edit("report: [json]", &format!("missed: {policy}"));
        assert_eq!(claimed(&mut scheduler(&world)), Vec::<String>::new());
        world.set_time("2027-03-04T12:00:00Z");
        let runs = claimed(&mut scheduler(&world));
        let expected: Vec<String> = expected.iter().map(|day| format!("support-nightly-2027{day}T0130Z")).collect();
        assert_eq!(runs, expected, "{policy}");
        let history = world.app().service().schedule_history(&world.suite(), None, 9).unwrap();
        let skipped = history.iter().filter(|it| it.state == "skipped").count();
        assert_eq!(skipped, usize::from(policy != "all"), "{history:?}");
    }
}

/// SV-13: a due time at which the run before is not over is skipped and says so, or waits.
#[test]
fn a_due_time_does_not_overlap_a_run() {
    for policy in ["skip", "queue"] {
        let world = World::accepting();
        world.edit("30 2 * * *", "* * * * *");
        world.edit("report: [json]", &format!("overlap: {policy}"));
        let mut scheduler = scheduler(&world);
        assert!(claimed(&mut scheduler).is_empty());
        world.advance(60_000);
        let active = scheduler.tick().unwrap().runs.remove(0);
        world.advance(60_000);
        let due = scheduler.tick().unwrap();
        assert!(due.runs.is_empty());
        assert_eq!(due.notes.len(), usize::from(policy == "skip"), "{:?}", due.notes);
        world.app().service().run_due(&active, execution()).unwrap();
        world.advance(10_000);
        let next = claimed(&mut scheduler);
        let expected: &[&str] = if policy == "skip" { &[] } else { &["support-nightly-20270301T0132Z"] };
        assert_eq!(next, expected, "{policy}");
    }
}

/// Holds a run at its first event until the test lets it go on.
struct Held(std::sync::Mutex<std::sync::mpsc::Receiver<()>>);

impl karat_types::Observer for Held {
    fn on_event(&self, _: &karat_types::Event<'_>) {
        // The sender is gone once the test lets go.
        let _ = self.0.lock().map(|held| held.recv());
    }
}

/// SV-13: a run that takes longer than many due times is not overlapped by any of them.
#[test]
fn a_long_run_is_not_overlapped() {
    let world = World::accepting();
    world.edit("30 2 * * *", "* * * * *");
    let mut scheduler = scheduler(&world);
    assert!(claimed(&mut scheduler).is_empty());
    world.advance(60_000);
    let active = scheduler.tick().unwrap().runs.remove(0);
    let (release, held) = std::sync::mpsc::channel();
    let observer = std::sync::Arc::new(Held(std::sync::Mutex::new(held)));
    let app = world.app();
    std::thread::scope(|scope| {
        let long =
            scope.spawn(|| app.service().run_due(&active, karat_app::Execution { observer, ..execution() }).unwrap());
        while world.app().service().run_state(&active.run).map_or("", |state| state.status) != "running" {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        for minute in 2..10 {
            world.advance(60_000);
            let due = scheduler.tick().unwrap();
            assert_eq!((due.runs.len(), due.skipped.as_slice()), (0, &["overlap"][..]), "minute {minute}");
        }
        drop(release);
        assert_eq!(long.join().unwrap().exit, Exit::Pass);
    });
    world.advance(60_000);
    assert_eq!(claimed(&mut scheduler), ["support-nightly-20270301T0140Z"]);
}

/// SV-13: a due time that was claimed and that nothing executes, as after a failure of the disk, is taken up a minute and a
/// half later by the same server; one that was claimed a moment ago is left to its process.
#[test]
fn a_claimed_due_time_is_taken_up_again() {
    let world = World::accepting();
    world.edit("30 2 * * *", "*/10 * * * *");
    let mut scheduler = scheduler(&world);
    assert!(claimed(&mut scheduler).is_empty());
    world.set_time("2027-03-01T01:40:00Z");
    let run = "support-nightly-20270301T0140Z";
    assert_eq!(claimed(&mut scheduler), [run]);
    world.advance(70_000);
    assert!(claimed(&mut scheduler).is_empty(), "another process may be about to start it");
    world.advance(70_000);
    let due = scheduler.tick().unwrap().runs.remove(0);
    assert_eq!(due.run, run);
    world.app().service().run_due(&due, execution()).unwrap();
    world.advance(70_000);
    assert!(claimed(&mut scheduler).is_empty(), "it is over");
}

/// SV-13: an old run that is unfinished goes on at the next start, however many due times were skipped since.
#[test]
fn an_old_unfinished_run_goes_on() {
    let world = World::accepting();
    world.edit("30 2 * * *", "* * * * *");
    let mut first = scheduler(&world);
    assert!(claimed(&mut first).is_empty());
    world.advance(60_000);
    let run = claimed(&mut first).remove(0);
    let app = world.app();
    for _ in 0..35 {
        world.advance(60_000);
        for due in first.tick().unwrap().runs.iter().filter(|due| due.run != run) {
            app.service().run_due(due, execution()).unwrap();
        }
    }
    assert!(claimed(&mut scheduler(&world)).contains(&run));
}

/// SV-13: a paused schedule is not due, and what passed meanwhile is not made up for.
#[test]
fn a_paused_schedule_is_not_due() {
    let world = World::accepting();
    let mut scheduler = scheduler(&world);
    assert!(claimed(&mut scheduler).is_empty());
    world.app().service().pause_schedule(&world.suite(), "nightly", true).unwrap();
    world.set_time("2027-03-03T12:00:00Z");
    assert!(claimed(&mut scheduler).is_empty());
    world.app().service().pause_schedule(&world.suite(), "nightly", false).unwrap();
    assert!(claimed(&mut scheduler).is_empty());
    world.set_time("2027-03-04T01:30:00Z");
    assert_eq!(claimed(&mut scheduler), ["support-nightly-20270304T0130Z"]);
}

/// SV-12: an edit that breaks a suite keeps the last good version, and is reported once.
#[test]
fn a_broken_edit_keeps_the_last_good_version() {
    let world = World::accepting();
    let suites = FollowedSuites::new(world.app(), vec![world.suite()], false);
    let mut scheduler = Scheduler::new(world.app(), suites.clone());
    assert!(claimed(&mut scheduler).is_empty());
    let good = fs::read_to_string(world.suite()).unwrap();
    world.edit("30 2 * * *", "99 2 * * *");
    world.advance(61_000);
    assert_eq!(scheduler.tick().unwrap().notes.len(), 1);
    world.advance(61_000);
    assert_eq!(scheduler.tick().unwrap().notes.len(), 0);
    assert_eq!(suites.broken_suites().len(), 1);
    world.set_time("2027-03-02T01:30:00Z");
    assert_eq!(claimed(&mut scheduler), ["support-nightly-20270302T0130Z"]);
    fs::write(world.suite(), good).unwrap();
    world.advance(61_000);
    scheduler.tick().unwrap();
    assert!(suites.broken_suites().is_empty());
}

/// SV-12: the suites of a root are found; one without schedules and alerts is not loaded, so it breaks nothing.
#[test]
fn only_suites_with_schedules_are_followed() {
    let world = World::accepting();
    let root = world.folder.path();
    fs::create_dir(root.join("other")).unwrap();
    fs::write(root.join("other/karat.yaml"), "name: other\ndataset: { source: gone.jsonl }\n").unwrap();
    let app = App { opened: Session::below(root).unwrap(), ..world.app() };
    let suites = FollowedSuites::new(app.clone(), Vec::new(), false);
    let mut scheduler = Scheduler::new(app, suites.clone());
    let due = scheduler.tick().unwrap();
    assert_eq!((due.notes, suites.broken_suites()), (Vec::new(), Vec::new()));
    let lines = suites.schedules().unwrap();
    assert_eq!(lines.len(), 1);
    assert_eq!((lines[0].path.as_str(), lines[0].late_since.as_deref()), ("karat.yaml", None));
    world.set_time("2027-03-02T01:32:00Z");
    assert_eq!(
        suites.schedules().unwrap()[0].late_since.as_deref(),
        Some("2027-03-02T01:30:00Z"),
        "nothing follows it"
    );
    assert_eq!(claimed(&mut scheduler), ["support-nightly-20270302T0130Z"]);
    assert_eq!(suites.schedules().unwrap()[0].late_since, None);
    let unknown = suites.due_run("suport", "nightly", None).unwrap_err();
    assert_eq!(unknown.to_string(), "no suite `suport` with schedules is followed here");
}
