//! The systems of results: each is a provider and a prompt, as the results themselves name them.
//!
//! `results.prompts` lists them, too, with promptfoo's figures, and a result has the number of its own there. Versions of
//! promptfoo number differently, and files that were filtered or merged keep numbers of lists that are gone. So a result
//! belongs to the provider and prompt that it names; a number that says otherwise is noted.

use std::collections::HashMap;

use serde_json::Value;

use crate::promptfoo::values::text_of;
use crate::report::ImportReport;
use crate::text::names::valid_id;

/// The system that a result names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Named {
    /// Its number, `promptIdx`.
    number: u64,
    /// Id and label of the provider.
    provider: [Option<String>; 2],
    /// Id and label of the prompt.
    prompt: [Option<String>; 2],
}

/// A system of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct System {
    /// The name of its variant.
    pub name: String,
    /// Its index in `results.prompts`; none if it is not listed.
    pub listed: Option<usize>,
}

/// The systems of the file, in the order of the list, then in that of their first results.
#[derive(Debug, Default)]
pub(super) struct Systems {
    pub all: Vec<System>,
    by_name: HashMap<Named, usize>,
}

fn text(value: Option<&Value>) -> Option<String> {
    value.filter(|value| !value.is_null()).map(text_of).filter(|text| !text.is_empty())
}

impl Named {
    /// The result as it is written; `None` without a number.
    pub fn of(result: &Value) -> Option<Self> {
        let provider = match result.get("provider") {
            Some(Value::Object(provider)) => [text(provider.get("id")), text(provider.get("label"))],
            provider => [text(provider), None],
        };
        let label = result.get("prompt").and_then(|prompt| prompt.get("label"));
        let id = result.get("promptId").or_else(|| result.get("prompt")?.get("id"));
        let number = result.get("promptIdx").and_then(Value::as_u64)?;
        Some(Self { number, provider, prompt: [text(id), text(label)] })
    }

    /// The provider's name in messages and variants.
    fn provider(&self) -> &str {
        let [id, label] = &self.provider;
        label.as_deref().or(id.as_deref()).unwrap_or("provider")
    }

    /// Returns true if an entry of the list may be this system.
    fn fits(&self, listed: &Value) -> bool {
        let provider = provider_of(listed);
        let is_provider = self.provider == [None, None]
            || provider.is_empty()
            || self.provider.iter().flatten().any(|name| *name == provider);
        let [id, label] = &self.prompt;
        let same = |own: &Option<String>, key: &str| Some(*own.as_ref()? == text(listed.get(key))?);
        is_provider && same(id, "id").or_else(|| same(label, "label")).unwrap_or(true)
    }
}

/// The provider's name in an entry of the list.
fn provider_of(listed: &Value) -> String {
    let provider = listed.get("provider").unwrap_or(&Value::Null);
    text(provider.get("label"))
        .or_else(|| text(provider.get("id")))
        .or_else(|| text(Some(provider)))
        .unwrap_or_default()
}

