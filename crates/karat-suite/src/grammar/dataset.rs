//! `dataset`.

use super::step::HTTP;
use super::{ANY, Kind, NUMBER, Object, Shape, TEXTS, may, must};

pub(super) static DATASET: Object = Object::new(
    "dataset",
    &[
        may("source", Shape::File, "A file, a folder, or a pattern with `*`."),
        may("rows", Shape::List(&ANY), "Rows written here."),
        may("format", Shape::Text, "jsonl, json or csv; by extension without it."),
        may("with", Shape::With(Kind::Free), "Options of the format."),
        may("id", Shape::Path, "The row's id; without it, its hash."),
        may("input", Shape::Path, "What a model is given."),
        may("reference", Shape::Path, "What is expected."),
        may("assert", Shape::Path, "Scorers of that row alone."),
        may("cluster", Shape::Path, "Group whose members are not independent."),
        may("date", Shape::Path, "The row's date."),
        may("metadata", Shape::List(&Shape::Path), "Columns for reports, slices and conditions."),
        may("zone", Shape::Text, "Time zone that cuts dates into days."),
        may("columns", Shape::Map(&Shape::Short(&COLUMN, "value")), "More columns."),
        may("row_schema", Shape::File, "JSON Schema of a row."),
        may("checks", Shape::List(&Shape::Object(&CHECK)), "Counts that must hold."),
        may("where", Shape::Expression, "Which rows."),
        may("days", Shape::Integer(1), "The days that end on --as-of."),
        may("draw", Shape::Object(&DRAW), "A seeded, stratified draw."),
        may("limit", Shape::Integer(1), "The first so many rows."),
        may(
            "broken",
            Shape::Words(&["stop", "report"]),
            "Whether a bad row ends the load or becomes an errored sample.",
        ),
        may("version", Shape::Text, "Declared version."),
        may("changelog", Shape::File, "What changed."),
    ],
)
.one_of(&["source", "rows"])
.foreign(&[
    ("target", "reference"),
    ("expected", "reference"),
    ("ideal", "reference"),
    ("question", "input"),
    ("prompt", "input"),
    ("path", "source"),
    ("file", "source"),
    ("group", "cluster"),
]);

static COLUMN: Object = Object::new(
    "column",
    &[
        may("value", Shape::Template, "A value made of the row."),
        may("file", Shape::File, "The content of a file, by row: JSON is parsed, anything else is text."),
        may("lookup", Shape::File, "A JSON or JSONL file of many rows."),
        may("on", Shape::Path, "What the row and the looked-up row have in common."),
        may("prior", Shape::Path, "Values of a column on earlier days or rows."),
        may("days", Shape::Integer(1), "How many earlier days."),
        may("rows", Shape::Integer(1), "How many earlier rows."),
        may("resolve", Shape::Text, "A registered resolver."),
        may("with", Shape::With(Kind::Free), "Its options."),
        may("missing", Shape::Words(&["error", "empty"]), "What an absent value means."),
        may("fetch", Shape::Object(&FETCH), "How `dataset fetch` makes absent files."),
    ],
)
.one_of(&["value", "file", "lookup", "prior", "resolve"]);

static FETCH: Object = Object::new(
    "fetch",
    &[
        may("command", TEXTS, "The program and its arguments."),
        may("http", Shape::Short(&HTTP, "url"), "A request; GET without `method`."),
    ],
)
.one_of(&["command", "http"]);

static CHECK: Object = Object::new(
    "check",
    &[
        must("name", Shape::Text, "What must hold, in words."),
        may("where", Shape::Expression, "Which rows are counted."),
        may("by", Shape::Path, "Within each group of this value."),
        may("distinct", Shape::Path, "Distinct values are counted, not rows."),
        may("min", NUMBER, "At least so many."),
        may("max", NUMBER, "At most so many."),
    ],
);

static DRAW: Object = Object::new(
    "draw",
    &[
        must("n", Shape::Integer(1), "How many rows."),
        may("per", Shape::Path, "So many of each."),
        may("by", Shape::Path, "Strata."),
        may("seed", Shape::Integer(0), "Seed."),
    ],
);
