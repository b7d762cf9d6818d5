//! The source tables of a gold. Several documents may use the same id; citations and the quarter select one.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::evidence::Evidence;
use crate::figure::Cell;
use crate::figure::value_at_cell;
use crate::folded_text;
use crate::library::{Spot, Table};

impl<'a> Evidence<'a> {
    /// The ids of the gold's tables, each once: those that it names as sources, then those that it cites.
    pub(crate) fn table_ids(&self) -> impl Iterator<Item = String> + use<'a> {
        let cited = self.list("citations").iter().filter_map(|citation| folded_text(citation.get("table_id")?));
        let mut seen = BTreeSet::new();
        let own = self.list("source_table_ids").iter().filter_map(folded_text);
        own.chain(cited).filter(move |id| seen.insert(id.clone()))
    }

    /// The chunks of a source table, by their places in the library.
    pub(crate) fn table_chunks(&mut self, id: &String) -> Vec<usize> {
        let chunks = &self.library.chunks;
        let of_table = |at: &usize| chunks[*at].space == "table" && chunks[*at].spot.table.as_ref() == Some(id);
        let found = (0..chunks.len()).filter(of_table).collect();
        self.select_documents(id, found, move |at| &chunks[*at].document, |at, spot| chunks[*at].spot.is_of(spot))
    }

    /// The source tables that there are.
    fn tables(&mut self) -> Vec<&'a Table> {
        let library = self.library;
        let mut tables = Vec::new();
        for id in self.table_ids() {
            match library.tables.get(&id) {
                Some(found) => {
                    let is_of = |table: &&Table, spot: &Spot| {
                        let mut chunks = library.chunks.iter().filter(|chunk| chunk.document == table.document);
                        Spot::of(&table.content).is_of(spot) || chunks.any(|chunk| chunk.spot.is_of(spot))
                    };
                    tables.extend(self.select_documents(&id, found.iter().collect(), |table| &table.document, is_of));
                }
                None if library.tables.is_empty() => {}
                None => self.mismatches.push(format!("there is no table {id}")),
            }
        }
        tables
    }

    /// The numbers of the source tables.
    pub(crate) fn cells(&mut self) -> Vec<Cell> {
        self.tables().into_iter().flat_map(|table| Cell::all(&table.content)).collect()
    }

    /// Reports that the gold's tables hold no number to check the expected value against.
    pub(crate) fn report_unread_tables(&mut self) {
        let ids: Vec<String> = self.table_ids().filter(|id| self.library.tables.contains_key(id)).collect();
        if !ids.is_empty() {
            let ids = ids.join(", ");
            self.mismatches.push(format!("no number of {ids} can be read, so the expected value is not checked"));
        }
    }

    /// Reports that there is no such cell, or that it holds no number.
    pub(crate) fn no_number_at(&mut self, wanted: &Value) {
        let tables = self.quietly(Self::tables);
        self.mismatches.push(match tables.into_iter().find_map(|table| value_at_cell(&table.content, wanted)) {
            Some(value) => format!("the cell {wanted} holds {value}, which is not a number"),
            None => format!("no source table has the cell {wanted}"),
        });
    }

    /// Selects, among the tables with one id, those that the gold means: in the documents that its citations of the
    /// table name, else its other citations, else of the row's quarter. Where that leaves several documents, the gold
    /// should say more.
    fn select_documents<T>(
        &mut self,
        id: &str,
        found: Vec<T>,
        document: impl Fn(&T) -> &'a str,
        is_of: impl Fn(&T, &Spot) -> bool,
    ) -> Vec<T> {
        let documents = |found: &mut dyn Iterator<Item = &T>| found.map(&document).collect::<BTreeSet<&str>>();
        let all = documents(&mut found.iter());
        if all.len() < 2 {
            return found;
        }
        let is_meant = |spots: &[Spot], it: &T| spots.iter().any(|spot| is_of(it, spot));
        let said = self.places(id).into_iter().find(|spots| found.iter().any(|it| is_meant(spots, it)));
        let places = said.unwrap_or_else(|| vec![Spot::default()]);
        let open = places.iter().map(|spot| documents(&mut found.iter().filter(|it| is_of(it, spot))));
        if let Some(open) = open.into_iter().find(|open| open.len() > 1) {
            let names: Vec<&str> = open.into_iter().collect();
            let names = names.join(" and ");
            self.mismatches.push(format!("the table {id} stands in {names}, and no citation says in which"));
        }
        found.into_iter().filter(|it| is_meant(&places, it)).collect()
    }

    /// The places of a table according to the gold, the most specific first.
    fn places(&self, id: &str) -> [Vec<Spot>; 3] {
        let cited = || self.list("citations").iter().map(Spot::of);
        let of_table = cited().filter(|spot| spot.table.as_deref() == Some(id)).collect();
        let others = cited().filter(|spot| spot.table.is_none()).collect();
        let quarter = self.row.get("metadata").and_then(|metadata| folded_text(metadata.get("quarter")?));
        let near = quarter.map(|quarter| Spot { quarter: Some(quarter), ..Spot::default() });
        [of_table, others, near.into_iter().collect()]
    }
}
