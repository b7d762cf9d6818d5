//! The current day in the time zone of a dataset.

use crate::project::Project;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use karat_types::PlanHeader;

impl Project<'_> {
    /// Today in the time zone of a plan's dataset; in UTC if it has none, or one that this machine does not know.
    pub(crate) fn today(&self, plan: &PlanHeader) -> Date {
        let zone = plan.dataset.zone.as_deref().and_then(|name| TimeZone::get(name).ok()).unwrap_or(TimeZone::UTC);
        let now = jiff::Timestamp::from_millisecond(self.app.clock.now().0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        now.to_zoned(zone).date()
    }
}
