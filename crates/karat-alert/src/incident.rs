//! The state machine of an incident.

use karat_types::Moment;
use serde::{Deserialize, Serialize};

/// The result of one run for one subject of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observation {
    /// The subject is bad.
    Bad,
    /// The subject is good.
    Good,
    /// Undecided, unscored or without data: it neither opens nor closes, and breaks no row.
    Unknown,
}

/// The rule of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IncidentRule {
    /// Bad runs in a row that open an incident.
    pub after: u32,
    /// Good runs in a row that close it.
    pub clear: u32,
    /// Milliseconds between reminders; 0 for none.
    pub quiet_ms: u64,
}

/// A message that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// The incident was opened.
    Opened,
    /// It is still bad.
    Reminder,
    /// It was closed.
    Resolved,
}

/// An incident, or the bad runs that may open one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// Bad runs in a row.
    pub bad: u32,
    /// Good runs in a row since it was opened.
    pub good: u32,
    /// Bad runs since it was opened, the opening ones included.
    pub occurrences: u32,
    /// Time of its opening.
    pub opened_at: Option<Moment>,
    /// Time of the last message about it.
    pub told_at: Option<Moment>,
    /// Time at which a person took note of it: there are no reminders from then on.
    pub acked_at: Option<Moment>,
    /// Time of its closing.
    pub closed_at: Option<Moment>,
}

impl Incident {
    /// Returns whether it is open.
    pub fn is_open(&self) -> bool {
        self.opened_at.is_some() && self.closed_at.is_none()
    }

    /// Returns whether nothing has to be remembered of it.
    pub fn is_idle(&self) -> bool {
        self.opened_at.is_none() && self.bad == 0
    }

    /// Adds the result of a run, and returns the message that is due. A closed incident does not change: the next bad run
    /// begins a new one.
    pub fn observe(&mut self, observation: Observation, now: Moment, rule: &IncidentRule) -> Option<Notice> {
        if self.closed_at.is_some() {
            return None;
        }
        match observation {
            Observation::Unknown => None,
            Observation::Bad => self.observe_bad(now, rule),
            Observation::Good => self.observe_good(now, rule),
        }
    }

    fn observe_bad(&mut self, now: Moment, rule: &IncidentRule) -> Option<Notice> {
        self.good = 0;
        self.bad = self.bad.saturating_add(1);
        if self.is_open() {
            self.occurrences = self.occurrences.saturating_add(1);
            if !self.is_reminder_due(now, rule) {
                return None;
            }
            self.told_at = Some(now);
            return Some(Notice::Reminder);
        }
        if self.bad < rule.after.max(1) {
            return None;
        }
        self.occurrences = self.bad;
        self.opened_at = Some(now);
        self.told_at = Some(now);
        Some(Notice::Opened)
    }

    fn observe_good(&mut self, now: Moment, rule: &IncidentRule) -> Option<Notice> {
        self.bad = 0;
        if !self.is_open() {
            return None;
        }
        self.good = self.good.saturating_add(1);
        (self.good >= rule.clear.max(1)).then(|| {
            self.closed_at = Some(now);
            self.told_at = Some(now);
            Notice::Resolved
        })
    }

