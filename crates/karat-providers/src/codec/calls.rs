//! Calls of tools: ids where a provider gives none, and raw turns.

use std::sync::Arc;

use karat_types::{Message, RawTurn};
use serde_json::value::RawValue;

/// The beginning of ids that Karat makes. Protocols that can do without ids leave these out.
const MADE: &str = "karat-";

/// The id of a call: the provider's, or one made of the body and the call's position.
pub(crate) fn call_id(id: Option<String>, body: &[u8], at: usize) -> String {
    match id.filter(|id| !id.is_empty()) {
        Some(id) => id,
        None => format!("{MADE}{}-{at}", &blake3::hash(body).to_hex()[..12]),
    }
}

/// Returns whether the provider knows an id.
pub(crate) fn is_known_id(id: &str) -> bool {
    !id.starts_with(MADE)
}

/// A turn as its provider wrote it.
pub(crate) fn raw_turn(protocol: &str, json: &RawValue) -> RawTurn {
    RawTurn { protocol: protocol.into(), json: Arc::from(json.to_owned()) }
}

/// The turn of this protocol that a message carries.
pub(crate) fn raw_of<'a>(message: &'a Message, protocol: &str) -> Option<&'a RawValue> {
    message.raw_turn.as_ref().filter(|turn| *turn.protocol == *protocol).map(|turn| &*turn.json)
}

/// The name of the tool whose call a message answers.
pub(crate) fn called_name<'a>(messages: &'a [Message], answer: &Message) -> Option<&'a str> {
    let id = answer.tool_call_id.as_deref()?;
    let mut calls = messages.iter().rev().flat_map(|message| &message.tool_calls);
    calls.find(|call| call.id == id).map(|call| call.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TG-11: calls without an id get one, which differs by call and reply.
    #[test]
    fn calls_without_an_id_get_one() {
        let ids = [call_id(None, b"a", 0), call_id(Some(String::new()), b"a", 1), call_id(None, b"b", 0)];
        assert!(ids.iter().all(|id| !is_known_id(id)), "{ids:?}");
        assert!(ids[0] != ids[1] && ids[0] != ids[2]);
        assert_eq!(call_id(Some("c1".to_owned()), b"a", 0), "c1");
    }
}
