//! Rubric files and inline rubrics.

use super::{NUMBER, Object, POSITIVE, Shape, TEXTS, may, must};

pub(crate) static RUBRIC: Object = Object::new(
    "rubric",
    &[
        may("file", Shape::File, "Rubric file, in place of the other keys.", "rubrics/quality.yaml"),
        may(
            "use",
            Shape::Text,
            "Name of a ready rubric (`karat rubrics` lists them). The other keys are laid over it; null removes a key.",
            "faithfulness",
        ),
        may("schema", Shape::Words(&["karat.rubric/1"]), "Version of the rubric format.", "karat.rubric/1"),
        may("id", Shape::Text, "Name of the rubric.", "quality"),
        may(
            "about",
            Shape::Text,
            "What the rubric measures, in one line. The judge does not see it.",
            "Whether the answer is polite",
        ),
        may("version", Shape::Text, "Version of the rubric. Judgments are reused only for the same version.", "v2"),
        may(
            "ask",
            Shape::Text,
            "The judge's task. Without dimensions it is one pass/fail question.",
            "Is the answer polite?",
        ),
        may(
            "show",
            Shape::Map(&Shape::Short(&SHOWN, "value")),
            "Everything that the judge sees: name to template. Default: the input and the output.",
            r#"{ ticket: "{{ input }}", answer: "{{ output }}" }"#,
        ),
        may(
            "reference",
            Shape::Words(&["hidden", "optional", "required"]),
            "Whether the judge sees the reference: never (`hidden`, the default), where the row has one, or always, so that a row without one is not applicable.",
            "optional",
        ),
        may(
            "dimensions",
            Shape::Map(&Shape::Object(&DIMENSION)),
            "Dimensions that are graded, by name.",
            "{ tone: { definition: How friendly the answer is, scale: [1, 5] } }",
        ),
        may(
            "breakdowns",
            Shape::Map(&Shape::Object(&BREAKDOWN)),
            "Scores for each member of a list.",
            "{ topic: { over: [price, delivery], scores: { clarity: { scale: [1, 5] } } } }",
        ),
        may("overall", Shape::Object(&OVERALL), "Composite score of the dimensions.", "{ method: weighted_mean }"),
        may(
            "diagnostics",
            Shape::Map(&Shape::Object(&DIAGNOSTIC)),
            "Lists of findings that the judge returns beside the scores.",
            "{ errors: { each: text, max: 5 } }",
        ),
        may(
            "caps",
            Shape::List(&Shape::Object(&CAP)),
            "Upper limits for scores under conditions.",
            "[{ id: no_source, when: output.sources | length == 0, max: { trust: 2 } }]",
        ),
        may("rationale", Shape::Object(&RATIONALE), "The explanation that the judge must give.", "{ min_chars: 20 }"),
        may("reply", Shape::Words(&["flat", "nested", "list"]), "Layout of the judge's reply.", "nested"),
        may("examples", Shape::Integer(0), "Number of labelled examples that the judge is shown.", "3"),
        may(
            "prompt",
            Shape::Object(&PROMPT),
            "Your own prompt templates for the judge.",
            "{ system: judge-system.md, user: judge-user.md }",
        ),
        may("invalid", Shape::Object(&INVALID), "What happens with an invalid reply.", "{ reask: 2, then: unscored }"),
    ],
);

