//! `schedules` and `alerts`, decoded. A plan's identity does not hold them: they say when runs start, and who hears of
//! them.

use std::collections::BTreeSet;

use karat_alert::{AlertEvent, AlertSpec, Channel, IncidentRule};
use karat_schedule::{Missed, Overlap, ScheduleSpec, Task, Timetable, TimetableError};
use karat_text::env_template;

use super::{Decoder, integer_at, word_at};
use crate::diagnostics::nearest::suggestion;
use crate::syntax::node::{Entry, Node};

/// Milliseconds between reminders unless an alert says otherwise.
const QUIET_MS: u64 = 86_400_000;

/// The accepted probability that a canary takes an unchanged judge for a changed one, unless a scorer says otherwise.
const CANARY_ALPHA: f64 = 0.005;

/// Cells in a message unless an alert says otherwise.
const EXAMPLES: usize = 3;

/// Options of a channel.
const OPTIONS: &[&str] = &["url", "secret"];

/// Frozen judgments of a scorer, one file a sample.
#[derive(Debug, Clone, PartialEq)]
pub struct CanarySpec {
    /// The scorer.
    pub scorer: String,
    /// The folder.
    pub folder: String,
    /// The accepted probability that an unchanged judge is taken for a changed one.
    pub alpha: f64,
}

