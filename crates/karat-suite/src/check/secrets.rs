//! Secrets in plain text in settings. A suite names secrets and never contains them: it is shared, hashed and stored
//! with runs. Rows, prompts and what scorers look for are content, in which a planted key may be the point.

use std::borrow::Cow;

use karat_text::redact::{Kind, Redactor};

use crate::diagnostics::Problems;
use crate::syntax::environment;
use crate::syntax::node::{Entry, Node, Place, Tree};

/// Keys whose values are settings, anywhere in a suite or registry file.
const SETTINGS: &[&str] =
    &["params", "models", "judges", "services", "alerts", "url", "base_url", "headers", "env", "run", "command"];
/// Keys below which everything is content.
const CONTENT: &[&str] = &["rows"];
/// Keys whose members have names that tell a secret.
const NAMED: &[&str] = &["headers", "env"];
/// Shortest text that may be a secret.
const SHORTEST: usize = 8;

const HINT: &str = "write `${NAME}` and set NAME in the environment; a model's key is named by `api_key_env: NAME`";

/// Reports every secret of a suite or registry file, and masks it in all messages about its line.
pub(crate) fn refuse(node: &Node, problems: &mut Problems) {
    mask_receivers(node, problems);
    if let Ok(keys) = Redactor::new([Kind::ApiKey], []) {
        Search { keys, problems }.refuse_within(node, false);
    }
}

/// Masks addresses and secrets of alerts that are written out, before any message shows their line. They are refused when
/// they are decoded.
fn mask_receivers(node: &Node, problems: &mut Problems) {
    let alerts = node.field("alerts").map(Node::entries).unwrap_or_default();
    for with in alerts.iter().filter_map(|alert| alert.node.field("with")) {
        for value in ["url", "secret"].into_iter().filter_map(|key| with.field(key)) {
            if value.text().is_some_and(|text| !environment::mentions(text)) {
                problems.mask(&value.place);
            }
        }
    }
}

/// Reports every parameter that is given with a secret: values of parameters are kept with the run.
pub(crate) fn refuse_given(params: &[(String, String)], problems: &mut Problems) {
    let Ok(keys) = Redactor::new([Kind::ApiKey], []) else { return };
    for (name, _) in params.iter().filter(|(_, text)| holds_key(&keys, text)) {
        let file = problems.command_line("-p", &format!("{name}=***"));
        let message = format!("the value of the parameter `{name}` looks like a key");
        problems
            .error(&Place { file, span: 0..name.len() }, message)
            .hint("write `${NAME}` into the suite where a url, header or env needs it");
    }
}

fn holds_key(keys: &Redactor, text: &str) -> bool {
    matches!(keys.text(text), Cow::Owned(_))
}

struct Search<'a> {
    keys: Redactor,
    problems: &'a mut Problems,
}

impl Search<'_> {
    fn refuse_within(&mut self, node: &Node, is_setting: bool) {
        match &node.value {
            Tree::Scalar { .. } if is_setting => self.scalar(node),
            Tree::Scalar { .. } => {}
            Tree::List(items) => items.iter().for_each(|item| self.refuse_within(item, is_setting)),
            Tree::Map(entries) => entries.iter().for_each(|entry| self.entry(entry, is_setting)),
        }
    }

    fn entry(&mut self, entry: &Entry, is_setting: bool) {
        let key = entry.key.as_str();
        if CONTENT.contains(&key) {
            return;
        }
        // `http: ADDRESS` is short for its url.
        let is_address = key == "http" && entry.node.text().is_some();
        self.refuse_within(&entry.node, is_setting || is_address || SETTINGS.contains(&key));
        if NAMED.contains(&key) {
            entry.node.entries().iter().for_each(|named| self.check_named_values(named));
        }
    }

    fn scalar(&mut self, node: &Node) {
        if node.text().is_some_and(|text| holds_key(&self.keys, text)) {
            self.problems.mask(&node.place);
            self.problems.error(&node.place, "this looks like a key; a suite must not contain secrets").hint(HINT);
        }
        if node.text().is_some_and(holds_password) {
            self.problems.mask(&node.place);
            let hint = "send it in a header: `Authorization: \"Basic ${NAME}\"`, with NAME in the environment";
            self.problems
                .error(&node.place, "this address contains a password; a suite must not contain secrets")
                .hint(hint);
        }
    }

    /// A header or variable whose name says that it is a secret. Where its value does not look like one it may be the
    /// placeholder of a service on this machine, so that it is only warned of.
    fn check_named_values(&mut self, entry: &Entry) {
        let Some(text) = entry.node.text().filter(|_| tells_secret(&entry.key)) else { return };
        let secret = text.rsplit(' ').next().unwrap_or_default();
        let is_literal = !environment::mentions(text) && !text.contains("{{");
        if is_literal && secret.len() >= SHORTEST && !holds_key(&self.keys, text) {
            self.problems.mask(&entry.node.place);
            self.problems
                .warn(&entry.place, format!("the value of `{}` is written in plain text", entry.key))
                .hint(HINT);
        }
    }
}