impl Systems {
    /// The systems of results, in the order of their first ones, beside the list. `prompts` are the texts of the results'
    /// prompts, for names.
    pub fn of(named: &[(Named, Value)], list: &[Value], report: &mut ImportReport) -> Self {
        let mut entry_of: Vec<Option<usize>> = named
            .iter()
            .map(|(it, _)| Some(it.number as usize).filter(|at| list.get(*at).is_some_and(|entry| it.fits(entry))))
            .collect();
        let mut taken: Vec<bool> = (0..list.len()).map(|at| entry_of.contains(&Some(at))).collect();
        for (at, (it, _)) in named.iter().enumerate().filter(|(at, _)| entry_of[*at].is_none()).collect::<Vec<_>>() {
            let fitting = |is_taken: bool| {
                let mut all = (0..list.len()).filter(|at| taken[*at] == is_taken && it.fits(&list[*at]));
                all.next().filter(|_| all.next().is_none())
            };
            let is_nobodys = |at: &usize| {
                !taken[*at] && !named.iter().any(|(other, _)| list.get(*at).is_some_and(|entry| other.fits(entry)))
            };
            let same_number = Some(it.number as usize).filter(|at| *at < list.len());
            let found = fitting(false).or_else(|| fitting(true)).or_else(|| same_number.filter(is_nobodys));
            if let Some(found) = found {
                taken[found] = true;
                entry_of[at] = Some(found);
            }
            note_contradiction(it, same_number.map(|at| &list[at]), found, report);
        }
        for (at, entry) in list.iter().enumerate().filter(|(at, _)| !taken[*at]) {
            let text =
                format!("no result names its provider `{}` with its prompt, so it is not a system", provider_of(entry));
            report.note(format!("results.prompts[{at}]"), text);
        }
        let mut systems = Self::default();
        let mut prompts = Prompts::default();
        for (at, entry) in list.iter().enumerate().filter(|(at, _)| taken[*at]) {
            let prompt = prompts.name(entry);
            let first = named.iter().zip(&entry_of).find(|(_, own)| **own == Some(at));
            let named_by = first.filter(|((it, _), _)| it.provider != [None, None]);
            let provider = named_by.map_or_else(|| provider_of(entry), |((it, _), _)| it.provider().to_owned());
            let names = named.iter().zip(&entry_of).filter(|(_, own)| **own == Some(at)).map(|((it, _), _)| it);
            systems.add(&prompt, &provider, Some(at), names);
        }
        for ((it, prompt), _) in named.iter().zip(&entry_of).filter(|(_, own)| own.is_none()) {
            systems.add(&prompts.name(prompt), it.provider(), None, std::iter::once(it));
        }
        systems
    }

    fn add<'n>(&mut self, prompt: &str, provider: &str, listed: Option<usize>, names: impl Iterator<Item = &'n Named>) {
        let at = self.all.len();
        let name = format!("{}.{}", valid_id(prompt, "prompt"), valid_id(provider, "provider"));
        self.all.push(System { name, listed });
        self.by_name.extend(names.map(|named| (named.clone(), at)));
    }

    /// The index of the system that a result belongs to.
    pub fn find(&self, named: &Named) -> Option<usize> {
        self.by_name.get(named).copied()
    }
}

/// Notes that the number of a result is not that of its provider and prompt in the list.
fn note_contradiction(it: &Named, numbered: Option<&Value>, found: Option<usize>, report: &mut ImportReport) {
    let Some(numbered) = numbered.map(provider_of).or((found.is_some()).then(String::new)) else { return };
    let number = if numbered.is_empty() {
        "is not in `results.prompts`".to_owned()
    } else {
        format!("is that of `{numbered}` in `results.prompts`, with another provider or prompt")
    };
    let figures = match found {
        Some(at) => format!("they count for `{}`, with the figures of `results.prompts[{at}]`", it.provider()),
        None => format!("they count for `{}`, of which promptfoo's own figures are not known", it.provider()),
    };
    report.note(format!("results[promptIdx={}]", it.number), format!("the number {number}: {figures}"));
}

/// Names of prompts.
#[derive(Default)]
struct Prompts {
    /// The label of each, or its text.
    known: Vec<String>,
}

impl Prompts {
    /// The label of a prompt, or its position among those without one.
    fn name(&mut self, prompt: &Value) -> String {
        let text = |key: &str| prompt.get(key).map(text_of).unwrap_or_default();
        let (raw, label) = (text("raw"), text("label"));
        let own = if label.is_empty() { raw.clone() } else { label.clone() };
        let position = self.known.iter().position(|known| *known == own).unwrap_or_else(|| {
            self.known.push(own);
            self.known.len() - 1
        });
        let short = label.split(": ").next().unwrap_or_default();
        // A prompt without a label of its own has its text as label.
        let is_own = !label.is_empty() && label != raw && !raw.starts_with(short) && !short.contains("{{");
        if is_own { short.to_owned() } else { format!("prompt-{}", position + 1) }
    }
}
