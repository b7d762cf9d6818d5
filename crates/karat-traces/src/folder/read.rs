//! Rows that are read back: the newest of a day, and all calls of a trace.
//!
//! A day is read twice, with a few bytes a row in between, so that a page of a large day takes little memory.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::path::Path;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::day::id_hash;
use super::{TraceFolder, whole_lines};
use crate::row::Row;

/// Calls of a trace that are read.
const MAX_CALLS: usize = 200;

/// The rows that are wanted of a day.
#[derive(Debug, Clone, Default)]
pub struct WantedRows {
    /// The day; the last one that has rows, if absent.
    pub day: Option<Date>,
    /// A text that rows have anywhere, whatever its case.
    pub words: String,
    /// Rows that come before those that are read, newest first.
    pub start: usize,
    /// Rows at most.
    pub limit: usize,
}

/// Some rows of a day, newest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DayRows {
    /// The day.
    pub day: String,
    /// The day before it that has rows.
    pub before: Option<String>,
    /// The day after it that has rows.
    pub after: Option<String>,
    /// Rows of the day that match, each id once.
    pub total: usize,
    /// Position of the first one that is here.
    pub start: usize,
    /// The rows.
    pub rows: Vec<Row>,
    /// Lines of the day that are not rows.
    pub unreadable: usize,
}

/// All calls of a trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SentTrace {
    /// The id of the trace.
    pub trace_id: String,
    /// Its calls in the order of their beginning.
    pub rows: Vec<Row>,
    /// Calls that are left out, because there are very many.
    pub left_out: usize,
}

/// The outcome of a search for a trace.
#[derive(Debug, Clone, PartialEq)]
pub enum FoundTrace {
    /// One trace.
    One(SentTrace),
    /// Several traces begin like this.
    Several(Vec<String>),
    /// No trace.
    None,
}

/// The parts of a row by which rows are chosen.
#[derive(Deserialize)]
struct Head {
    id: String,
    trace_id: String,
    time: String,
}

