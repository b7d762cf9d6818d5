//! Files of rows.

use std::fs;

use jiff::Timestamp;
use karat_traces::folder::{AddedRows, RemovedRows, ShareRule, TraceFolder, TraceWriter, day_of_file, name_of_service};
use karat_traces::{Row, Share, row_of_line};
use serde_json::json;
use tempfile::TempDir;

const ALL: ShareRule = ShareRule { share: Share::ALL, per_day: None };

fn row(n: u32, day: &str) -> Row {
    let line = json!({ "input": format!("q{n}"), "output": "a", "time": format!("{day}T10:00:00Z"),
        "trace_id": format!("{n:032x}"), "span_id": "00000000000000aa", "metadata": { "user": format!("u{}", n % 2) } });
    row_of_line(&line.to_string(), Timestamp::UNIX_EPOCH).unwrap()
}

fn folder() -> (TempDir, TraceFolder, TraceWriter) {
    let dir = TempDir::new().unwrap();
    let folder = TraceFolder::new(dir.path().join("traces"));
    let writer = TraceWriter::start(folder.clone()).unwrap();
    (dir, folder, writer)
}

/// SV-20: rows lie in the file of their day; a row that is sent again replaces itself, also after a restart.
#[test]
fn rows_lie_in_the_file_of_their_day_and_replace_themselves() {
    let (_dir, folder, writer) = folder();
    let rows = vec![row(1, "2026-03-01"), row(2, "2026-03-02"), row(1, "2026-03-01")];
    assert_eq!(writer.add("faq", ALL, rows).unwrap(), AddedRows { new: 2, replaced: 1, sampled_out: 0 });
    drop(writer);
    let writer = TraceWriter::start(folder.clone()).unwrap();
    let again = writer.add("faq", ALL, vec![row(2, "2026-03-02")]).unwrap();
    assert_eq!(again, AddedRows { new: 0, replaced: 1, sampled_out: 0 });
    let days: Vec<_> = folder.days("faq").unwrap().iter().map(|(day, _)| day.to_string()).collect();
    assert_eq!(days, ["2026-03-01", "2026-03-02"]);
    let dataset = &folder.datasets().unwrap()[0];
    assert_eq!((dataset.rows, dataset.days, dataset.last.as_str()), (2, 2, "2026-03-02"));
}

/// SV-20: a line that was not written to its end is cut off, so the next row begins a line of its own.
#[test]
fn half_a_line_is_cut_off() {
    let (_dir, folder, writer) = folder();
    writer.add("faq", ALL, vec![row(1, "2026-03-01")]).unwrap();
    drop(writer);
    let file = folder.path().join("faq/2026-03-01.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{whole}{{\"id\":\"half")).unwrap();
    assert_eq!(folder.datasets().unwrap()[0].rows, 1);
    let writer = TraceWriter::start(folder).unwrap();
    writer.add("faq", ALL, vec![row(2, "2026-03-01")]).unwrap();
    let lines = fs::read_to_string(&file).unwrap();
    assert!(lines.starts_with(&whole));
    assert_eq!(lines.lines().filter(|line| serde_json::from_str::<Row>(line).is_ok()).count(), 2);
}

/// SV-22: a share keeps its traces; a daily limit halves it, and every row says the share by which it was kept.
#[test]
fn a_daily_limit_halves_the_share() {
    let (_dir, folder, writer) = folder();
    let rule = ShareRule { share: Share::new(0.5).unwrap(), per_day: Some(100) };
    let mut total = AddedRows::default();
    for part in 0..10 {
        let rows = (part * 100..(part + 1) * 100).map(|n| row(n, "2026-03-01")).collect();
        let added = writer.add("faq", rule, rows).unwrap();
        total.new += added.new;
        total.sampled_out += added.sampled_out;
    }
    assert_eq!(total.new + total.sampled_out, 1000);
    let text = fs::read_to_string(folder.path().join("faq/2026-03-01.jsonl")).unwrap();
    let rows: Vec<Row> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let smallest = rows.iter().map(|row| row.p).fold(1.0, f64::min);
    assert!(smallest < 0.5, "{smallest}");
    let drawn = rows.iter().filter(|row| karat_traces::share_of(&row.trace_id) < smallest).count();
    // What the smallest share keeps is within the limit, and weighs as much as what was sent.
    assert!(drawn <= 100, "{drawn}");
    let estimate = drawn as f64 / smallest;
    assert!((600.0..1400.0).contains(&estimate), "{estimate}");
}

