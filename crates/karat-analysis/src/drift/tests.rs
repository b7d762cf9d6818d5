use std::collections::BTreeSet;

use super::*;

fn watched() -> Watched {
    Watched { range: Some((1.0, 5.0)), better: Better::Higher }
}

/// `n` days from 2026-03-01 on, with values by number.
fn days(n: i32, value: impl Fn(i32) -> f64) -> Vec<Day> {
    let first = day_number("2026-03-01").unwrap();
    (0..n).map(|day| Day::new(date_of(first + day), value(day))).collect()
}

/// 45 days near 4.2, with a week of decline from 2026-04-02 on (day 32).
fn declining() -> Vec<Day> {
    days(45, |day| if (32..39).contains(&day) { 1.5 } else { 4.2 + 0.05 * f64::from(day % 3) })
}

/// 45 such days with one card that went wrong.
fn days_with_one_bad() -> Vec<Day> {
    days(45, |day| if day == 20 { 3.0 } else { 4.2 + 0.05 * f64::from(day % 3) })
}

fn median_mad() -> DriftOptions {
    DriftOptions::of("quality.composite")
}

fn status(days: &[Day], as_of: &str, options: &DriftOptions) -> DriftStatus {
    drift(days, as_of, options, watched()).unwrap().status
}

/// BR-13: a flat history is quiet on every day; the form is the contract's.
#[test]
fn a_flat_history_is_quiet() {
    let flat = days(45, |_| 4.2);
    for method in Method::ALL {
        let options = DriftOptions { method, ..median_mad() };
        let quiet = (1..45).all(|day| {
            let as_of = date_of(day_number("2026-03-01").unwrap() + day);
            status(&flat, &as_of, &options) == DriftStatus::Ok
        });
        assert!(quiet, "{method:?}");
    }
    let found = serde_json::to_value(drift(&flat, "2026-04-14", &median_mad(), watched()).unwrap()).unwrap();
    assert_eq!(found["status"], "ok");
    let form = ["as_of", "status", "short_window", "long_window", "z_thresh", "streak_required", "alerts"];
    assert!(form.iter().all(|key| !found[*key].is_null()), "{found}");
    assert_eq!((&found["short_window"], &found["long_window"]), (&serde_json::json!(7), &serde_json::json!(30)));
}

/// BR-13: the alert comes on the second day whose short median is low, newest day first, with two decimals.
#[test]
fn a_planted_week_alerts_on_the_right_day() {
    let days = declining();
    assert_eq!(status(&days, "2026-04-05", &median_mad()), DriftStatus::Ok);
    let found = drift(&days, "2026-04-06", &median_mad(), watched()).unwrap();
    assert_eq!(found.status, DriftStatus::Alert);
    let alerts: Vec<&str> = found.alerts.iter().map(|alert| alert.day.as_str()).collect();
    assert_eq!(alerts, ["2026-04-06", "2026-04-05"]);
    assert_eq!((found.alerts[0].short_median, found.alerts[0].n_short, found.alerts[0].n_long), (1.5, 7, 30));
    assert!(found.alerts[0].z < -1.5);
}

/// BR-13: every detector finds the same week while it lasts, with its defaults and in the same form; none takes one bad
/// day for a slide.
#[test]
fn every_method_finds_the_planted_week() {
    let days = declining();
    let one_bad_day = days_with_one_bad();
    for (method, day) in [
        (Method::MedianMad, "2026-04-06"),
        (Method::Cusum, "2026-04-02"),
        (Method::Ewma, "2026-04-02"),
        (Method::PageHinkley, "2026-04-02"),
        (Method::EDetector, "2026-04-06"),
    ] {
        let options = median_mad().by(method);
        let first = (1..=14).map(|day| format!("2026-04-{day:02}"));
        let mut first = first.filter(|day| status(&days, day, &options) == DriftStatus::Alert);
        assert_eq!(first.next().as_deref(), Some(day), "{method:?}");
        let found = drift(&days, "2026-04-08", &options, watched()).unwrap();
        assert_eq!(found.status, DriftStatus::Alert, "{method:?}");
        assert!(found.alerts.iter().all(|alert| alert.z < 0.0), "{method:?}");
        assert!(found.incident.is_some_and(|incident| incident.is_open()), "{method:?}");
        if method != Method::Ewma && method != Method::Cusum {
            let quiet = drift(&one_bad_day, "2026-04-14", &options, watched()).unwrap();
            assert_eq!((quiet.status, quiet.incident), (DriftStatus::Ok, None), "{method:?}");
        }
    }
}

/// What the suite says of one method is nothing to another.
#[test]
fn a_method_keeps_its_own_options() {
    let options = DriftOptions { streak: Some(3), h: Some(9.0), short: 5, ..median_mad() };
    let other = options.clone().by(Method::Cusum);
    assert_eq!((other.streak(), other.h, other.short), (1, None, 5));
    assert_eq!(options.clone().by(Method::MedianMad), options);
}

/// BR-13: `no_data` only when the long window is empty; too few scores are `ok` with the days that were skipped.
#[test]
fn too_few_scores_are_said() {
    let few = days(4, |_| 4.0);
    let found = drift(&few, "2026-03-04", &median_mad(), watched()).unwrap();
    assert_eq!((found.status, found.skipped.len()), (DriftStatus::Ok, 2));
    assert!(found.skipped[0].reason.contains("4 in 30"), "{:?}", found.skipped);
    assert_eq!(status(&few, "2026-04-03", &median_mad()), DriftStatus::NoData);
    assert_eq!(status(&few, "2026-04-02", &median_mad()), DriftStatus::Ok);
    assert!(drift(&few, "2026-02-30", &median_mad(), watched()).is_err());
}

