//! Rubric files and inline rubrics.

use super::{NUMBER, Object, POSITIVE, Shape, TEXTS, may, must};

pub(crate) static RUBRIC: Object = Object::new(
    "rubric",
    &[
        may("file", Shape::File, "A rubric file, instead of everything else."),
        may("schema", Shape::Words(&["karat.rubric/1"]), "Format version."),
        may("id", Shape::Text, "Its name."),
        may("version", Shape::Text, "Declared version, part of identity."),
        may("ask", Shape::Text, "The task in words; alone, one pass/fail question."),
        may("show", Shape::Map(&Shape::Short(&SHOWN, "value")), "All that the judge sees."),
        may("reference", Shape::Words(&["hidden", "optional", "required"]), "Whether the judge sees the reference."),
        may("dimensions", Shape::Map(&Shape::Object(&DIMENSION)), "What is graded."),
        may("breakdowns", Shape::Map(&Shape::Object(&BREAKDOWN)), "Scores per member of a list."),
        may("overall", Shape::Object(&OVERALL), "The composite."),
        may("diagnostics", Shape::Map(&Shape::Object(&DIAGNOSTIC)), "Typed findings that the judge returns."),
        may("caps", Shape::List(&Shape::Object(&CAP)), "Upper bounds under conditions."),
        may("rationale", Shape::Object(&RATIONALE), "What the judge must explain."),
        may("reply", Shape::Words(&["flat", "nested", "list"]), "Shape of the reply."),
        may("examples", Shape::Integer(0), "Labelled examples shown to the judge."),
        may("prompt", Shape::Object(&PROMPT), "Own wording of the prompt."),
        may("invalid", Shape::Object(&INVALID), "What happens with a reply that is not as it must be."),
    ],
);

static SHOWN: Object = Object::new(
    "shown value",
    &[
        must("value", Shape::Template, "The value."),
        may("as", Shape::Words(&["text", "json", "lines"]), "How it is written."),
        may("line", Shape::Template, "One line of a list: sees `item` and `index`."),
        may("shuffle", Shape::Boolean, "Whether a list's order is shuffled."),
        may("required", Shape::Boolean, "Whether a row where it is empty is not applicable; no call is made for it."),
        may("route", Shape::Text, "The chunked value whose pieces each member is sent to."),
        may("chunk", Shape::Object(&CHUNK), "May be cut into pieces."),
        may("times", Shape::Template, "When each stretch was said: a list of `{start, duration, text}`, in seconds."),
    ],
);

static CHUNK: Object = Object::new(
    "shown chunk",
    &[
        may("tokens", Shape::Integer(1), "Tokens of a piece; as large as the judge's window allows without it."),
        may("items", Shape::Integer(1), "List members of a piece."),
        may("overlap", Shape::Integer(0), "How much the next piece repeats."),
        may("window", Shape::Share, "Share of the judge's window to fill before it is cut; 80 % without it."),
    ],
);

static DIMENSION: Object = Object::new(
    "dimension",
    &[
        may("definition", Shape::Text, "What it means."),
        may("scale", Shape::Span, "Lowest and highest value."),
        may("step", POSITIVE, "Distance of neighbouring values."),
        may("choices", Shape::Map(&NUMBER), "Named answers and what each is worth."),
        may("weight", POSITIVE, "Weight in a weighted mean."),
        may("anchors", Shape::Map(&Shape::Text), "What certain values look like."),
        may("better", Shape::Words(&["higher", "lower"]), "Direction."),
        may(
            "chunks",
            Shape::Words(&["weighted", "members", "once", "min", "max"]),
            "How the grades of chunks become one.",
        ),
    ],
)
.one_of(&["scale", "choices"]);

static BREAKDOWN: Object = Object::new(
    "breakdown",
    &[
        must("over", TEXTS, "The members."),
        must("scores", Shape::Map(&Shape::Object(&DIMENSION)), "What each member is graded in."),
        may("default", NUMBER, "Value where the judge leaves a member out."),
    ],
);

static OVERALL: Object = Object::new(
    "overall",
    &[
        may("id", Shape::Text, "Its name."),
        may("method", Shape::Words(&["mean", "weighted_mean", "sum", "min", "given"]), "How it is made."),
        may("round", Shape::Integer(0), "Decimals."),
    ],
);

static DIAGNOSTIC: Object = Object::new(
    "diagnostic",
    &[
        must(
            "each",
            Shape::WordOr(&["text"], &Shape::Map(&Shape::Short(&FIELD, "type"))),
            "One item: a text, or fields.",
        ),
        may("explain", Shape::Text, "Explains the list to the judge."),
        may("max", Shape::Integer(1), "At most so many items."),
        may(
            "chunks",
            Shape::Words(&["any", "all", "once"]),
            "Whether an item stands if any chunk's judge names it, only if all do, or if the judge of the whole does.",
        ),
        may("differ", TEXTS, "Two fields; an item in which they are equal is dropped."),
    ],
);

static FIELD: Object = Object::new(
    "field",
    &[
        may("type", Shape::Words(&["text", "number", "integer", "boolean"]), "Its type."),
        may("one_of", TEXTS, "One of these words."),
        may("index_of", Shape::Text, "Position in a shown list."),
        may("default", Shape::Any, "Fills a degraded reply."),
    ],
)
.one_of(&["type", "one_of", "index_of"]);

static CAP: Object = Object::new(
    "cap",
    &[
        must("id", Shape::Text, "Its name in reports."),
        must("when", Shape::Expression, "When it applies."),
        must("max", Shape::Map(&NUMBER), "Highest value by dimension."),
        may("say", Shape::Text, "What the judge is told."),
    ],
);

static RATIONALE: Object = Object::new(
    "rationale",
    &[
        may("field", Shape::Text, "Field of the reply."),
        may("min_chars", Shape::Integer(0), "At least so many characters."),
        may("max_chars", Shape::Integer(1), "What is longer is cut."),
    ],
);

static PROMPT: Object = Object::new(
    "rubric prompt",
    &[
        must("system", Shape::File, "A file with the system message's template."),
        must("user", Shape::File, "A file with the user message's template."),
    ],
);

static INVALID: Object = Object::new(
    "invalid",
    &[
        may("reask", Shape::Integer(0), "How often the judge is asked again with the validation error."),
        may("out_of_range", Shape::Words(&["reject", "clamp"]), "A score outside its scale."),
        may("tolerance", POSITIVE, "How far beyond a bound a score may be and still count as on it."),
        may("absent", Shape::Words(&["reject", "lowest"]), "A dimension that is not there."),
        may("then", Shape::Words(&["unscored", "error", "degrade"]), "When it still fails."),
    ],
);
