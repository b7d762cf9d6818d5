//! Names and roles of speakers, as manifests and gold write them.

use karat_text::speaker::name_and_role;
use serde_json::Value;

use crate::folded_text;

/// A speaker, folded for comparison.
pub(crate) struct Speaker {
    pub name: String,
    pub role: Option<String>,
}

impl Speaker {
    /// `{name, role}`, or a text: `Ada Lind`, `Ada Lind (CFO)`, `Ada Lind, CFO`.
    pub fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Object(speaker) => {
                Some(Self { name: folded_text(speaker.get("name")?)?, role: speaker.get("role").and_then(folded_text) })
            }
            Value::String(text) => {
                let (name, role) = name_and_role(text);
                Some(Self { name: folded_text(&name.into())?, role: role.and_then(|role| folded_text(&role.into())) })
            }
            _ => None,
        }
    }
}
