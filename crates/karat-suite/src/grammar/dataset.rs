//! `dataset`.

use super::step::HTTP;
use super::{ANY, Kind, NUMBER, Object, Shape, TEXTS, may, must};

pub(crate) static DATASET: Object = Object::new(
    "dataset",
    &[
        may("source", Shape::File, "A file, a folder, a pattern with `*` in the file name, or `traces:NAME`: calls that applications report to `karat serve`.", "data/tickets.jsonl"),
        may("rows", Shape::List(&ANY), "Rows written in the suite. The key `only: { variants, models }` of a row chooses its systems.", "[{ id: t1, ticket: Where is my order?, category: shipping }]"),
        may("format", Shape::Text, "Format of the files: jsonl, json, csv, tsv, parquet, arrow, or of a folder: dir, huggingface. Default: by the extension, or by the folder's files. JSON and tables may be compressed by gzip or zstd.", "jsonl"),
        may("with", Shape::With(Kind::Free), "Options of a folder: `files` and more of `dir`; `config` and `split` of `huggingface`.", r#"{ files: "{date}-card.json" }"#),
        may("id", Shape::Path, "Path of the row's id. Default: a hash of the row.", "id"),
        may("input", Shape::Path, "Path of the input; templates read it as `{{ input }}`.", "question"),
        may("reference", Shape::Path, "Path of the expected output; templates read it as `{{ reference }}`.", "answer"),
        may("assert", Shape::Path, "Path of checks that hold for this row only.", "assert"),
        may("cluster", Shape::Path, "Path of a group whose rows are not independent, such as questions on one document.", "document"),
        may("date", Shape::Path, "Path of the row's date.", "published"),
        may("metadata", Shape::List(&Shape::Path), "Columns that are stored with the results, for reports, slices and conditions.", "[channel, language]"),
        may("zone", Shape::Text, "Time zone in which dates are cut into days. Default: UTC.", "Europe/Berlin"),
        may("columns", Shape::Map(&Shape::Short(&COLUMN, "value")), "Columns that are added to each row: name to template, or to a file, a lookup, earlier values or a resolver.", r#"{ article: { file: "articles/{{ sample.id }}.md" } }"#),
        may("row_schema", Shape::File, "File with the JSON Schema of a row.", "schemas/ticket.json"),
        may("checks", Shape::List(&Shape::Object(&CHECK)), "Counts that must hold, or the suite does not load.", r#"[{ name: ten refunds, where: sample.category == "refund", min: 10 }]"#),
        may("where", Shape::Expression, "Condition on the rows that are used.", r#"sample.language == "en""#),
        may("days", Shape::Integer(1), "Number of days, ending on `--as-of`, whose rows are used.", "7"),
        may("draw", Shape::Object(&DRAW), "Draws a random, reproducible subset of the rows.", "{ n: 50, by: category }"),
        may("design", Shape::Text, "How the rows were drawn from a larger set: `auto` reads it from the file `NAME.dataset.json` beside `source`, if that describes these rows; `none` takes plain means; else the path of such a file. Default: `auto`.", "none"),
        may("limit", Shape::Integer(1), "Uses the first rows only.", "20"),
        may("broken", Shape::Words(&["stop", "report"]), "What happens with a row that cannot be read: the suite does not load, or the row becomes a failed sample.", "report"),
        may("version", Shape::Text, "Version of the dataset.", "2025-11-02"),
        may("changelog", Shape::File, "File that describes the changes between versions.", "data/CHANGELOG.md"),
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
        may("value", Shape::Template, "Template of the value.", r#""{{ sample.first }} {{ sample.last }}""#),
        may("file", Shape::File, "Path of a file per row: JSON is parsed, anything else is text. Values of a row can only name files beneath the folder that the path begins with.", r#""articles/{{ sample.id }}.md""#),
        may("lookup", Shape::File, "JSON or JSONL file in which the row is looked up.", "data/golden.json"),
        may("on", Shape::Path, "Path of the key that both rows have.", "id"),
        may("prior", Shape::Path, "Path of a column whose earlier values are collected.", "headline"),
        may("days", Shape::Integer(1), "Number of earlier days to look back.", "7"),
        may("rows", Shape::Integer(1), "Number of earlier rows to look back.", "5"),
        may("resolve", Shape::Text, "Name of a resolver.", "filing_evidence"),
        may("with", Shape::With(Kind::Free), "Options of the resolver.", "{ chunks: data/chunks, tables: data/tables }"),
        may("missing", Shape::Words(&["error", "empty"]), "What happens without a value: an error, or the column is null.", "empty"),
        may("fetch", Shape::Object(&FETCH), "How `karat dataset fetch` creates files that do not exist yet.", r#"{ http: "https://example.com/{{ sample.id }}" }"#),
    ],
)
.one_of(&["value", "file", "lookup", "prior", "resolve"]);

static FETCH: Object = Object::new(
    "fetch",
    &[
        may(
            "command",
            TEXTS,
            "The program and its arguments; its standard output becomes the file.",
            r#"[./ingest, "{{ sample.url }}"]"#,
        ),
        may(
            "http",
            Shape::Short(&HTTP, "url"),
            "Request whose response becomes the file. Default method: GET.",
            r#""https://example.com/{{ sample.id }}""#,
        ),
    ],
)
.one_of(&["command", "http"]);

static CHECK: Object = Object::new(
    "check",
    &[
        must("name", Shape::Text, "The rule in words, shown when it is broken.", "at least ten refunds"),
        may("where", Shape::Expression, "Condition on the rows that are counted.", r#"sample.category == "refund""#),
        may("by", Shape::Path, "Path of a group; the limits hold within each group.", "channel"),
        may("distinct", Shape::Path, "Path of a value; counts distinct values in place of rows.", "author"),
        may("min", NUMBER, "Smallest count.", "10"),
        may("max", NUMBER, "Largest count.", "0"),
    ],
);

static DRAW: Object = Object::new(
    "draw",
    &[
        must("n", Shape::Integer(1), "Number of rows.", "50"),
        may("per", Shape::Path, "Path of a group; `n` rows are drawn from each group.", "channel"),
        may("by", Shape::Path, "Path of the strata, which keep their shares.", "category"),
        may("seed", Shape::Integer(0), "Seed of the draw. Default: 1.", "1"),
    ],
);
