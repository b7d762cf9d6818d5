//! Cuts a text into sections by headers, and finds the section of an offset.

use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::analyses::OrderedMap;

/// The unit of offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Offsets {
    /// UTF-16 code units, as JavaScript and Java count.
    #[default]
    Utf16,
    /// Bytes of UTF-8.
    Bytes,
    /// Unicode code points, as Python counts.
    Chars,
}

impl Offsets {
    /// The length of a text.
    pub(super) fn length(self, text: &str) -> u64 {
        (match self {
            Self::Utf16 => text.encode_utf16().count(),
            Self::Bytes => text.len(),
            Self::Chars => text.chars().count(),
        }) as u64
    }
}

/// Start and end (excluded) of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SectionRange {
    /// First offset.
    pub start: u64,
    /// First offset after it.
    pub end: u64,
}

/// The headers that begin sections.
pub(super) struct Headers {
    offsets: Offsets,
    default: String,
    /// Name and patterns, in the suite's order.
    sections: Vec<(String, Vec<Regex>)>,
}

impl Headers {
    /// Compiles `{name: [pattern, …]}`, ignoring case; `^` and `$` are the ends of a line.
    pub fn new(offsets: Offsets, default: &str, sections: &Map<String, Value>) -> Result<Self, String> {
        let compiled = sections.iter().map(|(name, patterns)| {
            let Some(patterns) = patterns.as_array().filter(|patterns| patterns.iter().all(Value::is_string)) else {
                return Err(format!("the section `{name}` must be a list of patterns"));
            };
            if name == default {
                return Err(format!("`{name}` is the default section, which has no header"));
            }
            let regexes = patterns.iter().filter_map(Value::as_str).map(|pattern| {
                let built = RegexBuilder::new(pattern).case_insensitive(true).multi_line(true).crlf(true).build();
                built.map_err(|error| format!("the section `{name}`: {error}"))
            });
            Ok((name.clone(), regexes.collect::<Result<_, _>>()?))
        });
        Ok(Self { offsets, default: default.to_owned(), sections: compiled.collect::<Result<_, _>>()? })
    }

    /// The names of all sections, the default one first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.default.as_str()).chain(self.sections.iter().map(|(name, _)| name.as_str()))
    }

    /// Cuts a text at the headers. A section ends at the next header of another one, and may begin again after it; the text
    /// before the first header is the default section. If two headers start at the same offset, the first of the suite counts.
    pub fn cut(&self, text: &str) -> Sections {
        let starts = |patterns: &[Regex]| -> Vec<usize> {
            patterns.iter().flat_map(|it| it.find_iter(text)).map(|found| found.start()).collect()
        };
        let named = self.sections.iter().map(|(name, patterns)| (name.as_str(), starts(patterns)));
        let mut starts: Vec<(usize, &str)> =
            named.flat_map(|(name, starts)| starts.into_iter().map(move |start| (start, name))).collect();
        starts.sort_by_key(|(start, _)| *start);
        starts.dedup_by_key(|(start, _)| *start);
        starts.dedup_by_key(|(_, name)| *name);
        let length = self.offsets.length(text);
        let offset = |byte: usize| self.offsets.length(text.get(..byte).unwrap_or(text));
        let starts: Vec<(u64, &str)> = starts.into_iter().map(|(byte, name)| (offset(byte), name)).collect();
        let end = |after: usize| starts.get(after).map_or(length, |(start, _)| *start);
        let main = (self.default.clone(), SectionRange { start: 0, end: end(0) });
        let others = starts
            .iter()
            .enumerate()
            .map(|(at, (start, name))| ((*name).to_owned(), SectionRange { start: *start, end: end(at + 1) }));
        Sections { length, found: std::iter::once(main).chain(others).collect() }
    }

    /// The first range of every section by name; `None` for sections without a header.
    pub fn bounds(&self, sections: &Sections) -> OrderedMap<Option<SectionRange>> {
        let bounds_of =
            |name: &str| sections.found.iter().find(|(known, _)| known == name).map(|(_, stretch)| *stretch);
        self.names().map(|name| (name.to_owned(), bounds_of(name))).collect()
    }

    /// The section of the first occurrence of `piece`, ignoring case; the default section if it does not occur.
    pub fn locate<'s>(&self, sections: &'s Sections, text: &str, piece: &str) -> &'s str {
        let piece = piece.trim();
        let lower = || {
            let pattern = RegexBuilder::new(&regex::escape(piece)).case_insensitive(true).build().ok()?;
            Some(pattern.find(text)?.start())
        };
        let position = if piece.is_empty() { None } else { text.find(piece).or_else(lower) };
        sections.at(position.map_or(0, |byte| self.offsets.length(&text[..byte])))
    }
}