/// BR-13: an incident stays open after the rule has cleared itself, until the series is back in its band.
#[test]
fn an_incident_outlives_its_alert() {
    let lasting = days(75, |day| if day >= 32 { 3.0 } else { 4.2 + 0.05 * f64::from(day % 3) });
    let late = "2026-05-10";
    assert_eq!(status(&lasting, late, &median_mad()), DriftStatus::Ok, "the rule clears itself");
    let incident = drift(&lasting, late, &median_mad(), watched()).unwrap().incident.unwrap();
    assert!(incident.is_open(), "{incident:?}");
    assert_eq!(incident.opened, "2026-04-06");
    let back = drift(&declining(), "2026-04-14", &median_mad(), watched()).unwrap().incident.unwrap();
    assert_eq!(back.closed.as_deref(), Some("2026-04-12"));
}

/// BR-13: a chart finds a drop before the short median feels it; the incident does not end by that, and is one.
#[test]
fn an_incident_of_a_chart_lasts_as_long_as_its_drop() {
    let options = median_mad().by(Method::Cusum);
    let lasting = days(60, |day| if day >= 32 { 3.0 } else { 4.2 + 0.05 * f64::from(day % 3) });
    for day in 2..30 {
        let as_of = date_of(day_number("2026-04-01").unwrap() + day);
        let incident = drift(&lasting, &as_of, &options, watched()).unwrap().incident.unwrap();
        assert_eq!((incident.opened.as_str(), incident.closed), ("2026-04-02", None), "{as_of}");
    }
    let found = drift(&declining(), "2026-04-14", &options, watched()).unwrap().incident.unwrap();
    assert_eq!((found.opened.as_str(), found.closed.as_deref()), ("2026-04-02", Some("2026-04-12")));
    let kept = Incident { closed: None, ..found.clone() };
    assert_eq!(standing(&declining(), "2026-04-14", &options, watched(), &kept), Ok(found));
}

/// BR-13, BR-17: a window that mixes judges or prompt versions works and says so.
#[test]
fn mixed_judges_are_named() {
    let mut days = declining();
    days[40].judges = BTreeSet::from(["stub-v1".to_owned()]);
    days[41].judges = BTreeSet::from(["other".to_owned()]);
    let found = drift(&days, "2026-04-14", &median_mad(), watched()).unwrap();
    assert_eq!(found.judges, ["other", "stub-v1"]);
    assert!(found.warnings[0].contains("other, stub-v1"), "{:?}", found.warnings);
}

/// Of a metric that is better when lower, a rise is worse; `both` looks both ways.
#[test]
fn the_direction_is_the_metrics() {
    let rising = days(45, |day| if day >= 32 { 4.9 } else { 2.0 + 0.05 * f64::from(day % 3) });
    let latency = Watched { better: Better::Lower, ..watched() };
    let found = drift(&rising, "2026-04-14", &median_mad(), latency).unwrap();
    assert_eq!(found.status, DriftStatus::Alert);
    assert!(found.alerts[0].z > 1.5 && found.alerts[0].short_median > found.alerts[0].long_median);
    assert_eq!(status(&rising, "2026-04-14", &median_mad()), DriftStatus::Ok);
    let both = DriftOptions { worse: Some(Worse::Both), ..median_mad() };
    assert_eq!(status(&rising, "2026-04-14", &both), DriftStatus::Alert);
    assert_eq!(status(&declining(), "2026-04-08", &both), DriftStatus::Alert);
}

#[test]
fn senseless_options_are_refused() {
    for options in [
        DriftOptions { short: 31, ..median_mad() },
        DriftOptions { streak: Some(0), ..median_mad() },
        DriftOptions { z: f64::NAN, ..median_mad() },
        DriftOptions { floor: Some(0.0), ..median_mad() },
        DriftOptions { lambda: Some(1.5), ..median_mad() },
    ] {
        assert!(drift(&declining(), "2026-04-14", &options, watched()).is_err(), "{options:?}");
    }
    let unbounded = Watched { range: None, ..watched() };
    let options = DriftOptions { method: Method::EDetector, ..median_mad() };
    assert!(drift(&declining(), "2026-04-14", &options, unbounded).unwrap_err().contains("no range"));
}

/// BY-11: planted shifts are found, sooner the larger they are, and a quiet series raises few alarms.
#[test]
fn planted_shifts_have_a_delay() {
    let quiet = days(40, |day| 4.2 + 0.02 * f64::from(day % 4));
    let large = replay(&quiet, &median_mad(), watched(), -1.0, 40, 7).unwrap();
    assert_eq!((large.found, large.median_delay_days), (1.0, Some(5.0)));
    assert!(large.false_alarm_share_per_year <= 0.1, "{large:?}");
    let small = replay(&quiet, &median_mad(), watched(), -0.02, 40, 7).unwrap();
    assert!(small.found < large.found, "{small:?}");
    let cusum = DriftOptions { method: Method::Cusum, ..median_mad() };
    let cusum = replay(&quiet, &cusum, watched(), -1.0, 40, 7).unwrap();
    assert!(cusum.median_delay_days <= large.median_delay_days, "{cusum:?}");
    assert_eq!(replay(&quiet, &median_mad(), watched(), -1.0, 40, 7), Some(large));
    assert_eq!(replay(&quiet[..1], &median_mad(), watched(), -1.0, 40, 7), None);
}
