//! Each message of each incident arrives, under one id.

use std::collections::BTreeMap;

use super::{SoakCheck, kept_unless};
use crate::soak::day::Day;
use crate::soak::network::Received;

pub(super) fn check(day: &Day) -> Result<Vec<SoakCheck>, String> {
    let incidents = day.world.json(&["alert", "ls", "--json"])?;
    let outbox = day.world.json(&["alert", "ls", "--outbox", "--json"])?;
    let received = day.receiver.messages();
    let mut problems = Vec::new();
    for message in &outbox {
        let id = message["id"].as_str().unwrap_or_default();
        let accepted = received.get(id).map_or(0, |it| it.accepted);
        if message["state"] != "sent" || accepted == 0 {
            problems.push(format!("{id} is {} and was accepted {accepted} times", message["state"]));
        }
    }
    let stored = |id: &str| outbox.iter().any(|message| message["id"] == id);
    problems.extend(received.keys().filter(|id| !stored(id)).map(|id| format!("{id} arrived and is not stored")));
    for incident in &incidents {
        let id = incident["id"].as_str().unwrap_or_default();
        problems.extend(problems_of(id, !incident["closed_at"].is_null(), &received));
    }
    for (id, message) in &received {
        if message.contents.len() > 1 || message.is_unsigned {
            problems.push(format!("{id} has {} contents, unsigned: {}", message.contents.len(), message.is_unsigned));
        }
    }
    if incidents.is_empty() {
        problems.push("no incident was opened".to_owned());
    }
    let attempts: usize = received.values().map(|it| it.attempts).sum();
    let twice: usize = received.values().map(|it| it.accepted.saturating_sub(1)).sum();
    let figures = format!(
        "{} incidents, {} messages, {attempts} attempts, {} of them refused, {twice} delivered again",
        incidents.len(),
        outbox.len(),
        day.receiver.count_refused()
    );
    Ok(vec![kept_unless("each incident is told under one id", figures, &problems)])
}

/// The problems of an incident: it is opened by one message, and closed by one.
fn problems_of(incident: &str, is_closed: bool, received: &BTreeMap<String, Received>) -> Vec<String> {
    let count = |kind: &str| received.values().filter(|it| it.incident == incident && it.kind == kind).count();
    let wanted = [("alert.opened", 1), ("alert.resolved", usize::from(is_closed))];
    let wrong = wanted.iter().filter(|(kind, number)| count(kind) != *number);
    wrong.map(|(kind, _)| format!("{incident}: {} ids of {kind}", count(kind))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incident_needs_its_messages() {
        let message = |kind: &str| Received { kind: kind.to_owned(), incident: "i".to_owned(), ..Received::default() };
        let mut received = BTreeMap::from([("a".to_owned(), message("alert.opened"))]);
        assert_eq!(problems_of("i", false, &received), [""; 0]);
        assert_eq!(problems_of("i", true, &received).len(), 1, "its end is missing");
        received.insert("b".to_owned(), message("alert.opened"));
        assert_eq!(problems_of("i", false, &received).len(), 1, "opened twice");
        assert_eq!(problems_of("j", false, &received).len(), 1, "never told");
    }
}
