//! Expected values against the tables that they come from.

use karat_text::similar::fold;
use serde_json::Value;

use super::library::said;

/// How far apart two numbers may be and still be the same, as a share: what a table rounds is given by a tolerance.
const SAME: f64 = 1e-9;

/// A number with what it counts, in base units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Figure {
    pub value: f64,
    /// Whether it is a share, in per cent.
    pub is_share: bool,
}

impl Figure {
    /// A value in a unit such as `million USD`, `percent`, `bps`, `employees`.
    pub fn new(value: f64, unit: &str) -> Self {
        let mut factor = 1.0;
        let mut is_share = false;
        for word in unit.to_lowercase().split([' ', '_', '(', ')']) {
            match word {
                "thousand" | "thousands" | "k" => factor *= 1e3,
                "million" | "millions" | "mn" | "m" | "mio" | "usdm" | "eurm" => factor *= 1e6,
                "billion" | "billions" | "bn" | "b" | "mrd" => factor *= 1e9,
                "percent" | "%" | "pct" | "percentage" => is_share = true,
                "bps" | "bp" => (is_share, factor) = (true, factor / 100.0),
                "fraction" => (is_share, factor) = (true, factor * 100.0),
                _ => {}
            }
        }
        Self { value: value * factor, is_share }
    }

    fn is(self, other: Self, rel: f64, abs: f64) -> bool {
        let distance = (self.value - other.value).abs();
        self.is_share == other.is_share && (distance <= rel.max(SAME) * other.value.abs() || distance <= abs)
    }
}

/// A number of a table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    pub row: String,
    pub column: String,
    /// As written.
    pub value: f64,
    /// As written: scale and unit.
    pub unit: String,
    pub currency: Option<String>,
}

impl Cell {
    fn figure(&self) -> Figure {
        Figure::new(self.value, &self.unit)
    }

    /// Every number of a table: `{unit, scale, currency, columns, rows: [{label, values, unit, currency}]}`.
    pub fn all(table: &Value) -> Vec<Self> {
        let columns: Vec<String> = list(table, "columns").iter().map(|it| said(it).unwrap_or_default()).collect();
        let mut cells = Vec::new();
        for row in list(table, "rows") {
            let own = |key: &str| row.get(key).or_else(|| table.get(key)).and_then(Value::as_str);
            // The scale of a table is that of its money; a row with a unit of its own says everything.
            let scale = if row.get("unit").is_some() { row.get("scale") } else { table.get("scale") };
            let unit = [scale.and_then(Value::as_str), own("unit")];
            let unit = unit.into_iter().flatten().collect::<Vec<_>>().join(" ");
            let share = Figure::new(0.0, &unit).is_share;
            let currency =
                own("currency").filter(|_| !share && row.get("unit").is_none_or(|_| row.get("currency").is_some()));
            for (at, value) in list(row, "values").iter().enumerate() {
                let Some(value) = value.as_f64() else { continue };
                cells.push(Self {
                    row: row.get("label").and_then(said).unwrap_or_default(),
                    column: columns.get(at).cloned().unwrap_or_default(),
                    value,
                    unit: unit.clone(),
                    currency: currency.map(str::to_owned),
                });
            }
        }
        cells
    }
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The cell that a gold names by `{row, column}`.
pub(super) fn named<'a>(cells: &'a [Cell], wanted: &Value) -> Option<&'a Cell> {
    let part = |key: &str| wanted.get(key).and_then(Value::as_str).map(fold);
    let (row, column) = (part("row")?, part("column")?);
    cells.iter().find(|cell| cell.row == row && cell.column == column)
}

/// Where an expected value comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Origin<'a> {
    /// It is this cell.
    Cell(&'a Cell),
    /// It is a difference, ratio or growth of two values of one row, of which this is one.
    Computed(&'a Cell),
}

/// Where the tables hold an expected value: as a cell, else as what two values of the same row make.
pub(super) fn origin<'a>(cells: &'a [Cell], expected: Figure, rel: f64, abs: f64) -> Option<Origin<'a>> {
    if let Some(cell) = cells.iter().find(|cell| expected.is(cell.figure(), rel, abs)) {
        return Some(Origin::Cell(cell));
    }
    let pairs = cells.iter().flat_map(|a| cells.iter().filter(move |b| a.row == b.row).map(move |b| (a, b)));
    // A gold may give a decrease without its sign.
    let size = |it: Figure| Figure { value: it.value.abs(), ..it };
    let fits = |made: Figure| size(expected).is(size(made), rel, abs);
    let mut computed = pairs.filter(|(a, b)| made_of(a.figure(), b.figure()).any(fits));
    computed.next().map(|(cell, _)| Origin::Computed(cell))
}

/// Difference, growth in per cent, ratio.
fn made_of(a: Figure, b: Figure) -> impl Iterator<Item = Figure> {
    let difference = Figure { value: a.value - b.value, is_share: a.is_share };
    let share = |value: f64| Figure { value, is_share: true };
    let of = (b.value != 0.0 && a.is_share == b.is_share).then(|| a.value / b.value);
    let growth = of.map(|ratio| share((ratio - 1.0) * 100.0));
    let ratio = of.map(|value| Figure { value, is_share: false });
    std::iter::once(difference).chain(growth).chain(ratio).chain(of.map(|ratio| share(ratio * 100.0)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cells() -> Vec<Cell> {
        Cell::all(&json!({
            "scale": "million", "unit": "USD", "currency": "USD", "columns": ["Q2 2025", "Q1 2025"],
            "rows": [
                {"label": "Revenue", "values": [1234.5, 1200.0]},
                {"label": "Gross margin", "unit": "percent", "values": [41.2, 40.0]},
                {"label": "Note", "values": ["n/a", null]}
            ]
        }))
    }

    /// RG-02: an expected value is found in any scale, as a cell or as what two values of a row make.
    #[test]
    fn expected_values_are_found_in_their_tables() {
        let cells = cells();
        assert_eq!(cells.len(), 4);
        let found = |value: f64, unit: &str| origin(&cells, Figure::new(value, unit), 0.0, 0.0);
        assert!(matches!(found(1.2345, "billion USD"), Some(Origin::Cell(cell)) if cell.row == "revenue"));
        assert!(matches!(found(1_234_500_000.0, "USD"), Some(Origin::Cell(_))));
        assert!(matches!(found(4120.0, "bps"), Some(Origin::Cell(cell)) if cell.currency.is_none()));
        assert!(matches!(found(34.5, "million USD"), Some(Origin::Computed(_))));
        assert!(matches!(found(2.875, "percent"), Some(Origin::Computed(_))));
        assert!(matches!(found(120.0, "bps"), Some(Origin::Computed(_))));
        assert_eq!(found(1234.5, "USD"), None, "a thousand dollars are no billion");
        assert_eq!(found(41.2, "million USD"), None, "a share is no amount");
        let near = origin(&cells, Figure::new(1235.0, "million USD"), 0.001, 0.0);
        assert!(near.is_some(), "the gold's own tolerance holds here, too");
    }

    #[test]
    fn a_named_cell_is_the_one() {
        let cells = cells();
        let wanted = json!({"row": "REVENUE", "column": "Q1 2025"});
        assert_eq!(named(&cells, &wanted).map(|cell| cell.value), Some(1200.0));
        assert_eq!(named(&cells, &json!({"row": "Revenue"})), None);
    }
}