impl TraceFolder {
    /// Reads rows of a dataset; `None` if it has no such day, or there is no such dataset.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn rows_of_day(&self, name: &str, wanted: &WantedRows) -> io::Result<Option<DayRows>> {
        let days = self.days(name)?;
        let at = match wanted.day {
            Some(day) => days.iter().position(|(known, _)| *known == day),
            None => days.len().checked_sub(1),
        };
        let Some((at, (day, file))) = at.and_then(|at| Some((at, days.get(at)?))) else { return Ok(None) };
        let words = wanted.words.to_lowercase();
        let (mut last, mut unreadable) = (HashMap::new(), 0);
        for (line_at, line) in whole_lines(file)?.enumerate() {
            let line = line?;
            match serde_json::from_str::<Head>(&line) {
                Ok(head) => {
                    let is_wanted = words.is_empty() || line.to_lowercase().contains(&words);
                    last.insert(id_hash(&line), (millisecond(&head.time), line_at, is_wanted));
                }
                Err(_) => unreadable += 1,
            }
        }
        let mut order: Vec<(i64, usize)> =
            last.into_values().filter(|(.., is_wanted)| *is_wanted).map(|(time, line, _)| (time, line)).collect();
        order.sort_unstable_by_key(|it| Reverse(*it));
        let places: HashMap<usize, usize> =
            order.iter().skip(wanted.start).take(wanted.limit).enumerate().map(|(at, (_, line))| (*line, at)).collect();
        let mut rows = Vec::with_capacity(places.len());
        for (line_at, line) in whole_lines(file)?.enumerate() {
            let Some(place) = places.get(&line_at) else { continue };
            match serde_json::from_str::<Row>(&line?) {
                Ok(row) => rows.push((*place, row)),
                Err(_) => unreadable += 1,
            }
        }
        rows.sort_by_key(|(place, _)| *place);
        let neighbour = |at: Option<usize>| at.and_then(|at| days.get(at)).map(|(day, _)| day.to_string());
        Ok(Some(DayRows {
            day: day.to_string(),
            before: neighbour(at.checked_sub(1)),
            after: neighbour(at.checked_add(1)),
            total: order.len(),
            start: wanted.start,
            rows: rows.into_iter().map(|(_, row)| row).collect(),
            unreadable,
        }))
    }

    /// Finds the trace whose id, or the id of one of whose rows, is or begins with a text. With `near`, only that day and its
    /// neighbours are read: a trace may go on over midnight.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn trace(&self, name: &str, id: &str, near: Option<Date>) -> io::Result<FoundTrace> {
        if id.is_empty() {
            return Ok(FoundTrace::None);
        }
        let is_near = |day: Date| near.is_none_or(|near| day == near || is_neighbour(day, near));
        let days: Vec<_> = self.days(name)?.into_iter().filter(|(day, _)| is_near(*day)).collect();
        let (mut traces, mut same) = (BTreeSet::new(), BTreeSet::new());
        for (_, file) in &days {
            each_head_with(file, id, |head, _| {
                if head.trace_id == id || head.id == id {
                    same.insert(head.trace_id);
                } else if head.trace_id.starts_with(id) || head.id.starts_with(id) {
                    traces.insert(head.trace_id);
                }
            })?;
        }
        let traces = if same.is_empty() { traces } else { same };
        let mut several = traces.into_iter();
        let trace_id = match (several.next(), several.next()) {
            (None, _) => return Ok(FoundTrace::None),
            (Some(only), None) => only,
            (Some(first), Some(second)) => {
                return Ok(FoundTrace::Several([first, second].into_iter().chain(several).collect()));
            }
        };
        let (mut rows, mut dropped) = (HashMap::new(), HashSet::new());
        for (_, file) in &days {
            each_head_with(file, &trace_id, |head, line| {
                if head.trace_id != trace_id {
                    return;
                }
                if rows.len() >= MAX_CALLS && !rows.contains_key(&head.id) {
                    dropped.insert(head.id);
                } else if let Ok(row) = serde_json::from_str::<Row>(line) {
                    rows.insert(head.id, row);
                }
            })?;
        }
        let mut rows: Vec<Row> = rows.into_values().collect();
        rows.sort_by(|a, b| millisecond(&a.time).cmp(&millisecond(&b.time)).then_with(|| a.id.cmp(&b.id)));
        Ok(FoundTrace::One(SentTrace { trace_id, rows, left_out: dropped.len() }))
    }
}

/// Calls `each` for the rows of a file that have a text anywhere. Most lines do not, and are not read as JSON.
fn each_head_with(file: &Path, text: &str, mut each: impl FnMut(Head, &str)) -> io::Result<()> {
    for line in whole_lines(file)? {
        let line = line?;
        if !line.contains(text) {
            continue;
        }
        if let Ok(head) = serde_json::from_str::<Head>(&line) {
            each(head, &line);
        }
    }
    Ok(())
}

fn is_neighbour(day: Date, near: Date) -> bool {
    near.tomorrow().is_ok_and(|next| next == day) || near.yesterday().is_ok_and(|last| last == day)
}

