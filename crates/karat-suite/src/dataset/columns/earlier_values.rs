//! Earlier values of a column: what a row is seen against. Values of all rows count, also of those that are not planned.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use karat_text::path::Path;
use serde_json::Value;

use crate::dataset::date;

/// The distance to look back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Window {
    /// The calendar days before the row's own; at least 1.
    Days(i64),
    /// The rows before it, in the order of the source.
    Rows(usize),
}

/// Values of one column by day and by position.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    days: BTreeMap<Date, Vec<Value>>,
    rows: BTreeMap<u64, Value>,
}

/// A column of earlier values.
#[derive(Debug, Clone)]
pub(crate) struct EarlierValues {
    pub column: Path,
    pub window: Window,
    pub date: Option<Path>,
    pub zone: TimeZone,
    pub history: Arc<History>,
}

impl EarlierValues {
    /// Remembers a row.
    pub fn add_row(&self, history: &mut History, ordinal: u64, row: &Value) {
        let Some(value) = self.column.first(row).filter(|value| !value.is_null()) else { return };
        match self.window {
            Window::Rows(_) => drop(history.rows.insert(ordinal, value.clone())),
            Window::Days(_) => {
                if let Some(day) = self.day(row) {
                    history.days.entry(day).or_default().push(value.clone());
                }
            }
        }
    }

    /// The earlier values of a row, the oldest first; lists are joined. `None` when the row has no date to look back
    /// from.
    pub fn value(&self, ordinal: u64, row: &Value) -> Option<Value> {
        let values: Vec<&Value> = match self.window {
            Window::Rows(rows) => {
                let from = ordinal.saturating_sub(rows as u64);
                self.history.rows.range(from..ordinal).map(|(_, value)| value).collect()
            }
            Window::Days(days) => {
                let day = self.day(row)?;
                let from = date::before(day, days);
                self.history.days.range(from..day).flat_map(|(_, values)| values).collect()
            }
        };
        let flat = values.into_iter().flat_map(|value| match value {
            Value::Array(items) => items.clone(),
            other => vec![other.clone()],
        });
        Some(Value::Array(flat.collect()))
    }

    fn day(&self, row: &Value) -> Option<Date> {
        date::day(self.date.as_ref()?.first(row)?, &self.zone)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prior(window: Window) -> EarlierValues {
        let date = Some(Path::parse("date").unwrap());
        let column = Path::parse("headlines").unwrap();
        let mut prior = EarlierValues { column, window, date, zone: TimeZone::UTC, history: Arc::default() };
        let mut history = History::default();
        for (at, day) in ["2026-03-01", "2026-03-02", "2026-03-09", "2026-03-05"].iter().enumerate() {
            prior.add_row(&mut history, at as u64, &json!({"date": day, "headlines": [format!("- {day}")]}));
        }
        prior.history = Arc::new(history);
        prior
    }

    /// BR-02: the seven calendar days before, the day itself excluded, missing days skipped, whatever the files' order.
    #[test]
    fn a_row_sees_the_days_before_it() {
        let row = json!({"date": "2026-03-09"});
        let seen = prior(Window::Days(7)).value(2, &row);
        assert_eq!(seen, Some(json!(["- 2026-03-02", "- 2026-03-05"])));
        assert_eq!(prior(Window::Days(7)).value(0, &json!({"date": "2026-03-01"})), Some(json!([])));
        assert_eq!(prior(Window::Days(7)).value(0, &json!({})), None);
        let all = prior(Window::Days(i64::MAX)).value(2, &row).unwrap();
        assert_eq!(all.as_array().unwrap().len(), 3, "a window is no longer than the calendar");
    }

    #[test]
    fn a_row_sees_the_rows_before_it() {
        assert_eq!(prior(Window::Rows(2)).value(3, &json!({})), Some(json!(["- 2026-03-02", "- 2026-03-09"])));
        assert_eq!(prior(Window::Rows(2)).value(0, &json!({})), Some(json!([])));
    }
}
