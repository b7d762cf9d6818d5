//! What the gold answer of a question about filings rests on (RG-02): `filing_evidence`, the relevant chunks by space,
//! and `filing_gold`, the expected value with its unit and who answered.
//!
//! The row's `gold` names citations, source tables, a quote, speakers, an expected value. Chunk manifests and tables say
//! which chunks stand at those places, who answered there, and whether the value is in the tables. What gold and filings
//! contradict each other in is reported and changes nothing.

mod figure;
mod library;

use serde_json::{Map, Value, json};

use super::{Resolved, Resolver, Shelf};
use figure::{Cell, Figure, Origin, named, origin};
use library::{Chunk, Library, SPACES, Spot, said, words};

/// Reads the filings: the folders of chunks and of tables.
fn library(folders: &[String], shelf: &mut Shelf<'_>) -> Library {
    let folder = |at: usize| folders.get(at).map(String::as_str).unwrap_or_default();
    Library::read(folder(0), folder(1), shelf)
}

/// `filing_evidence`.
pub(super) fn evidence(folders: &[String], shelf: &mut Shelf<'_>) -> Box<dyn Resolver> {
    Box::new(ByPlace(library(folders, shelf)))
}

/// `filing_gold`.
pub(super) fn gold(folders: &[String], shelf: &mut Shelf<'_>) -> Box<dyn Resolver> {
    Box::new(ByTable(library(folders, shelf)))
}

/// The relevant chunks: ids by space.
struct ByPlace(Library);

impl Resolver for ByPlace {
    fn resolve(&self, row: &Value) -> Option<Resolved> {
        let mut evidence = Evidence::of(&self.0, row)?;
        let chunks = evidence.chunks();
        evidence.slides(&chunks);
        let ids = |space: &str| -> Vec<&str> {
            chunks.iter().filter(|it| it.space == space).map(|it| it.id.as_str()).collect()
        };
        let value = SPACES.map(|space| (space.to_owned(), json!(ids(space)))).into_iter().collect();
        Some(Resolved { value: Value::Object(value), mismatches: evidence.mismatches })
    }
}

/// The expected value, and who answered.
struct ByTable(Library);

impl Resolver for ByTable {
    fn resolve(&self, row: &Value) -> Option<Resolved> {
        let mut evidence = Evidence::of(&self.0, row)?;
        let mut value = Map::new();
        evidence.number(&mut value);
        let chunks = evidence.quietly(Evidence::chunks);
        evidence.speakers(&chunks, &mut value);
        Some(Resolved { value: Value::Object(value), mismatches: evidence.mismatches })
    }
}

/// What is gathered for one row.
struct Evidence<'a> {
    library: &'a Library,
    gold: &'a Value,
    row: &'a Value,
    mismatches: Vec<String>,
}

impl<'a> Evidence<'a> {
    /// Of a row with a gold answer.
    fn of(library: &'a Library, row: &'a Value) -> Option<Self> {
        let gold = row.get("gold").filter(|gold| gold.is_object())?;
        Some(Self { library, gold, row, mismatches: Vec::new() })
    }

    /// Does something whose mismatches another column reports.
    fn quietly<T>(&mut self, find: impl Fn(&mut Self) -> T) -> T {
        let before = self.mismatches.len();
        let found = find(self);
        self.mismatches.truncate(before);
        found
    }