/// A time as milliseconds; one that cannot be read is the oldest.
fn millisecond(time: &str) -> i64 {
    time.parse::<jiff::Timestamp>().map_or(i64::MIN, jiff::Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder(days: &[(&str, &[&str])]) -> (tempfile::TempDir, TraceFolder) {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("faq")).unwrap();
        for (day, lines) in days {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            fs::write(place.path().join("faq").join(format!("{day}.jsonl")), text).unwrap();
        }
        let folder = TraceFolder::new(place.path().to_owned());
        (place, folder)
    }

    fn line(trace: &str, span: &str, time: &str, input: &str) -> String {
        format!(
            r#"{{"id":"{trace}/{span}","trace_id":"{trace}","span_id":"{span}","time":"{time}","input":"{input}","output":"b","p":1.0}}"#
        )
    }

    /// F73: rows come newest first and each id once, as it was sent last; words and pages choose among them, and lines that
    /// are not rows are counted.
    #[test]
    fn rows_of_a_day_are_read_newest_first() {
        let lines = [
            line("aa", "1", "2026-03-01T10:00:00.000Z", "first"),
            line("bb", "1", "2026-03-01T12:00:00.000Z", "Second"),
            "no row".to_owned(),
            line("aa", "1", "2026-03-01T10:00:00.000Z", "again"),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let old = line("cc", "1", "2026-02-27T10:00:00.000Z", "old");
        let (_place, folder) = folder(&[("2026-03-01", &lines), ("2026-02-27", &[&old])]);
        let read = |wanted: &WantedRows| folder.rows_of_day("faq", wanted).unwrap();
        let all = WantedRows { limit: 10, ..WantedRows::default() };
        let day = read(&all).unwrap();
        let inputs = |day: &DayRows| day.rows.iter().map(|row| row.input.clone()).collect::<Vec<_>>();
        assert_eq!(inputs(&day), ["Second", "again"]);
        assert_eq!((day.total, day.unreadable, day.day.as_str()), (2, 1, "2026-03-01"));
        assert_eq!((day.before.as_deref(), day.after), (Some("2026-02-27"), None));
        let second = read(&WantedRows { start: 1, limit: 1, ..WantedRows::default() }).unwrap();
        assert_eq!((inputs(&second), second.total, second.start), (vec!["again".into()], 2, 1));
        let words = read(&WantedRows { words: "second".into(), ..all.clone() }).unwrap();
        assert_eq!((inputs(&words), words.total), (vec!["Second".into()], 1));
        let old = read(&WantedRows { day: Some("2026-02-27".parse().unwrap()), ..all.clone() }).unwrap();
        assert_eq!((inputs(&old), old.after.as_deref()), (vec!["old".into()], Some("2026-03-01")));
        assert_eq!(read(&WantedRows { day: Some("2026-02-28".parse().unwrap()), ..all.clone() }), None);
        assert_eq!(folder.rows_of_day("none", &all).unwrap(), None);
    }

    /// F73: a trace is found by its id, that of a call, or the beginning of either; its calls come in order, over midnight too.
    #[test]
    fn a_trace_is_found_with_all_of_its_calls() {
        let late = line("abcd1", "2", "2026-03-02T00:00:01.000Z", "after midnight");
        let early = line("abcd1", "1", "2026-03-01T23:59:59.000Z", "before midnight");
        let other = line("abff2", "1", "2026-03-01T10:00:00.000Z", "abcd1 is only quoted");
        let (_place, folder) = folder(&[("2026-03-01", &[&early, &other]), ("2026-03-02", &[&late])]);
        let find = |id: &str| folder.trace("faq", id, None).unwrap();
        let FoundTrace::One(trace) = find("abcd") else { panic!("{:?}", find("abcd")) };
        let spans: Vec<&str> = trace.rows.iter().map(|row| row.span_id.as_str()).collect();
        assert_eq!((trace.trace_id.as_str(), spans, trace.left_out), ("abcd1", vec!["1", "2"], 0));
        for id in ["abcd1", "abcd1/2", "abcd1/1"] {
            assert_eq!(find(id), FoundTrace::One(trace.clone()), "{id}");
        }
        assert_eq!(find("ab"), FoundTrace::Several(vec!["abcd1".into(), "abff2".into()]));
        for id in ["", "zz", "abcd1/9", "quoted"] {
            assert_eq!(find(id), FoundTrace::None, "{id}");
        }
        let near = folder.trace("faq", "abcd1", Some("2026-03-03".parse().unwrap())).unwrap();
        assert!(matches!(&near, FoundTrace::One(trace) if trace.rows.len() == 1), "{near:?}");
    }
}
