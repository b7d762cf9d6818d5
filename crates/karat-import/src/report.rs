//! The counts of an import, and everything that is not carried over: `import.json` and `import.md`.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::source::Source;

/// Format of `import.json`.
const FORMAT: &str = "karat.import/1";

/// Lines that `import.md` lists of each kind, at most; `import.json` has all.
const LISTED: usize = 200;

/// The result of an import, as `import.json` has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ImportReport {
    schema: &'static str,
    /// Name of the tool's kind on the command line.
    pub kind: &'static str,
    /// Form of the source, and whether it brings outputs.
    pub shape: Shape,
    /// The imported file.
    pub source: SourceFile,
    /// The tool that wrote it.
    pub tool: Tool,
    /// Numbers of what was read and made.
    pub counts: Counts,
    /// Constructs that the suite lacks.
    pub dropped: Vec<Dropped>,
    /// Constructs whose figures may differ.
    pub approximate: Vec<Approximate>,
    /// Remarks on single places.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// Figures of the source, to be compared with the run's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
    /// True if the source names no model that can be asked: a run needs one.
    #[serde(skip)]
    pub lacks_model: bool,
    /// Positions in the lists by what stands there, so that long lists are searched quickly.
    #[serde(skip)]
    places: HashMap<(&'static str, String, String), usize>,
}

/// The suite's outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// A configuration: outputs come from models when the suite runs.
    Live,
    /// Results: outputs are recorded.
    Recorded,
}

/// A file and its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceFile {
    /// File name.
    pub name: String,
    /// Hash of its bytes; of a folder, of the names and hashes of what was read below it.
    pub blake3: String,
}

/// A tool and its version, where the file says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tool {
    /// Name of the tool.
    pub name: String,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Numbers of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Rows of the dataset.
    pub samples: u64,
    /// Variants, times models where outputs come from models.
    pub systems: u64,
    /// Recorded outputs.
    pub outputs: u64,
    /// Scorers and checks of rows.
    pub checks: u64,
    /// Dropped constructs.
    pub dropped: u64,
    /// Approximate constructs.
    pub approximate: u64,
}

/// A construct that is not carried over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// Address in the source, as `tests[3].assert[1]` or `tests.csv:9.__expected`.
    pub path: String,
    /// Line in the file, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The source's own name of it.
    pub construct: String,
    /// Reason.
    pub why: String,
    /// A replacement in a suite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
    /// Samples that it concerned.
    pub samples: u64,
}

/// A construct that is carried over with another formula.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Approximate {
    /// Address in the source.
    pub path: String,
    /// The source's own name of it.
    pub construct: String,
    /// The metric that stands for it.
    pub metric: String,
    /// The difference, in a sentence without a full stop.
    pub difference: String,
}

/// A remark on a place of the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Address in the source.
    pub path: String,
    /// The remark, in a sentence without a full stop.
    pub text: String,
}

/// A figure of the source that the recorded run must give again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Address in the source.
    pub path: String,
    /// The variant that has it.
    pub variant: String,
    /// The metric: its mean over the samples is the figure.
    pub metric: String,
    /// The source's value.
    pub value: f64,
}

impl ImportReport {
    pub(crate) fn new(kind: &'static str, source: &Source) -> Self {
        Self {
            schema: FORMAT,
            kind,
            shape: Shape::Live,
            source: SourceFile { name: source.name(), blake3: String::new() },
            tool: Tool { name: kind.to_owned(), version: None },
            counts: Counts::default(),
            dropped: Vec::new(),
            approximate: Vec::new(),
            notes: Vec::new(),
            figures: Vec::new(),
            lacks_model: false,
            places: HashMap::new(),
        }
    }

    /// The position of what is listed under these names already; otherwise remembers `next` as its position.
    fn position(&mut self, list: &'static str, path: &str, what: &str, next: usize) -> Option<usize> {
        let key = (list, path.to_owned(), what.to_owned());
        let known = self.places.get(&key).copied();
        if known.is_none() {
            self.places.insert(key, next);
        }
        known
    }

    /// Lists a construct as dropped; one that is listed with the same place only gets its samples added.
    pub(crate) fn drop(&mut self, dropped: Dropped) {
        let known = self.position("dropped", &dropped.path, &dropped.construct, self.dropped.len());
        match known.and_then(|at| self.dropped.get_mut(at)) {
            Some(known) => known.samples += dropped.samples,
            None => self.dropped.push(dropped),
        }
    }

    /// Lists a construct as approximate, once a place.
    pub(crate) fn approximate(&mut self, approximate: Approximate) {
        if self.position("approximate", &approximate.path, &approximate.construct, self.approximate.len()).is_none() {
            self.approximate.push(approximate);
        }
    }

    pub(crate) fn note(&mut self, path: impl Into<String>, text: impl Into<String>) {
        let note = Note { path: path.into(), text: text.into() };
        if self.position("note", &note.path, &note.text, self.notes.len()).is_none() {
            self.notes.push(note);
        }
    }

    /// Returns true if nothing was dropped or stands in another form, and the suite can run as it is.
    pub fn is_whole(&self) -> bool {
        self.dropped.is_empty() && self.approximate.is_empty() && !self.lacks_model
    }

    /// Dropped constructs by name, with the number of places and the reason.
    pub fn dropped_by_construct(&self) -> Vec<(&str, usize, &str)> {
        let mut by: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
        for dropped in &self.dropped {
            by.entry(&dropped.construct).or_insert((0, &dropped.why)).0 += 1;
        }
        by.into_iter().map(|(construct, (count, why))| (construct, count, why)).collect()
    }

    /// The report for people.
    pub(crate) fn to_markdown(&self) -> String {
        let counts = &self.counts;
        let version = self.tool.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        let of = |number: u64, noun: &str| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
        let mut text = format!(
            "# Import of {}\n\nFrom {}{version}: {}, {}, {}, {}.\n",
            code(&self.source.name),
            self.tool.name,
            of(counts.samples, "sample"),
            of(counts.systems, "system"),
            of(counts.outputs, "output"),
            of(counts.checks, "check")
        );
        let dropped = self.dropped.iter().map(|it| {
            let instead = it.instead.as_ref().map(|instead| format!(" Instead: {instead}.")).unwrap_or_default();
            format!("{} at {}: {}.{instead}", code(&it.construct), code(&it.path), it.why)
        });
        let approximate = self.approximate.iter().map(|it| {
            format!("{} at {}: {}, {}.", code(&it.construct), code(&it.path), code(&it.metric), it.difference)
        });
        let notes = self.notes.iter().map(|it| format!("{}: {}.", code(&it.path), it.text));
        let sections: [(&str, Vec<String>); 3] = [
            ("Not carried over", dropped.collect()),
            ("Approximate", approximate.collect()),
            ("Notes", notes.collect()),
        ];
        for (title, lines) in sections.into_iter().filter(|(_, lines)| !lines.is_empty()) {
            text.push_str(&format!("\n## {title}\n\n"));
            lines.iter().take(LISTED).for_each(|line| text.push_str(&format!("- {line}\n")));
            if lines.len() > LISTED {
                text.push_str(&format!("- and {} more, in `import.json`\n", lines.len() - LISTED));
            }
        }
        if self.is_whole() {
            text.push_str("\nEverything was carried over.\n");
        }
        text
    }
}

/// A text of the source as code on one line.
fn code(text: &str) -> String {
    let line: String = text.chars().map(|char| if char.is_control() || char == '`' { ' ' } else { char }).collect();
    format!("`{}`", line.trim())
}