static SHOWN: Object = Object::new(
    "shown value",
    &[
        must("value", Shape::Template, "Template of the value.", r#""{{ output.claims }}""#),
        may("about", Shape::Text, "Meaning of the value, for the judge.", "The passages that the answer may rest on"),
        may("as", Shape::Words(&["text", "json", "lines"]), "Format in which the value is shown.", "lines"),
        may(
            "line",
            Shape::Template,
            "Template of one line of a list; it reads `item` and `index`.",
            r#""{{ index }}. {{ item.text }}""#,
        ),
        may("shuffle", Shape::Boolean, "Whether a list is shown in random order.", "true"),
        may(
            "required",
            Shape::Boolean,
            "Whether a row without this value is not applicable. No call is made for it.",
            "true",
        ),
        may(
            "route",
            Shape::Text,
            "Name of a shown value that is cut into pieces: each member of this list is judged with the piece that it comes from.",
            "transcript",
        ),
        may(
            "chunk",
            Shape::Object(&CHUNK),
            "Allows cutting a value that is too long for the judge.",
            "{ tokens: 4000, overlap: 100 }",
        ),
        may(
            "times",
            Shape::Template,
            "Template of the times at which parts of a text were said: a list of `{start, duration, text}`, in seconds.",
            r#""{{ sample.transcript.segments }}""#,
        ),
    ],
)
.overlay();

static CHUNK: Object = Object::new(
    "shown chunk",
    &[
        may(
            "tokens",
            Shape::Integer(1),
            "Tokens per piece. Default: as many as the judge's context window allows.",
            "4000",
        ),
        may("items", Shape::Integer(1), "List members per piece.", "50"),
        may("overlap", Shape::Integer(0), "Tokens or members that the next piece repeats.", "100"),
        may(
            "window",
            Shape::Share,
            "Share of the judge's context window to fill before cutting. Default: 80 %.",
            "60%",
        ),
    ],
);

static DIMENSION: Object = Object::new(
    "dimension",
    &[
        may(
            "definition",
            Shape::Text,
            "Meaning of the dimension, for the judge.",
            "How well the sources support the answer",
        ),
        may("scale", Shape::Span, "Lowest and highest score.", "[1, 5]"),
        may("step", POSITIVE, "Distance between neighbouring scores.", "0.5"),
        may("choices", Shape::Map(&NUMBER), "Named answers and their scores.", "{ yes: 1, partly: 0.5, no: 0 }"),
        may(
            "counted",
            Shape::Object(&COUNTED),
            "Share of a list under `diagnostics`, in place of a number from the judge. Of an empty list it is not applicable.",
            r#"{ in: claims, where: verdict == "supported" }"#,
        ),
        may("weight", POSITIVE, "Weight in a weighted mean.", "2"),
        may(
            "anchors",
            Shape::Map(&Shape::Text),
            "Descriptions of certain scores.",
            "{ 1: rude, 5: friendly and helpful }",
        ),
        may("better", Shape::Words(&["higher", "lower"]), "Whether higher or lower scores are better.", "higher"),
        may(
            "chunks",
            Shape::Words(&["weighted", "members", "once", "min", "max"]),
            "How the scores of the pieces become one. `weighted`: mean by length; `members`: mean by list members; `once`: graded in one extra call that sees all but the cut value; `min`, `max`: the lowest, the highest.",
            "weighted",
        ),
    ],
)
.one_of(&["scale", "choices", "counted"]);

static COUNTED: Object = Object::new(
    "counted",
    &[
        must("in", Shape::Text, "Name of the list under `diagnostics`.", "claims"),
        must(
            "where",
            Shape::Expression,
            "Condition for the items that count. It reads the fields of an item, and `item` for the whole of it.",
            r#"verdict == "supported""#,
        ),
    ],
);

static BREAKDOWN: Object = Object::new(
    "breakdown",
    &[
        must("over", TEXTS, "Names of the members.", "[price, delivery]"),
        must(
            "scores",
            Shape::Map(&Shape::Object(&DIMENSION)),
            "Dimensions in which each member is graded.",
            "{ clarity: { scale: [1, 5] } }",
        ),
        may("default", NUMBER, "Score of a member that the judge leaves out.", "0"),
    ],
);

static OVERALL: Object = Object::new(
    "overall",
    &[
        may("id", Shape::Text, "Name of the composite.", "composite"),
        may(
            "method",
            Shape::Words(&["mean", "weighted_mean", "sum", "min", "given"]),
            "How the composite is computed; `given` asks the judge for it.",
            "weighted_mean",
        ),
        may("round", Shape::Integer(0), "Number of decimals.", "1"),
    ],
);

static DIAGNOSTIC: Object = Object::new(
    "diagnostic",
    &[
        must(
            "each",
            Shape::WordOr(&["text"], &Shape::Map(&Shape::Short(&FIELD, "type"))),
            "Form of one item: `text`, or fields.",
            "{ claim: text, severity: { one_of: [low, high] } }",
        ),
        may(
            "explain",
            Shape::Text,
            "Explanation of the list, for the judge.",
            "Claims that the source does not support",
        ),
        may("max", Shape::Integer(1), "Largest number of items.", "5"),
        may(
            "chunks",
            Shape::Words(&["any", "all", "once"]),
            "Whether an item counts if the judge of any piece names it, of all pieces, or if it is asked once for the whole.",
            "any",
        ),
        may("differ", TEXTS, "Two fields; items in which they are equal are dropped.", "[before, after]"),
    ],
)
.overlay();

static FIELD: Object = Object::new(
    "field",
    &[
        may("type", Shape::Words(&["text", "number", "integer", "boolean"]), "Type of the field.", "number"),
        may("one_of", TEXTS, "Allowed words.", "[low, medium, high]"),
        may("index_of", Shape::Text, "Name of a shown list; the field is a position in it.", "claims"),
        may("default", Shape::Any, "Value for a reply that was accepted although it is incomplete.", "low"),
    ],
)
.one_of(&["type", "one_of", "index_of"]);

static CAP: Object = Object::new(
    "cap",
    &[
        must("id", Shape::Text, "Name of the cap in reports.", "no_source"),
        must("when", Shape::Expression, "Condition under which the cap applies.", "output.sources | length == 0"),
        must("max", Shape::Map(&NUMBER), "Highest score by dimension.", "{ trust: 2 }"),
        may("say", Shape::Text, "Text that tells the judge about the cap.", "Without a source, trust is at most 2."),
    ],
);

static RATIONALE: Object = Object::new(
    "rationale",
    &[
        may("field", Shape::Text, "Field of the reply with the explanation.", "reasoning"),
        may("min_chars", Shape::Integer(0), "Smallest length in characters.", "20"),
        may("max_chars", Shape::Integer(1), "Length in characters after which the text is cut.", "600"),
    ],
);

static PROMPT: Object = Object::new(
    "rubric prompt",
    &[
        must("system", Shape::File, "File with the template of the system message.", "judge-system.md"),
        must("user", Shape::File, "File with the template of the user message.", "judge-user.md"),
    ],
);

static INVALID: Object = Object::new(
    "invalid",
    &[
        may("reask", Shape::Integer(0), "How often the judge is asked again, with the error.", "2"),
        may(
            "out_of_range",
            Shape::Words(&["reject", "clamp"]),
            "What happens with a score outside its scale: the reply is invalid, or the score is moved to the nearest bound.",
            "reject",
        ),
        may("tolerance", POSITIVE, "Distance beyond a bound that still counts as the bound.", "0.1"),
        may(
            "absent",
            Shape::Words(&["reject", "lowest"]),
            "What happens with a missing dimension: the reply is invalid, or it gets the lowest score.",
            "reject",
        ),
        may(
            "then",
            Shape::Words(&["unscored", "error", "degrade"]),
            "What happens after the last attempt: the cell is unscored, the cell fails, or the incomplete reply is used.",
            "unscored",
        ),
    ],
);