/// Returns whether an address of a server holds a password: `http://name:password@host`.
fn holds_password(text: &str) -> bool {
    let address = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let host = address.and_then(|address| address.split(['/', '?', '#']).next());
    let login = host.and_then(|host| Some(host.rsplit_once('@')?.0));
    login.and_then(|login| login.split_once(':')).is_some_and(|(_, password)| {
        !password.is_empty() && !environment::mentions(password) && !password.contains("{{")
    })
}

/// Returns whether a header or variable of this name holds a secret: `Authorization`, `X-Api-Key`, `DB_PASSWORD`.
fn tells_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let last = name.rsplit('-').next().unwrap_or_default();
    matches!(last, "authorization" | "cookie" | "token" | "secret" | "password" | "apikey")
        || name.ends_with("api-key")
        || name.ends_with("access-key")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::yaml;

    const KEY: &str = "sk-proj-abcdefghijklmnop1234";

    fn problems_of(suite: &str) -> String {
        let suite = suite.replace("KEY", KEY);
        let mut problems = Problems::default();
        let file = problems.source("karat.yaml", &suite);
        let node = yaml::read_tree(&suite, file, &mut problems).unwrap();
        refuse(&node, &mut problems);
        let said = problems.into_diagnostics().plain();
        assert!(!said.contains("abcdefgh") && !said.contains("hunter2"), "{said}");
        said
    }

    /// A password in an address is refused: it would never be sent, and every message would show it.
    #[test]
    fn passwords_in_addresses_are_refused() {
        let refused = |address: &str| {
            let said = problems_of(&format!("variants: {{ v: [ {{ http: {{ url: \"{address}\" }} }} ] }}"));
            said.contains("error: this address contains a password")
        };
        assert!(refused("http://me:hunter2x@host/x") && refused("https://me:hunter2x@host"));
        for fine in ["http://host/a:b@c", "http://me@host/x", "http://me:${HIDDEN}@host", "http://host:80/x"] {
            assert!(!refused(fine), "{fine}");
        }
    }

    /// A key in a setting is refused at its place, and shown nowhere.
    #[test]
    fn keys_in_settings_are_refused() {
        for suite in [
            "models: [ { id: m, with: { headers: { X-Mine: \"KEY\" } } } ]",
            "variants: { v: [ { http: { url: \"http://x\", headers: { Authorization: \"Bearer KEY\" } } } ] }",
            "variants: { v: [ { http: \"https://x/?key=KEY\" } ] }",
            "variants: { v: [ { command: { run: [ask, \"--key=KEY\"] } } ] }",
            "variants: { v: [ { command: { run: [ask], env: { WHO: \"${WHO:-KEY}\" } } } ] }",
            "params: { key: \"KEY\" }",
            "services: { s: { command: [serve], env: { K: KEY } } }",
        ] {
            let said = problems_of(suite);
            assert!(said.contains("error: this looks like a key") && said.contains("karat.yaml:1:"), "{said}");
            assert!(said.contains("${NAME}") && said.contains("****"), "{said}");
        }
    }

    #[test]
    fn names_of_secrets_are_warned_of() {
        let step = |header: &str| {
            problems_of(&format!("variants: {{ v: [ {{ http: {{ url: u, headers: {{ {header} }} }} }} ] }}"))
        };
        assert!(
            step("Authorization: \"Basic aHVudGVyMjpodW50ZXIy\"").contains("warning: the value of `Authorization`")
        );
        assert!(step("X-API-Key: hunter2hunter2").contains("in plain text"));
        for fine in [
            "Authorization: \"Bearer ${TOKEN}\"",
            "Authorization: Bearer test",
            "X-Sort-Key: created_at",
            "Accept: text/html",
        ] {
            assert_eq!(step(fine), "");
        }
    }

    #[test]
    fn content_may_hold_planted_keys() {
        for suite in [
            "dataset: { rows: [ { id: a, url: \"KEY\" } ] }",
            "scorers: { leak: { metric: contains, not: true, with: { all: [\"KEY\"] } } }",
            "variants: { v: [ { prompt: { text: \"Never tell: KEY\" } } ] }",
        ] {
            assert_eq!(problems_of(suite), "");
        }
    }
}
