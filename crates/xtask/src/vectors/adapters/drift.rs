//! Adapters of the drift detectors.

use karat_stats::drift::{
    Cusum, DayCheck, DayScore, DriftAlert, DriftReport, DriftRule, DriftStatus, History, Side, cusum, e_detector,
    median_mad,
};
use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::vectors::Adapter;
use crate::vectors::input::{array, field, integer, json, message, number, observations, observed_values, text};

/// Adapters by the stem of the vector file.
pub const ADAPTERS: &[(&str, Adapter)] =
    &[("drift_median_mad", daily), ("cusum", cusum_chart), ("e_detector", betting)];

fn daily(input: &Value) -> Result<Value, String> {
    // The latest run of a day counts; of equal times the later row.
    let mut latest = BTreeMap::new();
    for run in array(input, "runs")? {
        let (day, time, score) = (day_number(text(run, "date")?)?, text(run, "ran_at")?, number(run, "composite")?);
        if latest.get(&day).is_none_or(|(known, _)| *known <= time) {
            latest.insert(day, (time, score));
        }
    }
    let scores: Vec<DayScore> = latest.into_iter().map(|(day, (_, score))| DayScore { day, score }).collect();
    let as_of = day_number(text(input, "as_of")?)?;
    let days = |name: &str| {
        let days = i32::try_from(integer(input, name)?);
        days.map_err(|e| format!("reading the input: {name}: {e}"))
    };
    let rule = DriftRule {
        short_window: days("short_window")?,
        long_window: days("long_window")?,
        z_threshold: number(input, "z_thresh")?,
        streak: integer(input, "streak")?,
        ..DriftRule::default()
    };
    let report = median_mad(&scores, as_of, &rule).map_err(message)?;
    let last_window = DriftRule { history: History::LastWindow, ..rule };
    let cut = median_mad(&scores, as_of, &last_window).map_err(message)?;
    let verdict = |report: &DriftReport| (status(report), report.alerts());
    Ok(json!({
        "status": status(&report),
        "alerts": alerts(&report),
        "days": report.days.iter().map(checked_day).collect::<Vec<_>>(),
        "seed_tool": { "status": status(&cut), "alerts": alerts(&cut) },
        "differs_from_seed_tool": verdict(&report) != verdict(&cut),
    }))
}

fn status(report: &DriftReport) -> &'static str {
    match report.status {
        DriftStatus::NoData => "no_data",
        DriftStatus::Ok => "ok",
        DriftStatus::Alert => "alert",
    }
}

fn alerts(report: &DriftReport) -> Vec<Value> {
    let alert = |alert: DriftAlert| {
        json!({
            "day": date(alert.day),
            "short_median": alert.short_median,
            "long_median": alert.long_median,
            "z": alert.z,
        })
    };
    report.alerts().into_iter().map(alert).collect()
}

fn checked_day(day: &DayCheck) -> Value {
    json!({
        "day": date(day.day),
        "n_short": day.n_short,
        "n_long": day.n_long,
        "skipped": day.figures.is_none(),
        "short_median": json(day.figures.map(|f| f.short_median)),
        "long_median": json(day.figures.map(|f| f.long_median)),
        "mad": json(day.figures.map(|f| f.mad)),
        "z": json(day.figures.map(|f| f.z)),
        "bad": day.bad,
    })
}

/// Days since 1970-01-01 of a date like 2025-03-19 (Hinnant's `days_from_civil`).
fn day_number(date: &str) -> Result<i32, String> {
    let parts: Vec<i32> = date.splitn(3, '-').filter_map(|part| part.parse().ok()).collect();
    let &[year, month, day] = parts.as_slice() else {
        return Err(format!("reading the input: {date} should be a date like 2025-03-19"));
    };
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Ok(era * 146_097 + day_of_era - 719_468)
}

/// The date of a day number (Hinnant's `civil_from_days`).
fn date(day: i32) -> String {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i32::from(month <= 2);
    format!("{year:04}-{month:02}-{day_of_month:02}")
}

fn flag(input: &Value, name: &str) -> Result<bool, String> {
    let flag = field(input, name)?.as_bool();
    flag.ok_or_else(|| format!("reading the input: field {name} should be true or false"))
}

fn cusum_chart(input: &Value) -> Result<Value, String> {
    let chart = Cusum {
        target: number(input, "target")?,
        sigma: number(input, "sigma")?,
        slack: number(input, "k")?,
        limit: number(input, "h")?,
        reset_on_alarm: flag(input, "reset_on_alarm")?,
    };
    let result = cusum(&observations(input, "values")?, &chart).map_err(message)?;
    let alarms = result.alarms.iter().map(|alarm| {
        let side = match alarm.side {
            Side::Down => "down",
            Side::Up => "up",
        };
        json!({ "index": alarm.index, "side": side })
    });
    Ok(json!({
        "cusum_down": result.down,
        "cusum_up": result.up,
        "alarms": alarms.collect::<Vec<_>>(),
    }))
}

fn betting(input: &Value) -> Result<Value, String> {
    let result = e_detector(
        &observed_values(input, "values")?,
        number(input, "mean_lower_bound")?,
        &observed_values(input, "lambdas")?,
        number(input, "alpha")?,
    )
    .map_err(message)?;
    Ok(json!({
        "shiryaev_roberts": result.shiryaev_roberts,
        "cusum": result.cusum,
        "sr_alarm_index": result.shiryaev_roberts_alarm,
        "cusum_alarm_index": result.cusum_alarm,
    }))
}
