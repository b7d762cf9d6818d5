use std::collections::BTreeSet;

use karat_types::Better;

use super::*;

fn watched() -> WatchedMetric {
    WatchedMetric { range: Some((1.0, 5.0)), better: Better::Higher }
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

/// 45 such days with one bad card.
fn days_with_one_bad() -> Vec<Day> {
    days(45, |day| if day == 20 { 3.0 } else { 4.2 + 0.05 * f64::from(day % 3) })
}

fn median_mad() -> DriftOptions {
    DriftOptions::of("quality.composite").with_method(Method::MedianMad)
}

fn status(days: &[Day], as_of: &str, options: &DriftOptions) -> DriftStatus {
    drift(days, as_of, options, watched(), &[]).unwrap().status
}

/// BR-13: a flat history raises no alert on any day; the JSON form is the contract's.
#[test]
fn a_flat_history_raises_no_alert() {
    let flat = days(45, |_| 4.2);
    for method in Method::ALL {
        let options = DriftOptions { method, ..median_mad() };
        let quiet = (1..45).all(|day| {
            let as_of = date_of(day_number("2026-03-01").unwrap() + day);
            status(&flat, &as_of, &options) == DriftStatus::Ok
        });
        assert!(quiet, "{method:?}");
    }
    let found = serde_json::to_value(drift(&flat, "2026-04-14", &median_mad(), watched(), &[]).unwrap()).unwrap();
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
    let found = drift(&days, "2026-04-06", &median_mad(), watched(), &[]).unwrap();
    assert_eq!(found.status, DriftStatus::Alert);
    let alerts: Vec<&str> = found.alerts.iter().map(|alert| alert.day.as_str()).collect();
    assert_eq!(alerts, ["2026-04-06", "2026-04-05"]);
    assert_eq!((found.alerts[0].short_median, found.alerts[0].n_short, found.alerts[0].n_long), (1.5, 7, 30));
    assert!(found.alerts[0].z < -1.5);
}

/// BR-13: with its defaults every detector finds the bad week while it lasts, in the same form; none mistakes one bad
/// day for a decline.
#[test]
fn every_method_finds_the_planted_week() {
    let days = declining();
    let one_bad_day = days_with_one_bad();
    for (method, day) in
        [(Method::MedianMad, "2026-04-06"), (Method::Cusum, "2026-04-02"), (Method::EDetector, "2026-04-06")]
    {
        let options = median_mad().with_method(method);
        let first = (1..=14).map(|day| format!("2026-04-{day:02}"));
        let mut first = first.filter(|day| status(&days, day, &options) == DriftStatus::Alert);
        assert_eq!(first.next().as_deref(), Some(day), "{method:?}");
        let found = drift(&days, "2026-04-08", &options, watched(), &[]).unwrap();
        assert_eq!(found.status, DriftStatus::Alert, "{method:?}");
        assert!(found.alerts.iter().all(|alert| alert.z < 0.0), "{method:?}");
        assert!(found.incident.is_some_and(|incident| incident.is_open()), "{method:?}");
        if method != Method::Cusum {
            let quiet = drift(&one_bad_day, "2026-04-14", &options, watched(), &[]).unwrap();
            assert_eq!((quiet.status, quiet.incident), (DriftStatus::Ok, None), "{method:?}");
        }
    }
}

/// Options of one method do not affect another.
#[test]
fn a_method_keeps_its_own_options() {
    let options = DriftOptions { streak: Some(3), h: Some(9.0), short: 5, ..median_mad() };
    let other = options.clone().with_method(Method::Cusum);
    assert_eq!((other.streak(), other.h, other.short), (1, None, 5));
    assert_eq!(options.clone().with_method(Method::MedianMad), options);
}

/// BR-13: `no_data` only if the long window is empty; too few scores are `ok` with the skipped days.
#[test]
fn too_few_scores_are_reported() {
    let few = days(4, |_| 4.0);
    let found = drift(&few, "2026-03-04", &median_mad(), watched(), &[]).unwrap();
    assert_eq!((found.status, found.skipped.len()), (DriftStatus::Ok, 2));
    assert!(found.skipped[0].reason.contains("4 in 30"), "{:?}", found.skipped);
    assert_eq!(status(&few, "2026-04-03", &median_mad()), DriftStatus::NoData);
    assert_eq!(status(&few, "2026-04-02", &median_mad()), DriftStatus::Ok);
    assert!(drift(&few, "2026-02-30", &median_mad(), watched(), &[]).is_err());
}

/// BR-13: an incident stays open after the rule has cleared itself, until the series is back in its band.
#[test]
fn an_incident_outlives_its_alert() {
    let lasting = days(75, |day| if day >= 32 { 3.0 } else { 4.2 + 0.05 * f64::from(day % 3) });
    let late = "2026-05-10";
    assert_eq!(status(&lasting, late, &median_mad()), DriftStatus::Ok, "the rule clears itself");
    let incident = drift(&lasting, late, &median_mad(), watched(), &[]).unwrap().incident.unwrap();
    assert!(incident.is_open(), "{incident:?}");
    assert_eq!(incident.opened, "2026-04-06");
    let back = drift(&declining(), "2026-04-14", &median_mad(), watched(), &[]).unwrap().incident.unwrap();
    assert_eq!(back.closed.as_deref(), Some("2026-04-12"));
}

/// BR-13: a chart detects a drop before the short median; the incident does not end by that, and stays a single one.
#[test]
fn an_incident_of_a_chart_lasts_as_long_as_its_drop() {
    let options = median_mad().with_method(Method::Cusum);
    let lasting = days(60, |day| if day >= 32 { 3.0 } else { 4.2 + 0.05 * f64::from(day % 3) });
    for day in 2..30 {
        let as_of = date_of(day_number("2026-04-01").unwrap() + day);
        let incident = drift(&lasting, &as_of, &options, watched(), &[]).unwrap().incident.unwrap();
        assert_eq!((incident.opened.as_str(), incident.closed), ("2026-04-02", None), "{as_of}");
    }
    let found = drift(&declining(), "2026-04-14", &options, watched(), &[]).unwrap().incident.unwrap();
    assert_eq!((found.opened.as_str(), found.closed.as_deref()), ("2026-04-02", Some("2026-04-12")));
    let kept = Incident { closed: None, ..found.clone() };
    assert_eq!(resolve_incident(&declining(), "2026-04-14", &options, watched(), &[], &kept), Ok(found));
}

/// Checks every day in turn, as a daily job does, and closes incidents if `closes` returns true.
fn lived(
    days: &[Day],
    options: &DriftOptions,
    mut closes: impl FnMut(&Drift) -> bool,
) -> (Vec<Drift>, Vec<IncidentClosing>) {
    let mut closings: Vec<IncidentClosing> = Vec::new();
    let mut seen = Vec::new();
    for known in 1..=days.len() {
        let days = &days[..known];
        let today = &days[known - 1].date;
        let mut found = drift(days, today, options, watched(), &closings).unwrap();
        if let Some(open) = found.incident.clone().filter(|incident| incident.is_open() && closes(&found)) {
            closings.push(IncidentClosing::of(&open, days, today, "accepted", options, watched()).unwrap());
            found = drift(days, today, options, watched(), &closings).unwrap();
        }
        seen.push(found);
    }
    (seen, closings)
}

/// BR-13: an accepted level raises no alert, with any method and however soon it was accepted; a worse level does, and
/// so does the same level after a recovery.
#[test]
fn a_closed_incident_stays_closed_until_the_series_changes_anew() {
    let noise = |day: i32| 0.05 * f64::from(day % 3);
    let alerts = |levels: [f64; 3], method: Method, patience: usize| {
        let series = days(96, |day| levels[(usize::try_from(day).unwrap() / 36).min(2)] + noise(day));
        let mut waited = 0;
        let (seen, closings) = lived(&series, &median_mad().with_method(method), |found| {
            waited += usize::from(found.incident.is_some());
            waited == patience
        });
        let closed = closings.first().map(|closing| closing.day.clone()).unwrap();
        let alerts = seen.iter().filter(|found| found.status == DriftStatus::Alert && found.as_of > closed);
        (closings.len(), alerts.map(|found| found.as_of.clone()).collect::<Vec<_>>())
    };
    let third = date_of(day_number("2026-03-01").unwrap() + 72);
    for method in Method::ALL {
        for patience in [1, 6] {
            let (closed, after) = alerts([4.2, 3.0, 3.0], method, patience);
            assert!(closed == 1 && after.is_empty(), "{method:?} after {patience}: {after:?}");
            let (_, after) = alerts([4.2, 3.0, 2.0], method, patience);
            assert!(after.first().is_some_and(|day| *day >= third), "{method:?} after {patience}: {after:?}");
        }
    }
    let again = days(140, |day| if (40..60).contains(&day) || day >= 80 { 3.0 } else { 4.2 } + noise(day));
    let mut is_first = true;
    let (seen, _) = lived(&again, &median_mad(), |_| std::mem::take(&mut is_first));
    let last = seen.iter().rfind(|found| found.status == DriftStatus::Alert).unwrap();
    assert!(last.as_of > date_of(day_number("2026-03-01").unwrap() + 80), "{last:?}");
    assert!(seen.last().unwrap().incident.as_ref().unwrap().is_open(), "the second drop is an incident of its own");
}

/// BR-13, BY-11: a later check of a day gives the result of that day, whatever was closed since.
#[test]
fn a_later_query_gives_the_same_incidents() {
    for seed in 0..4_u64 {
        let mut state = seed;
        let mut drawn = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut level = 4.0;
        let series: Vec<Day> = days(75, |_| 0.0)
            .into_iter()
            .filter_map(|day| {
                if drawn(25) == 0 {
                    level = 2.0 + 0.5 * drawn(5) as f64;
                }
                (drawn(6) > 0).then(|| Day::new(day.date, level + 0.1 * drawn(5) as f64))
            })
            .collect();
        for method in Method::ALL {
            let options = median_mad().with_method(method);
            let (seen, closings) = lived(&series, &options, |_| drawn(4) == 0);
            for then in seen {
                let now = drift(&series, &then.as_of, &options, watched(), &closings).unwrap();
                assert_eq!(now, then, "{method:?}, seed {seed}");
            }
        }
    }
}

/// BR-13, BR-17: a window that mixes judges or prompt versions works, with a warning.
#[test]
fn several_judges_are_reported() {
    let mut days = declining();
    days[40].judges = BTreeSet::from(["stub-v1".to_owned()]);
    days[41].judges = BTreeSet::from(["other".to_owned()]);
    let found = drift(&days, "2026-04-14", &median_mad(), watched(), &[]).unwrap();
    assert_eq!(found.judges, ["other", "stub-v1"]);
    assert!(found.warnings[0].contains("other, stub-v1"), "{:?}", found.warnings);
}

/// For a metric that is better when lower, a rise is worse; `both` checks both directions.
#[test]
fn the_direction_is_the_metrics() {
    let rising = days(45, |day| if day >= 32 { 4.9 } else { 2.0 + 0.05 * f64::from(day % 3) });
    let latency = WatchedMetric { better: Better::Lower, ..watched() };
    let found = drift(&rising, "2026-04-14", &median_mad(), latency, &[]).unwrap();
    assert_eq!(found.status, DriftStatus::Alert);
    assert!(found.alerts[0].z > 1.5 && found.alerts[0].short_median > found.alerts[0].long_median);
    assert_eq!(status(&rising, "2026-04-14", &median_mad()), DriftStatus::Ok);
    let both = DriftOptions { worse: Some(Worse::Both), ..median_mad() };
    assert_eq!(status(&rising, "2026-04-14", &both), DriftStatus::Alert);
    assert_eq!(status(&declining(), "2026-04-08", &both), DriftStatus::Alert);
}

#[test]
fn invalid_options_are_refused() {
    for options in [
        DriftOptions { short: 31, ..median_mad() },
        DriftOptions { streak: Some(0), ..median_mad() },
        DriftOptions { z: f64::NAN, ..median_mad() },
        DriftOptions { floor: Some(0.0), ..median_mad() },
        DriftOptions { min_short: 8, ..median_mad() },
        DriftOptions { min_long: 31, ..median_mad() },
    ] {
        assert!(drift(&declining(), "2026-04-14", &options, watched(), &[]).is_err(), "{options:?}");
    }
    let unbounded = WatchedMetric { range: None, ..watched() };
    let options = DriftOptions { method: Method::EDetector, ..median_mad() };
    assert!(drift(&declining(), "2026-04-14", &options, unbounded, &[]).unwrap_err().contains("no range"));
}

/// DC-27: the default is the e-detector; the keys and flags of the medians, and metrics without a range, mean `median_mad`; a
/// named method stays. Several systems share the promise of one.
#[test]
fn the_method_is_the_named_one_or_the_e_detector() {
    let method = |with: serde_json::Value, by_flags: bool, range: Option<(f64, f64)>| {
        let serde_json::Value::Object(with) = with else { panic!("a map") };
        let watched = WatchedMetric { range, ..watched() };
        DriftOptions::of("q").imply_method(&with, by_flags, watched).method
    };
    let range = Some((1.0, 5.0));
    assert_eq!(method(serde_json::json!({"short": 5, "streak": 3}), false, range), Method::EDetector);
    for with in [serde_json::json!({"z": 2}), serde_json::json!({"min_long": 9}), serde_json::json!({"min_short": 3})] {
        assert_eq!(method(with, false, range), Method::MedianMad);
    }
    assert_eq!(method(serde_json::json!({}), true, range), Method::MedianMad);
    assert_eq!(method(serde_json::json!({}), false, None), Method::MedianMad);
    assert_eq!(method(serde_json::json!({"method": "e_detector"}), true, None), Method::EDetector);
    let each = |options: DriftOptions| options.of_systems(3).limit;
    assert_eq!(each(DriftOptions::of("q")), Some(1_095.0));
    assert_eq!(each(DriftOptions { limit: Some(100.0), ..DriftOptions::of("q") }), Some(300.0));
    assert_eq!((each(median_mad()), DriftOptions::of("q").of_systems(1).limit), (None, None));
    let note = DriftOptions::of("q").systems_note(3).unwrap();
    assert!(note.contains("each of 3 systems has a limit of 1095 days") && note.contains("every 365 days"), "{note}");
    assert_eq!((median_mad().systems_note(3), DriftOptions::of("q").systems_note(1)), (None, None));
}

/// DC-27: from 60 days on the false alarms of quiet years like the series are said; the e-detector keeps its promise where
/// `median_mad` alarms in most years.
#[test]
fn quiet_years_are_replayed() {
    let noisy = |n: i32| days(n, |day| [4.2, 3.6, 4.4, 4.0, 3.2, 4.6, 3.8, 4.1, 3.4][(day * 7 % 9) as usize]);
    let quiet = |options: &DriftOptions, n: i32| replay_quiet_years(&noisy(n), options, watched());
    assert_eq!(quiet(&median_mad(), 59), None);
    let found = quiet(&median_mad(), 60).unwrap();
    assert_eq!((found.method, found.series, found.drawn_from), (Method::MedianMad, 200, 60));
    let share = 100.0 * found.false_alarm_share_per_year;
    let text = format!("median_mad: a false alarm in {share:.0} % of quiet years like this series (200 replays)");
    assert_eq!(found.to_string(), text);
    let careful = quiet(&DriftOptions::of("q"), 60).unwrap();
    assert!(careful.false_alarm_share_per_year < found.false_alarm_share_per_year.max(0.05), "{careful:?} {found:?}");
}

/// BY-11: planted shifts are detected, larger ones sooner, and a quiet series raises few alarms.
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
