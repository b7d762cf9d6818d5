//! Who speaks, as manifests and gold write it.

use karat_text::speaker::name_and_role;
use serde_json::Value;

use super::said;

/// Somebody who speaks, folded for comparison.
pub(super) struct Speaker {
    pub name: String,
    pub role: Option<String>,
}

impl Speaker {
    /// `{name, role}`, or a text: `Ada Lind`, `Ada Lind (CFO)`, `Ada Lind, CFO`.
    pub fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Object(speaker) => {
                Some(Self { name: said(speaker.get("name")?)?, role: speaker.get("role").and_then(said) })
            }
            Value::String(text) => {
                let (name, role) = name_and_role(text);
                Some(Self { name: said(&name.into())?, role: role.and_then(|role| said(&role.into())) })
            }
            _ => None,
        }
    }
}