/// The sections of one text, by their start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sections {
    /// Length of the text.
    pub length: u64,
    found: Vec<(String, SectionRange)>,
}

impl Sections {
    /// The section of an offset.
    pub fn at(&self, offset: u64) -> &str {
        let inside = self.found.iter().rev().find(|(_, stretch)| stretch.start <= offset);
        inside.or(self.found.first()).map_or("", |(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn headers(offsets: Offsets) -> Headers {
        let sections = json!({
            "technicalSpecs": [r"\*\*TECHNICAL SPECS\*\*", r"\*\*Technical Specifications\*\*"],
            "alternatives": [r"\*\*ALTERNATIVE", r"\*\*VARIATIONS\*\*"],
        });
        Headers::new(offsets, "main", sections.as_object().unwrap()).unwrap()
    }

    /// SP-04: main ends at the first header, sections do not overlap, whatever their order and case.
    #[test]
    fn headers_cut_a_text() {
        let headers = headers(Offsets::Utf16);
        let text = "A dog runs.\n**Alternatives**\nA cat.\n**technical specs**\n24 fps";
        let bounds = headers.bounds(&headers.cut(text));
        let technical = text.find("**technical").unwrap() as u64;
        assert_eq!(bounds.get("main"), Some(&Some(SectionRange { start: 0, end: 12 })));
        assert_eq!(bounds.get("alternatives"), Some(&Some(SectionRange { start: 12, end: technical })));
        assert_eq!(
            bounds.get("technicalSpecs"),
            Some(&Some(SectionRange { start: technical, end: text.len() as u64 }))
        );
        let plain = headers.cut("No header.");
        assert_eq!(headers.bounds(&plain).get("alternatives"), Some(&None));
        assert_eq!(plain.at(3), "main");
    }

    /// SP-04: offsets count UTF-16 code units, bytes or code points; emoji and other scripts tag right.
    #[test]
    fn offsets_count_in_their_unit() {
        let text = "🎬 犬が走る **VARIATIONS** 猫";
        let byte = text.find("**").unwrap();
        for (unit, start) in [(Offsets::Utf16, 8), (Offsets::Bytes, byte as u64), (Offsets::Chars, 7)] {
            let sections = headers(unit).cut(text);
            assert_eq!((sections.at(start - 1), sections.at(start)), ("main", "alternatives"), "{unit:?}");
            assert_eq!(sections.length, unit.length(text));
        }
    }

    #[test]
    fn a_piece_is_located_by_its_text() {
        let headers = headers(Offsets::Chars);
        let text = "A red coat. **VARIATIONS** A Blue coat.";
        let sections = headers.cut(text);
        assert_eq!(headers.locate(&sections, text, "blue coat"), "alternatives");
        assert_eq!(headers.locate(&sections, text, "red coat"), "main");
        assert_eq!(headers.locate(&sections, text, "nowhere"), "main");
    }

    /// F28: `^` and `$` are the ends of a line, also where lines end as in Windows, and a section may begin again.
    #[test]
    fn headers_stand_in_any_line_and_may_repeat() {
        let lines = json!({"schedule": ["^SCHEDULE$"], "specs": ["^#+ specs"]});
        let headers = Headers::new(Offsets::Chars, "main", lines.as_object().unwrap()).unwrap();
        for text in ["A dog.\nSCHEDULE\nMonday", "A dog.\r\nSCHEDULE\r\nMonday", "SCHEDULE"] {
            let sections = headers.cut(text);
            assert_eq!(sections.at(sections.length), "schedule", "{text:?}");
        }
        assert_eq!(headers.cut("The SCHEDULE is full").at(9), "main");
        let text = "## Specs\n24 fps\nSCHEDULE\nMonday\n## Specs\n30 fps\n# specs\nred";
        let sections = headers.cut(text);
        let at = |piece: &str| headers.locate(&sections, text, piece).to_owned();
        assert_eq!(["24 fps", "Monday", "30 fps", "red"].map(at), ["specs", "schedule", "specs", "specs"]);
        let bounds = headers.bounds(&sections);
        assert_eq!(bounds.get("specs"), Some(&Some(SectionRange { start: 0, end: 16 })));
    }

    #[test]
    fn bad_sections_are_refused() {
        let refused =
            |sections: Value| Headers::new(Offsets::Chars, "main", sections.as_object().unwrap()).err().unwrap();
        assert!(refused(json!({"a": ["("]})).contains("`a`"));
        assert!(refused(json!({"a": "x"})).contains("list"));
        assert!(refused(json!({"main": ["x"]})).contains("default"));
    }
}
