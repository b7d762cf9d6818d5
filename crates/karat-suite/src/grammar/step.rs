//! Steps of a variant.

use super::{Object, Shape, TEXTS, may, must};

pub(super) static STEP: Object = Object::new(
    "step",
    &[
        may("prompt", Shape::Short(&PROMPT, "file"), "Renders messages and calls a model."),
        may("http", Shape::Short(&HTTP, "url"), "Calls a service."),
        may("command", Shape::Short(&COMMAND, "run"), "Runs a program."),
        may("recorded", Shape::Short(&RECORDED, "from"), "Takes an output that exists already."),
        may("use", Shape::Text, "The steps of another variant."),
        may("id", Shape::Text, "Its address; its position without it."),
        may("version", Shape::Text, "Declared version, part of identity."),
        may("chunk", Shape::Object(&CHUNK), "Map over pieces."),
        may("parse", Shape::Short(&PARSE, "schema"), "Text to value."),
        may(
            "take",
            Shape::Map(&Shape::Short(&TAKEN, "path")),
            "Value to smaller object: name to path, or to what is renamed.",
        ),
        may("merge", Shape::Short(&MERGE, "how"), "Pieces to one."),
        may("meter", Shape::Object(&METER), "Facts read from the response or row."),
        may("requires", Shape::Object(&REQUIRES), "What must hold for the cell to be planned."),
        may("model", Shape::Text, "A fixed model instead of the matrix's."),
        may("parameters", Shape::Open(&PARAMETERS), "Call settings."),
        may("timeout", Shape::Duration, "Timeout of one attempt."),
        may("retries", Shape::Integer(0), "Attempts after the first."),
    ],
)
.one_of(&["prompt", "http", "command", "recorded", "use"]);

static PROMPT: Object = Object::new(
    "prompt",
    &[
        may("file", Shape::File, "A file with the user message's template."),
        may("text", Shape::Template, "The user message."),
        may("system", Shape::Template, "The system message, beside `user`."),
        may("user", Shape::Template, "The user message, beside `system`."),
        may("messages", Shape::List(&Shape::Object(&MESSAGE)), "Several turns."),
    ],
)
.one_of(&["file", "text", "user", "messages"]);

static MESSAGE: Object = Object::new(
    "message",
    &[
        must("role", Shape::Words(&["system", "user", "assistant"]), "Who speaks."),
        must("content", Shape::Template, "What is said."),
    ],
);

pub(super) static HTTP: Object = Object::new(
    "http",
    &[
        must("url", Shape::Template, "The address."),
        may("method", Shape::Text, "POST without it."),
        may("headers", Shape::Map(&Shape::Template), "Headers."),
        may("body", Shape::Any, "The body; every text in it is a template, a lone `{{ }}` keeps its type."),
    ],
);

static COMMAND: Object = Object::new(
    "command",
    &[
        must("run", TEXTS, "The program and its arguments; there is no shell."),
        may("stdin", Shape::Template, "What it reads; with jsonl the `input` of its line (without it, the row's)."),
        may("env", Shape::Map(&Shape::Template), "Variables of its environment."),
        may("protocol", Shape::Words(&["once", "jsonl"]), "One process a cell, or one for all, line by line."),
    ],
);

static RECORDED: Object = Object::new(
    "recorded",
    &[
        may("from", Shape::File, "A file a sample, or one file of many rows."),
        may("by", Shape::Template, "Which row of such a file; the sample's id without it."),
        may("column", Shape::Path, "A path into the row, or into the file's row."),
        may("missing", Shape::Words(&["error", "empty", "skip"]), "What an absent output means."),
        may(
            "broken",
            Shape::Words(&["error", "text"]),
            "What an output means that cannot be read: the cell fails, or the text is what scorers see.",
        ),
    ],
);

static CHUNK: Object = Object::new(
    "chunk",
    &[
        must("of", Shape::Expression, "What is cut: a text or a list."),
        may("tokens", Shape::Integer(1), "Tokens of a piece."),
        may("items", Shape::Integer(1), "List items of a piece."),
        may("overlap", Shape::Integer(0), "How much the next piece repeats."),
        may("max", Shape::Integer(1), "At most so many pieces; dropped ones are counted."),
    ],
);

static PARSE: Object = Object::new(
    "parse",
    &[
        may("schema", Shape::File, "JSON Schema that the value must satisfy."),
        may("as", Shape::Words(&["json", "text", "lines", "bullets", "yaml", "csv"]), "Form of the text."),
        may(
            "section",
            Shape::Text,
            "Heading of the Markdown section that is read, where the text has one of that name.",
        ),
        may("into", Shape::Text, "Wraps the value in an object under this name."),
        may("reask", Shape::Integer(0), "How often the model is asked again with the validation error."),
    ],
);

static TAKEN: Object = Object::new(
    "taken part",
    &[
        may("path", Shape::Path, "What is taken; a list of all where it leads to several places."),
        may("each", Shape::Path, "A list whose members are renamed."),
        may("as", Shape::Map(&Shape::Path), "New name to path: within each member, or within the value."),
    ],
)
.one_of(&["path", "as"]);

static MERGE: Object = Object::new(
    "merge",
    &[
        must("how", Shape::Words(&["union", "concat", "first", "last", "vote", "text"]), "The rule."),
        may("of", Shape::Path, "The list within each piece."),
        may("by", Shape::Path, "What makes two items equal."),
        may("similar", Shape::Number(0.0, 1.0), "Similarity from which two texts count as equal."),
    ],
);

static METER: Object = Object::new(
    "meter",
    &[
        may("latency_ms", Shape::Map(&Shape::Path), "Stage to path."),
        may("tokens", Shape::List(&Shape::Object(&METERED)), "Tokens by model."),
        may("cost_usd", Shape::Path, "Cost in dollars."),
        may("version", Shape::Path, "Version of the service."),
        may("models", Shape::Path, "Names of the models that the service uses, by part."),
    ],
);

static METERED: Object = Object::new(
    "metered tokens",
    &[
        may("each", Shape::Path, "A list of uses: the other paths look into each of its members."),
        must("model", Shape::Text, "Registry id, or a path to it."),
        may("input", Shape::Path, "Input tokens."),
        may("output", Shape::Path, "Output tokens."),
    ],
);

static REQUIRES: Object = Object::new(
    "requires",
    &[
        may("fits", Shape::Boolean, "The whole prompt and the reply's budget fit the model's context window."),
        may("json_mode", Shape::Words(&["none", "object", "schema"]), "The model's JSON mode is at least this."),
        may("context_window", Shape::Integer(1), "The model's context window is at least this."),
        may("tier", Shape::Words(&["frontier", "midtier", "budget"]), "The model's tier."),
        may("models", TEXTS, "The model is one of these."),
    ],
);

pub(super) static PARAMETERS: Object = Object::new(
    "parameters",
    &[
        may("temperature", Shape::Number(0.0, 10.0), "Sampling temperature."),
        may("max_tokens", Shape::Integer(1), "Upper bound on the reply's tokens."),
        may("top_p", Shape::Number(0.0, 1.0), "Nucleus sampling."),
        may("seed", Shape::Integer(0), "Sampling seed."),
        may("stop", TEXTS, "Texts that end the reply."),
    ],
);
