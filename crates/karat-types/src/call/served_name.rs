//! The name under which a model was served: a provider may serve another model under the same name later.

use serde::{Deserialize, Serialize};

/// A name longer than this is cut: no provider has one, and it is kept with every cell.
const LONGEST: usize = 200;

/// The name under which a provider says it answered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ServedName {
    /// The name that was asked: `model` of the registry entry.
    pub asked: String,
    /// The name that came back; `None` where it is the one that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
}

impl ServedName {
    /// From what was asked and what came back; `None` where nothing came.
    pub fn from_reply(asked: &str, said: &str) -> Option<Self> {
        let said = said.trim();
        let other = || said.chars().take(LONGEST).collect();
        (!said.is_empty()).then(|| Self { asked: asked.to_owned(), other: (said != asked).then(other) })
    }

    /// The name that came back.
    pub fn name(&self) -> &str {
        self.other.as_deref().unwrap_or(&self.asked)
    }

    /// Adds one to a list that has each once.
    pub fn add_to(self, known: &mut Vec<Self>) {
        if !known.contains(&self) {
            known.push(self);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PE-16: what came back is kept once, the asked name in short, an endless one cut; nothing is nothing.
    #[test]
    fn a_name_is_kept_once() {
        let mut known = Vec::new();
        for said in ["gpt-5", " gpt-5-2026-01 ", "gpt-5-2026-01", "", " "] {
            ServedName::from_reply("gpt-5", said).into_iter().for_each(|it| it.add_to(&mut known));
        }
        assert_eq!(known.iter().map(ServedName::name).collect::<Vec<_>>(), ["gpt-5", "gpt-5-2026-01"]);
        assert_eq!(known[0].other, None);
        assert_eq!(ServedName::from_reply("m", &"é".repeat(9_999)).unwrap().name().chars().count(), LONGEST);
    }
}