    /// Nightly runs do not end at the same second, and a night may have 23 hours: a reminder may come a tenth early.
    fn is_reminder_due(&self, now: Moment, rule: &IncidentRule) -> bool {
        let since = |told: Moment| u64::try_from(now.0.saturating_sub(told.0)).unwrap_or(0);
        rule.quiet_ms > 0
            && self.acked_at.is_none()
            && self.told_at.is_none_or(|told| since(told) >= rule.quiet_ms / 10 * 9)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: i64 = 86_400_000;
    const RULE: IncidentRule = IncidentRule { after: 1, clear: 2, quiet_ms: DAY as u64 };

    fn notices(nights: &[Observation], rule: &IncidentRule) -> Vec<(usize, Notice)> {
        let mut incident = Incident::default();
        let night = |(at, seen): (usize, &Observation)| {
            if incident.closed_at.is_some() {
                incident = Incident::default();
            }
            Some((at, incident.observe(*seen, Moment(at as i64 * DAY), rule)?))
        };
        nights.iter().enumerate().filter_map(night).collect()
    }

    /// SV-15: bad bad good bad good good opens once and resolves once, with reminders in between.
    #[test]
    fn an_incident_opens_once_and_closes_after_good_runs_in_a_row() {
        use Observation::{Bad, Good};
        let nights = [Bad, Bad, Good, Bad, Good, Good];
        let quiet = IncidentRule { quiet_ms: 0, ..RULE };
        assert_eq!(notices(&nights, &quiet), [(0, Notice::Opened), (5, Notice::Resolved)]);
        let reminded = [(0, Notice::Opened), (1, Notice::Reminder), (3, Notice::Reminder), (5, Notice::Resolved)];
        assert_eq!(notices(&nights, &RULE), reminded);
    }

    /// SV-15: 30 bad nights give one opening and 29 reminders; `quiet: 0` gives the opening alone.
    #[test]
    fn thirty_bad_nights_remind_nightly() {
        let nights = [Observation::Bad; 30];
        let told = notices(&nights, &RULE);
        assert_eq!(told.iter().filter(|(_, notice)| *notice == Notice::Reminder).count(), 29);
        assert_eq!(told.len(), 30);
        assert_eq!(notices(&nights, &IncidentRule { quiet_ms: 0, ..RULE }), [(0, Notice::Opened)]);
    }

    /// SV-15: `after` counts bad runs in a row; an undecided one between them changes nothing, a good one begins anew.
    #[test]
    fn bad_runs_in_a_row_open_it() {
        use Observation::{Bad, Good, Unknown};
        let rule = IncidentRule { after: 3, ..RULE };
        assert_eq!(notices(&[Bad, Bad, Good, Bad, Bad], &rule), []);
        assert_eq!(notices(&[Bad, Unknown, Bad, Unknown, Bad], &rule), [(4, Notice::Opened)]);
    }

    /// SV-15: an acknowledged incident sends no reminder, and still says when it is resolved.
    #[test]
    fn an_acknowledged_incident_does_not_remind() {
        let mut incident = Incident::default();
        incident.observe(Observation::Bad, Moment(0), &RULE);
        incident.acked_at = Some(Moment(1));
        assert_eq!(incident.observe(Observation::Bad, Moment(2 * DAY), &RULE), None);
        assert_eq!(incident.observe(Observation::Good, Moment(3 * DAY), &RULE), None);
        assert_eq!(incident.observe(Observation::Good, Moment(4 * DAY), &RULE), Some(Notice::Resolved));
    }

    fn observation() -> impl Strategy<Value = Observation> {
        prop_oneof![Just(Observation::Bad), Just(Observation::Good), Just(Observation::Unknown)]
    }

    proptest! {
        /// SV-15: openings and closings alternate, unknown results change nothing, and without bad runs nothing is sent.
        #[test]
        fn openings_and_closings_alternate(
            nights in prop::collection::vec(observation(), 0..60), after in 1_u32..4, clear in 1_u32..4, quiet in 0_u64..3,
        ) {
            let rule = IncidentRule { after, clear, quiet_ms: quiet * DAY as u64 };
            let told = notices(&nights, &rule);
            let ends: Vec<Notice> =
                told.iter().map(|(_, notice)| *notice).filter(|notice| *notice != Notice::Reminder).collect();
            for (at, notice) in ends.iter().enumerate() {
                prop_assert_eq!(*notice, if at % 2 == 0 { Notice::Opened } else { Notice::Resolved });
            }
            let known: Vec<Observation> =
                nights.iter().copied().filter(|seen| *seen != Observation::Unknown).collect();
            let quiet = IncidentRule { quiet_ms: 0, ..rule };
            let kinds = |nights: &[Observation]| -> Vec<Notice> {
                notices(nights, &quiet).into_iter().map(|(_, notice)| notice).collect()
            };
            prop_assert_eq!(kinds(&known), kinds(&nights));
            for (at, notice) in told {
                let wanted = if notice == Notice::Resolved { Observation::Good } else { Observation::Bad };
                prop_assert_eq!(nights[at], wanted);
            }
        }
    }
}