/// SV-20: rows are removed by day and by value while a writer holds the file, and what is added afterwards stays.
#[test]
fn rows_are_removed_while_others_are_added() {
    let (_dir, folder, writer) = folder();
    let rows = (1..=4).map(|n| row(n, "2026-03-01")).chain([row(9, "2026-02-01")]).collect();
    writer.add("faq", ALL, rows).unwrap();
    let of_user = RemovedRows { matching: vec![("metadata.user".into(), "u0".into())], ..RemovedRows::default() };
    assert_eq!(folder.remove(&of_user).unwrap(), 2);
    writer.add("faq", ALL, vec![row(5, "2026-03-01")]).unwrap();
    assert_eq!(folder.datasets().unwrap()[0].rows, 4);
    let old = RemovedRows { before: Some("2026-03-01".parse().unwrap()), ..RemovedRows::default() };
    assert_eq!(folder.remove(&old).unwrap(), 1);
    assert_eq!(folder.remove(&RemovedRows::default()).unwrap(), 3);
    assert_eq!(folder.datasets().unwrap(), []);
    writer.add("faq", ALL, vec![row(6, "2026-03-01")]).unwrap();
    assert_eq!(folder.datasets().unwrap()[0].rows, 1);
}

/// SV-20: requests of many threads are written together, and each is answered.
#[test]
fn requests_of_many_threads_are_each_answered() {
    let (_dir, folder, writer) = folder();
    let added: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16_u32)
            .map(|thread| {
                let writer = writer.clone();
                scope.spawn(move || {
                    let rows = (0..50).map(|n| row(thread * 50 + n, "2026-03-01")).collect();
                    writer.add("faq", ALL, rows).unwrap().new
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!((added, folder.datasets().unwrap()[0].rows), (800, 800));
}

/// SV-21: the name of a service becomes one of a folder, wherever it would lead to.
#[test]
fn names_of_services_become_names_of_folders() {
    assert_eq!(name_of_service("faq-bot"), "faq-bot");
    assert_eq!(name_of_service("../../etc/passwd"), "-..-etc-passwd");
    assert_eq!(name_of_service("unknown_service:python"), "unknown_service-python");
    assert_eq!(name_of_service(""), "default");
    assert_eq!(name_of_service("..."), "default");
    assert_eq!(day_of_file("2026-03-01.jsonl").unwrap().to_string(), "2026-03-01");
    assert_eq!(day_of_file("2026-03-01.new"), None);
}

/// X10: rows of many days are written with few open files, in the order of each day; a request of too many days is refused with
/// what to do, and writes nothing.
#[test]
fn rows_of_many_days_open_few_files() {
    let (_dir, folder, writer) = folder();
    let day = |n: u32| format!("{}-{:02}-{:02}", 2020 + n / 336, n / 28 % 12 + 1, n % 28 + 1);
    let rows: Vec<Row> = (0..400).chain([0]).map(|n| row(n, &day(n))).collect();
    let added = writer.add("faq", ALL, rows).unwrap();
    assert_eq!(added, AddedRows { new: 400, replaced: 1, sampled_out: 0 });
    assert_eq!(folder.days("faq").unwrap().len(), 400);
    #[cfg(target_os = "linux")]
    {
        let open = fs::read_dir("/proc/self/fd").unwrap().filter_map(|fd| fs::read_link(fd.unwrap().path()).ok());
        let open = open.filter(|path| path.starts_with(folder.path().join("faq"))).count();
        assert!(open <= 20, "{open}");
    }
    let refused = writer.add("late", ALL, (0..401).map(|n| row(n, &day(n))).collect()).unwrap_err();
    assert!(
        refused.to_string().contains("of 401 days") && refused.to_string().contains("several requests"),
        "{refused}"
    );
    assert!(!folder.path().join("late").exists());
}

/// X18: names of datasets come from outside, so their number is bounded; those that are there go on.
#[test]
fn datasets_are_bounded() {
    let (_dir, folder, writer) = folder();
    for n in 0..1_000 {
        fs::create_dir_all(folder.path().join(format!("d{n}"))).unwrap();
    }
    let refused = writer.add("another", ALL, vec![row(1, "2026-03-01")]).unwrap_err();
    assert!(refused.to_string().contains("1000 datasets"), "{refused}");
    assert_eq!(writer.add("d7", ALL, vec![row(1, "2026-03-01")]).unwrap().new, 1);
}