impl Decoder<'_> {
    /// The schedules of the suite, in its order, without those that cannot be read.
    pub fn schedules(&mut self, node: Option<&Node>, has_canary: bool) -> Vec<ScheduleSpec> {
        let entries = node.map(Node::entries).unwrap_or_default();
        entries.iter().filter_map(|entry| self.schedule(entry, has_canary)).collect()
    }

    /// The frozen judgments of scorers.
    pub fn canaries(&mut self, scorers: Option<&Node>) -> Vec<CanarySpec> {
        let entries = scorers.map(Node::entries).unwrap_or_default();
        let canary = |entry: &Entry| {
            let canary = entry.node.field("canary")?;
            let folder = self.path(canary.field("source")?)?;
            let alpha = canary.field("alpha").and_then(Node::number).unwrap_or(CANARY_ALPHA);
            Some(CanarySpec { scorer: entry.key.clone(), folder, alpha })
        };
        entries.iter().filter_map(canary).collect()
    }

    /// The alerts of the suite, in its order, without those that cannot be read.
    pub fn alerts(&mut self, node: Option<&Node>) -> Vec<AlertSpec> {
        let entries = node.map(Node::entries).unwrap_or_default();
        entries.iter().filter_map(|entry| self.alert(entry)).collect()
    }

    fn schedule(&mut self, entry: &Entry, has_canary: bool) -> Option<ScheduleSpec> {
        let node = &entry.node;
        self.check_id(entry, "schedule")?;
        let task = if node.text_of("task") == Some("canary") { Task::Canary } else { Task::Run };
        if let (Task::Canary, false, Some(at)) = (task, has_canary, node.field("task")) {
            self.problems
                .error(&at.place, "`task: canary` grades frozen judgments again, and no scorer of the suite has any")
                .hint(
                    "add `canary: { source: golden }` to a scorer with a rubric, and fill it with `karat golden pin`",
                );
        }
        let params = self.schedule_params(node.field("params"));
        let (cron, zone) = (node.field("cron")?, node.field("zone")?);
        let timetable = self.timetable(cron, zone)?;
        Some(ScheduleSpec {
            id: entry.key.clone(),
            timetable,
            zone: zone.text()?.to_owned(),
            task,
            days: integer_at(node, "days"),
            missed: word_at(node, "missed").unwrap_or(Missed::Once),
            overlap: if node.text_of("overlap") == Some("queue") { Overlap::Queue } else { Overlap::Skip },
            budget_usd: node.field("budget_usd").and_then(Node::number),
            params,
            report: node.field("report").map(Node::texts).unwrap_or_default(),
        })
    }

    /// Ids are part of the names of runs.
    fn check_id(&mut self, entry: &Entry, what: &str) -> Option<()> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !entry.key.is_empty() && entry.key.len() <= 40 && entry.key.chars().all(is_plain) {
            return Some(());
        }
        self.problems
            .error(&entry.place, format!("`{}` cannot be the id of a {what}", entry.key))
            .hint("use at most 40 letters, digits, `-` and `_`: it is part of the names of runs");
        None
    }

    fn timetable(&mut self, cron: &Node, zone: &Node) -> Option<Timetable> {
        let (cron_text, zone_text) = (cron.text()?, zone.text()?);
        match Timetable::parse(cron_text, zone_text) {
            Ok(timetable) => Some(timetable),
            Err(TimetableError::Cron(error)) => {
                self.problems
                    .error(&cron.place, error.to_string())
                    .hint("such as `30 2 * * *` (every day at 02:30), `0 * * * *` (every hour) or `0 9 * * MON-FRI`");
                // A wrong zone is reported as well.
                self.timetable_of_zone(zone);
                None
            }
            Err(TimetableError::Zone(_)) => {
                self.timetable_of_zone(zone);
                None
            }
        }
    }

    fn timetable_of_zone(&mut self, zone: &Node) {
        let Some(Err(error)) = zone.text().map(|text| Timetable::parse("@daily", text)) else { return };
        let known: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
        let text = zone.text().unwrap_or_default();
        // Most people write the city alone.
        let city = |name: &&String| name.rsplit('/').next().is_some_and(|city| city.eq_ignore_ascii_case(text));
        let hint = match known.iter().find(city) {
            Some(name) => Some(format!("did you mean `{name}`?")),
            None => suggestion(text, known.iter().map(String::as_str)),
        };
        self.problems.error(&zone.place, error.to_string()).maybe_hint(hint);
    }

    fn schedule_params(&mut self, node: Option<&Node>) -> Vec<(String, String)> {
        let names: Vec<String> = self.params.names().map(str::to_owned).collect();
        let mut params = Vec::new();
        for entry in node.map(Node::entries).unwrap_or_default() {
            if !names.contains(&entry.key) {
                let hint = suggestion(&entry.key, names.iter().map(String::as_str));
                self.problems
                    .error(&entry.place, format!("the suite has no parameter `{}`", entry.key))
                    .maybe_hint(hint.or_else(|| Some("declare it under `params`".to_owned())));
            }
            match entry.node.text() {
                Some(text) => params.push((entry.key.clone(), text.to_owned())),
                None => {
                    self.problems.error(&entry.node.place, format!("the parameter `{}` must be one value", entry.key));
                }
            }
        }
        params
    }

    fn alert(&mut self, entry: &Entry) -> Option<AlertSpec> {
        let node = &entry.node;
        self.check_id(entry, "alert")?;
        let send: Channel = word_at(node, "send")?;
        let with = node.field("with");
        let Some(url) = with.and_then(|with| with.field("url")) else {
            let place = &with.unwrap_or(node).place;
            self.problems
                .error(place, format!("an alert by {} needs `with.url`", send.as_str()))
                .hint("write `with: { url: \"${NAME}\" }` and set NAME in the environment");
            return None;
        };
        for option in with.map(Node::entries).unwrap_or_default() {
            if !OPTIONS.contains(&option.key.as_str()) {
                let hint = suggestion(&option.key, OPTIONS.iter().copied());
                self.problems.error(&option.place, format!("an alert has no option `{}`", option.key)).maybe_hint(hint);
            }
        }
        let secret = with.and_then(|with| with.field("secret"));
        if let Some(secret) = secret.filter(|_| send != Channel::Webhook) {
            self.problems
                .error(&secret.place, format!("`secret` signs a webhook; {} takes none", send.as_str()))
                .hint("remove it");
        }
        let url = self.environment_only(url, "url")?;
        let secret = match secret {
            Some(secret) => Some(self.environment_only(secret, "secret")?),
            None => None,
        };
        Some(AlertSpec {
            id: entry.key.clone(),
            send,
            url,
            secret,
            events: self.events(node.field("events")),
            examples: integer_at(node, "examples").unwrap_or(EXAMPLES),
            rule: IncidentRule {
                after: integer_at(node, "after").unwrap_or(1),
                clear: integer_at(node, "clear").unwrap_or(2),
                quiet_ms: match node.text_of("quiet") {
                    Some("0" | "0s") => 0,
                    _ => self.duration(node, "quiet").unwrap_or(QUIET_MS),
                },
            },
        })
    }

    /// A text whose secret part is in the environment. An address of a receiver is as good as a password.
    fn environment_only(&mut self, node: &Node, key: &str) -> Option<karat_types::EnvTemplate> {
        let text = node.text()?;
        if env_template::next(text).is_none() {
            self.problems
                .error(&node.place, format!("`{key}` of an alert is a secret, and a suite must not contain secrets"))
                .hint("write `${NAME}` and set NAME in the environment");
            return None;
        }
        Some(env_template::parts(text))
    }

    fn events(&mut self, node: Option<&Node>) -> Vec<AlertEvent> {
        let mut events = BTreeSet::new();
        for item in node.map(Node::items).unwrap_or_default() {
            let Some(text) = item.text() else { continue };
            // The grammar has reported any other text.
            if let Ok(event) = serde_json::from_value(serde_json::Value::from(text)) {
                events.insert(event);
            }
        }
        events.into_iter().collect()
    }
}
