//! The evidence for the gold answer of one row.

use serde_json::{Map, Number, Value, json};

use crate::figure::{Cell, Expected, Unit, computed_source, equal, is_same_currency, named_cell};
use crate::folded_text;
use crate::library::{Chunk, Library, Spot, words};
use crate::period::Period;
use crate::speaker::Speaker;

/// The evidence that is gathered for one row.
pub(crate) struct Evidence<'a> {
    pub(crate) library: &'a Library,
    pub(crate) gold: &'a Value,
    pub(crate) row: &'a Value,
    pub(crate) mismatches: Vec<String>,
}

impl<'a> Evidence<'a> {
    /// Of a row with a gold answer.
    pub(crate) fn for_row(library: &'a Library, row: &'a Value) -> Option<Self> {
        let gold = row.get("gold").filter(|gold| gold.is_object())?;
        Some(Self { library, gold, row, mismatches: Vec::new() })
    }

    /// Does something whose mismatches another column reports.
    pub(crate) fn quietly<T>(&mut self, find: impl Fn(&mut Self) -> T) -> T {
        let before = self.mismatches.len();
        let found = find(self);
        self.mismatches.truncate(before);
        found
    }

    pub(crate) fn list(&self, key: &str) -> &'a [Value] {
        self.gold.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    fn quote(&self) -> Option<&'a str> {
        let quote = self.gold.get("quote")?;
        quote.get("text").unwrap_or(quote).as_str().filter(|text| !text.trim().is_empty())
    }

    /// The relevant chunks, in the manifests' order.
    pub(crate) fn chunks(&mut self) -> Vec<&'a Chunk> {
        let tables: Vec<String> = self.list("source_table_ids").iter().filter_map(folded_text).collect();
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
            self.check_page(&spot);
        }
        for id in &tables {
            for at in self.table_chunks(id) {
                relevant[at] = true;
            }
        }
        let chunks = self.library.chunks.iter().zip(relevant).filter(|(_, relevant)| *relevant);
        let chunks = self.holding_the_quote(chunks.map(|(chunk, _)| chunk).collect());
        for chunk in chunks.iter().filter(|chunk| self.library.disputed.contains(&chunk.id)) {
            let dispute = format!("the chunk {:?} stands several times, with different places or texts", chunk.id);
            if !self.mismatches.contains(&dispute) {
                self.mismatches.push(dispute);
            }
        }
        chunks
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
        let holding: Vec<&Chunk> = chunks.iter().copied().filter(|chunk| holds(chunk)).collect();
        self.check_quote(&holding);
        chunks.into_iter().filter(|chunk| chunk.space != "text" || holds(chunk)).collect()
    }

    /// Reports a cited table that is not on the cited page, if the manifest has its page.
    fn check_page(&mut self, spot: &Spot) {
        let (Some(page), Some(table)) = (&spot.page, &spot.table) else { return };
        let is_it = |chunk: &&Chunk| chunk.spot.table.as_ref() == Some(table) && chunk.spot.is_of(spot);
        let pages = self.library.chunks.iter().filter(is_it).filter_map(|chunk| chunk.spot.page.as_ref());
        let pages: Vec<&String> = pages.collect();
        if let Some(own) = pages.first().filter(|_| !pages.contains(&page)) {
            self.mismatches.push(format!("the table {table} is on page {own}, not on the cited page {page}"));
        }
    }

    /// Reports a quote whose page or speaker differs from the chunks that contain it.
    fn check_quote(&mut self, holding: &[&Chunk]) {
        let part = |key: &str| self.gold.get("quote").and_then(|quote| quote.get(key));
        let pages: Vec<&String> = holding.iter().filter_map(|chunk| chunk.spot.page.as_ref()).collect();
        if let (Some(page), Some(own)) = (part("page").and_then(folded_text), pages.first())
            && !pages.contains(&&page)
        {
            self.mismatches.push(format!("the quote is on page {own}, not on page {page}"));
        }
        let speaking = speaking_in(holding);
        if let (Some(speaker), Some(own)) = (part("speaker").and_then(Speaker::read), speaking.first())
            && speaking.iter().all(|it| it.name != speaker.name)
        {
            self.mismatches.push(format!("the quote is by {}, not by {}", own.name, speaker.name));
        }
    }

    /// The expected value with its unit and currency, filled from the tables where the gold leaves them out.
    pub(crate) fn number(&mut self, value: &mut Map<String, Value>) {
        let cells = self.cells();
        let text = |key: &str| self.gold.get(key).and_then(Value::as_str).map(str::to_owned);
        let mut expected = self.gold.get("expected_value").filter(|it| !it.is_null()).cloned();
        let (mut unit, mut currency) = (text("unit"), text("currency"));
        let wanted = self.gold.get("cell").filter(|it| !it.is_null());
        let cell = wanted.and_then(|wanted| named_cell(&cells, wanted));
        match (wanted, cell, &expected) {
            (Some(wanted), None, _) => self.no_number_at(wanted),
            (None, _, Some(_)) if cells.is_empty() => self.report_unread_tables(),
            _ => {}
        }
        let found = match (&expected, cell) {
            (None, Some(cell)) => {
                (expected, unit) = (Some(Value::Number(cell.value.clone())), Some(cell.unit.clone()));
                Some(cell)
            }
            (Some(Value::Number(number)), _) if !cells.is_empty() => {
                let of = unit.clone().or_else(|| self.unit_of(number, &cells, cell, currency.as_deref()));
                of.and_then(|of| self.origin(number, &of, &cells, cell))
            }
            _ => None,
        };
        let own = Unit::read(unit.as_deref().unwrap_or_default()).currency;
        if let (Some(gold), Some(own)) = (&currency, own)
            && !is_same_currency(gold, own)
        {
            self.mismatches.push(format!("the gold is in {gold}, its unit says {own}"));
        }
        if let Some(cell) = found {
            unit = unit.or_else(|| Some(cell.unit.clone()).filter(|unit| !unit.is_empty()));
            let stated = Unit::read(unit.as_deref().unwrap_or_default());
            if currency.is_none() && stated.may_be_money() {
                currency = stated.currency.map(str::to_owned).or_else(|| cell.currency.clone());
            }
            if let (Some(gold), Some(own)) = (&currency, &cell.currency)
                && !is_same_currency(gold, own)
            {
                self.mismatches.push(format!("the gold is in {gold}, its table is in {own}"));
            }
        }
        let members =
            [("expected_value", expected), ("unit", unit.map(Value::from)), ("currency", currency.map(Value::from))];
        value.extend(members.map(|(name, member)| (name.to_owned(), member.unwrap_or(Value::Null))));
    }

    /// The unit of an expected value without one: that of the named cell, else of the cells that equal it,
    /// those in the gold's currency first.
    fn unit_of(
        &mut self,
        number: &Number,
        cells: &[Cell],
        named: Option<&Cell>,
        currency: Option<&str>,
    ) -> Option<String> {
        if let Some(named) = named {
            return Some(named.unit.clone());
        }
        let mut found: Vec<&Cell> = cells.iter().filter(|cell| self.is_cell(number, cell)).collect();
        let is_in = |cell: &&Cell| cell.currency.as_deref().zip(currency).is_some_and(|(a, b)| is_same_currency(a, b));
        if found.iter().any(is_in) {
            found.retain(is_in);
        }
        let mut units: Vec<&str> = found.iter().map(|cell| cell.unit.as_str()).collect();
        units.dedup();
        match units.as_slice() {
            [unit] => return Some((*unit).to_owned()),
            [] => {
                let tables = self.table_ids().collect::<Vec<_>>().join(", ");
                self.mismatches.push(format!("the expected value {number} has no unit and is not in {tables}"));
            }
            _ => self
                .mismatches
                .push(format!("the expected value {number} has no unit; it may be {}", units.join(" or "))),
        }
        None
    }

    fn is_cell(&self, number: &Number, cell: &Cell) -> bool {
        let expected = self.with_tolerance(number, &cell.unit);
        expected.is_some_and(|expected| !equal(std::slice::from_ref(cell), &expected).is_empty())
    }

    /// An expected value within the gold's tolerances.
    fn with_tolerance(&self, number: &Number, unit: &str) -> Option<Expected> {
        let bound = |key: &str| self.gold.get(key).and_then(Value::as_f64).unwrap_or(0.0);
        Expected::new(number, unit, bound("tolerance_rel"), bound("tolerance_abs"))
    }

    /// The cell that an expected value is or comes from: the named one and its row, where one is named.
    fn origin<'c>(
        &mut self,
        number: &Number,
        unit: &str,
        cells: &'c [Cell],
        named: Option<&'c Cell>,
    ) -> Option<&'c Cell> {
        let expected = self.with_tolerance(number, unit)?;
        if let Some(named) = named {
            let row: Vec<Cell> = cells.iter().filter(|cell| cell.row == named.row).cloned().collect();
            if equal(std::slice::from_ref(named), &expected).is_empty() && computed_source(&row, &expected).is_none() {
                let Cell { row, column, value, unit: own, .. } = named;
                self.mismatches
                    .push(format!("the expected value is {number} {unit}, but {row} of {column} is {value} {own}"));
            }
            return Some(named);
        }
        let currency = self.gold.get("currency").and_then(Value::as_str).or(Unit::read(unit).currency);
        let is_in = |cell: &&&Cell| cell.currency.as_deref().zip(currency).is_none_or(|(a, b)| is_same_currency(a, b));
        let equal = equal(cells, &expected);
        if equal.is_empty() {
            let computed = computed_source(cells, &expected);
            if computed.is_none() {
                let tables: Vec<String> = self.table_ids().collect();
                let tables = tables.join(", ");
                self.mismatches.push(format!(
                    "the expected value {number} {unit} is not in {tables}, nor made of two values of a row or a column"
                ));
            }
            return computed;
        }
        self.check_period(number, unit, &equal, cells);
        equal.iter().find(is_in).or(equal.first()).copied()
    }

    /// An expected value should be one of the quarter that its row is about, where its tables have that.
    fn check_period(&mut self, number: &Number, unit: &str, equal: &[&Cell], cells: &[Cell]) {
        let about = |key: &str| self.row.get("metadata").and_then(|metadata| folded_text(metadata.get(key)?));
        let Some(quarter) = about("quarter").and_then(|quarter| Period::read(&quarter)) else { return };
        let question = self.row.get("question").and_then(folded_text).unwrap_or_default();
        let is_apart = |cell: &&Cell| {
            let other = cell.period.is_some_and(|period| period.is_like(quarter) && period != quarter);
            let current = |it: &Cell| it.row == cell.row && it.period == Some(quarter);
            other && cells.iter().any(current) && !question.contains(&cell.column)
        };
        if about("category").as_deref() != Some("comparison")
            && equal.iter().all(is_apart)
            && let Some(cell) = equal.first()
        {
            self.mismatches.push(format!("the expected value {number} {unit} is {} of {}", cell.row, cell.column));
        }
    }

    /// Adds the speakers who answer in the gold's chunks; without any, the chunks of the quarter that have answers.
    /// And everybody who speaks at all.
    pub(crate) fn speakers(&mut self, chunks: &[&Chunk], value: &mut Map<String, Value>) {
        let wanted = self.list("speakers");
        let answering: Vec<&Value> = chunks.iter().flat_map(|chunk| &chunk.answer_speakers).collect();
        let spoken = speaking_in(chunks);
        self.check_speakers(&spoken);
        let quarter = self.row.get("metadata").and_then(|metadata| folded_text(metadata.get("quarter")?));
        let near = |chunk: &&Chunk| !chunk.answer_speakers.is_empty() && chunk.spot.quarter == quarter;
        let faces = self.library.chunks.iter().filter(near).map(|chunk| &chunk.face);
        let faces: Vec<&Value> = faces.filter(|_| !wanted.is_empty() && spoken.is_empty()).collect();
        let speakers: &[Value] = if wanted.is_empty() { &[] } else { &self.library.speakers };
        let members =
            [("answer_speakers", json!(answering)), ("qa_chunks", json!(faces)), ("speakers", json!(speakers))];
        value.extend(members.map(|(name, member)| (name.to_owned(), member)));
    }

    /// Reports a speaker who does not speak in the gold's chunks (or, without speakers there, in any filing), or in
    /// another role.
    fn check_speakers(&mut self, spoken: &[Speaker]) {
        for Speaker { name, role } in self.list("speakers").iter().filter_map(Speaker::read) {
            let own: Vec<&Speaker> = spoken.iter().filter(|it| it.name == name).collect();
            let roles: Vec<&String> = own.iter().filter_map(|it| it.role.as_ref()).collect();
            if own.is_empty() && !spoken.is_empty() {
                self.mismatches.push(format!("{name} does not speak in the gold's chunks"));
            } else if own.is_empty() && !self.library.speakers.is_empty() && !self.library.knows(&name) {
                self.mismatches.push(format!("{name} speaks in no filing"));
            }
            if let (Some(role), Some(own)) = (role, roles.first())
                && !roles.contains(&&role)
            {
                self.mismatches.push(format!("{name} is {own} in the gold's chunks, not {role}"));
            }
        }
    }

    /// Holds the titles of slides against the filings.
    pub(crate) fn slides(&mut self, chunks: &[&Chunk]) {
        for slide in self.list("slides") {
            let (Some(title), Some(number)) =
                (slide.get("title").and_then(folded_text), slide.get("slide").and_then(folded_text))
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

/// The speakers of chunks, including those who answer.
fn speaking_in(chunks: &[&Chunk]) -> Vec<Speaker> {
    chunks.iter().flat_map(|chunk| chunk.speakers()).filter_map(Speaker::read).collect()
}