    fn list(&self, key: &str) -> &'a [Value] {
        self.gold.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    fn quote(&self) -> Option<&'a str> {
        let quote = self.gold.get("quote")?;
        quote.get("text").unwrap_or(quote).as_str().filter(|text| !text.trim().is_empty())
    }

    /// The relevant chunks, in the manifests' order.
    fn chunks(&mut self) -> Vec<&'a Chunk> {
        let tables: Vec<String> = self.list("source_table_ids").iter().filter_map(said).collect();
        let mut relevant = vec![false; self.library.chunks.len()];
        for citation in self.list("citations") {
            let spot = Spot::of(citation);
            if spot.is_vague() {
                self.mismatches.push(format!("the citation {spot} names no page, slide or table"));
                continue;
            }
            let at = |chunk: &Chunk| match chunk.space {
                "table" => spot.table.is_some() && chunk.spot.table == spot.table && chunk.spot.is_of(&spot),
                _ => chunk.spot.shares_page(&spot),
            };
            let mut found = false;
            for (_, relevant) in self.library.chunks.iter().zip(&mut relevant).filter(|(chunk, _)| at(chunk)) {
                (*relevant, found) = (true, true);
            }
            if !found && !self.library.chunks.is_empty() {
                self.mismatches.push(format!("no chunk is at the citation {spot}"));
            }
        }
        for (chunk, relevant) in self.library.chunks.iter().zip(&mut relevant) {
            *relevant |= chunk.space == "table" && chunk.spot.table.as_ref().is_some_and(|id| tables.contains(id));
        }
        let chunks = self.library.chunks.iter().zip(relevant).filter(|(_, relevant)| *relevant);
        self.holding_the_quote(chunks.map(|(chunk, _)| chunk).collect())
    }

    /// Of relevant texts only those that hold the quote, where the gold has one that any of them holds.
    fn holding_the_quote(&mut self, chunks: Vec<&'a Chunk>) -> Vec<&'a Chunk> {
        let Some(quote) = self.quote().map(words) else { return chunks };
        let holds = |chunk: &&Chunk| chunk.text.contains(&quote);
        if !chunks.iter().any(holds) {
            if !chunks.is_empty() {
                self.mismatches.push("no chunk at the gold's citations holds the quote".to_owned());
            }
            return chunks;
        }
        chunks.into_iter().filter(|chunk| chunk.space != "text" || holds(chunk)).collect()
    }

    /// The expected value with its unit and currency, filled from the tables where the gold leaves them out.
    fn number(&mut self, value: &mut Map<String, Value>) {
        let cells = self.cells();
        let text = |key: &str| self.gold.get(key).and_then(Value::as_str).map(str::to_owned);
        let (mut expected, mut unit, mut currency) =
            (self.gold.get("expected_value").filter(|it| !it.is_null()).cloned(), text("unit"), text("currency"));
        let cell = match self.gold.get("cell").filter(|it| !it.is_null()) {
            Some(wanted) => {
                let cell = named(&cells, wanted);
                if cell.is_none() {
                    self.mismatches.push(format!("no source table has the cell {wanted}"));
                }
                cell
            }
            None => None,
        };
        let found = match (expected.as_ref().and_then(Value::as_f64), cell) {
            (None, Some(cell)) if expected.is_none() => {
                expected = serde_json::Number::from_f64(cell.value).map(Value::Number);
                unit = Some(cell.unit.clone());
                Some(cell)
            }
            (Some(number), Some(cell)) => {
                self.check(number, unit.as_deref(), std::slice::from_ref(cell));
                Some(cell)
            }
            (Some(number), None) if !cells.is_empty() => {
                self.check(number, unit.as_deref(), &cells).and_then(|origin| {
                    let (Origin::Cell(cell) | Origin::Computed(cell)) = origin;
                    cells.iter().find(|it| *it == cell)
                })
            }
            _ => None,
        };
        if let Some(cell) = found {
            unit = unit.or_else(|| Some(cell.unit.clone()).filter(|unit| !unit.is_empty()));
            match (&currency, &cell.currency) {
                (Some(gold), Some(own)) if !gold.eq_ignore_ascii_case(own) => {
                    self.mismatches.push(format!("the gold is in {gold}, its table is in {own}"));
                }
                (None, own) if expected.is_some() && !is_share(unit.as_deref()) => currency.clone_from(own),
                _ => {}
            }
        }
        let members =
            [("expected_value", expected), ("unit", unit.map(Value::from)), ("currency", currency.map(Value::from))];
        value.extend(members.map(|(name, member)| (name.to_owned(), member.unwrap_or(Value::Null))));
    }

    /// Holds an expected value against cells.
    fn check<'c>(&mut self, number: f64, unit: Option<&str>, cells: &'c [Cell]) -> Option<Origin<'c>> {
        let bound = |key: &str| self.gold.get(key).and_then(Value::as_f64).unwrap_or(0.0);
        let unit = unit.unwrap_or_else(|| cells.first().map(|cell| cell.unit.as_str()).unwrap_or_default());
        let expected = Figure::new(number, unit);
        let abs = Figure::new(bound("tolerance_abs"), unit).value;
        let found = origin(cells, expected, bound("tolerance_rel"), abs);
        if found.is_none() {
            let tables: Vec<String> = self.table_ids().collect();
            self.mismatches.push(format!(
                "the expected value {number} {unit} is not in {}, nor made of two values of a row",
                tables.join(", ")
            ));
        }
        found
    }

    fn table_ids(&self) -> impl Iterator<Item = String> + use<'a> {
        let cited = self.list("citations").iter().filter_map(|citation| said(citation.get("table_id")?));
        let mut seen = std::collections::BTreeSet::new();
        let own = self.list("source_table_ids").iter().filter_map(said);
        own.chain(cited).filter(move |id| seen.insert(id.clone()))
    }

    /// The numbers of the source tables.
    fn cells(&mut self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for id in self.table_ids() {
            match self.library.tables.get(&id) {
                Some(tables) => cells.extend(tables.iter().flat_map(Cell::all)),
                None if self.library.tables.is_empty() => {}
                None => self.mismatches.push(format!("there is no table {id}")),
            }
        }
        cells
    }

    /// Who answers in the gold's chunks; where nobody does, the chunks of the quarter in which somebody does.
    fn speakers(&mut self, chunks: &[&Chunk], value: &mut Map<String, Value>) {
        let answering: Vec<&Value> = chunks.iter().flat_map(|chunk| &chunk.answer_speakers).collect();
        let wanted = self.list("speakers");
        if !wanted.is_empty() && answering.is_empty() {
            let quarter = self.row.get("metadata").and_then(|metadata| said(metadata.get("quarter")?));
            let near = |chunk: &&Chunk| !chunk.answer_speakers.is_empty() && chunk.spot.quarter == quarter;
            let faces: Vec<&Value> = self.library.chunks.iter().filter(near).map(|chunk| &chunk.face).collect();
            value.insert("qa_chunks".to_owned(), json!(faces));
        }
        let name = |speaker: &Value| said(speaker.get("name").unwrap_or(speaker));
        let spoken: Vec<String> = chunks
            .iter()
            .filter_map(|chunk| chunk.speaker.as_ref())
            .chain(answering.iter().copied())
            .filter_map(name)
            .collect();
        for speaker in wanted.iter().filter_map(name).filter(|speaker| !spoken.is_empty() && !spoken.contains(speaker))
        {
            self.mismatches.push(format!("{speaker} does not speak in the gold's chunks"));
        }
        value.insert("answer_speakers".to_owned(), json!(answering));
        value.entry("qa_chunks").or_insert_with(|| json!([]));
    }

    /// Holds the titles of slides against the filings.
    fn slides(&mut self, chunks: &[&Chunk]) {
        for slide in self.list("slides") {
            let (Some(title), Some(number)) = (slide.get("title").and_then(said), slide.get("slide").and_then(said))
            else {
                continue;
            };
            let own = chunks.iter().filter(|chunk| chunk.spot.slide.as_ref() == Some(&number));
            let titles: Vec<&String> = own.filter_map(|chunk| chunk.title.as_ref()).collect();
            if !titles.is_empty() && !titles.contains(&&title) {
                self.mismatches.push(format!("slide {number} has not the gold's title"));
            }
        }
    }
}

fn is_share(unit: Option<&str>) -> bool {
    Figure::new(0.0, unit.unwrap_or_default()).is_share
}

#[cfg(test)]
mod tests;
