//! Drift of several systems; each has its own series.

use std::borrow::Borrow;

use serde::{Serialize, Serializer};

use super::{Drift, DriftDay, DriftStatus, Method, SkippedDay, Worse};

/// The drift of at least one system.
///
/// In JSON a single system is written as it is. Several are combined into one result (alerts and skipped days of all,
/// each with its `system`; the furthest `z`; the worst `status`), with each system's own under `systems`.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemDrifts<T = Drift>(Vec<T>);

impl<T: Borrow<Drift>> SystemDrifts<T> {
    /// The drift of one system.
    pub fn one(system: T) -> Self {
        Self(vec![system])
    }

    /// The drift of each system; `None` without any.
    pub fn of(systems: Vec<T>) -> Option<Self> {
        (!systems.is_empty()).then_some(Self(systems))
    }

    /// The results, by system.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }

    /// The results, by system, to complete them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }

    /// An alert if any system has one; no data if none has any.
    pub fn status(&self) -> DriftStatus {
        let any = |wanted: DriftStatus| self.drifts().any(|drift| drift.status == wanted);
        match () {
            () if any(DriftStatus::Alert) => DriftStatus::Alert,
            () if any(DriftStatus::Ok) => DriftStatus::Ok,
            () => DriftStatus::NoData,
        }
    }

    /// Returns true if any system has an alert or an open incident.
    pub fn is_alarming(&self) -> bool {
        self.drifts().any(|drift| drift.status == DriftStatus::Alert || drift.open_incident().is_some())
    }

    /// The warnings, prefixed with the system if there are several.
    pub fn warnings(&self) -> Vec<String> {
        let is_one = self.0.len() == 1;
        let said = |(system, warning): (&str, &String)| match is_one {
            true => warning.clone(),
            false => format!("{system}: {warning}"),
        };
        self.each_member(|drift| &drift.warnings).map(said).collect()
    }

    fn drifts(&self) -> impl Iterator<Item = &Drift> {
        self.0.iter().map(Borrow::borrow)
    }

    /// The entries of a list of each system, with the system's name.
    fn each_member<'a, M: 'a>(&'a self, list: fn(&'a Drift) -> &'a Vec<M>) -> impl Iterator<Item = (&'a str, &'a M)> {
        self.drifts().flat_map(move |drift| {
            let system = drift.system.as_deref().unwrap_or_default();
            list(drift).iter().map(move |member| (system, member))
        })
    }

    /// The statistic furthest on the worse side.
    fn furthest(&self) -> Option<f64> {
        let badness = |drift: &Drift, z: f64| match drift.worse {
            Worse::Lower => -z,
            Worse::Higher => z,
            Worse::Both => z.abs(),
        };
        let known = self.drifts().filter_map(|drift| Some((badness(drift, drift.z?), drift.z?)));
        known.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, z)| z)
    }

    fn combine(&self) -> Option<CombinedDrift<'_, T>> {
        let first = self.drifts().next()?;
        let mut alerts: Vec<OfSystem<'_, DriftDay>> =
            self.each_member(|drift| &drift.alerts).map(OfSystem::from).collect();
        alerts.sort_by(|one, other| other.member.day.cmp(&one.member.day));
        let mut skipped: Vec<OfSystem<'_, SkippedDay>> =
            self.each_member(|drift| &drift.skipped).map(OfSystem::from).collect();
        skipped.sort_by(|one, other| other.member.day.cmp(&one.member.day));
        Some(CombinedDrift {
            as_of: &first.as_of,
            status: self.status(),
            short_window: first.short_window,
            long_window: first.long_window,
            z_thresh: first.z_thresh,
            streak_required: first.streak_required,
            z: self.furthest(),
            alerts,
            skipped,
            metric: &first.metric,
            worse: first.worse,
            method: first.method,
            warnings: self.warnings(),
            systems: &self.0,
        })
    }
}

/// The combined result of several systems, which share rule and day.
#[derive(Serialize)]
struct CombinedDrift<'a, T> {
    as_of: &'a str,
    status: DriftStatus,
    short_window: i32,
    long_window: i32,
    z_thresh: f64,
    streak_required: u32,
    z: Option<f64>,
    alerts: Vec<OfSystem<'a, DriftDay>>,
    skipped: Vec<OfSystem<'a, SkippedDay>>,
    metric: &'a str,
    worse: Worse,
    method: Method,
    warnings: Vec<String>,
    systems: &'a [T],
}

/// An entry with its system.
#[derive(Serialize)]
struct OfSystem<'a, M> {
    system: &'a str,
    #[serde(flatten)]
    member: &'a M,
}

impl<'a, M> From<(&'a str, &'a M)> for OfSystem<'a, M> {
    fn from((system, member): (&'a str, &'a M)) -> Self {
        Self { system, member }
    }
}

impl<T: Borrow<Drift> + Serialize> Serialize for SystemDrifts<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => one.serialize(serializer),
            _ => self.combine().serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::{Drift, DriftOptions, WatchedMetric, drift};
    use super::*;
    use crate::reference::history::Day;

    fn of(system: &str, level: impl Fn(i32) -> f64) -> Drift {
        let days: Vec<Day> = (0..45).map(|day| Day::new(super::super::date_of(20_000 + day), level(day))).collect();
        let options = DriftOptions::of("q").with_method(Method::MedianMad);
        let found = drift(&days, &days[44].date, &options, WatchedMetric::default(), &[]).unwrap();
        Drift { system: Some(system.to_owned()), ..found }
    }

    /// BR-13: one system's drop is not averaged out by the others, and the combined result names it.
    #[test]
    fn a_drop_of_one_system_is_not_averaged_away() {
        let (falls, rises) = (of("a", |day| if day > 38 { 2.0 } else { 4.0 }), of("b", |day| f64::from(3 + day / 39)));
        let found = SystemDrifts::of(vec![rises.clone(), falls.clone()]).unwrap();
        let written = serde_json::to_value(&found).unwrap();
        assert_eq!((&written["status"], &written["alerts"][0]["system"]), (&json!("alert"), &json!("a")));
        assert_eq!(written["alerts"].as_array().unwrap().len(), 2);
        assert_eq!(
            (&written["systems"][0]["status"], &written["systems"][1]["status"]),
            (&json!("ok"), &json!("alert"))
        );
        assert_eq!(written["z"], json!(falls.z));
        assert_eq!(written.get("incident"), None::<&Value>);
        let alone = serde_json::to_value(SystemDrifts::of(vec![falls.clone()])).unwrap();
        assert_eq!(alone, serde_json::to_value(&falls).unwrap());
        assert!(SystemDrifts::<Drift>::of(Vec::new()).is_none());
        let absent = drift(
            &[],
            "2026-01-01",
            &DriftOptions::of("q").with_method(Method::MedianMad),
            WatchedMetric::default(),
            &[],
        )
        .unwrap();
        let both = SystemDrifts::of(vec![rises, Drift { system: Some("c".to_owned()), ..absent }]).unwrap();
        assert_eq!(both.status(), DriftStatus::Ok);
        assert!(both.warnings()[0].starts_with("c: no day up to 2026-01-01 has a score"), "{:?}", both.warnings());
    }
}
