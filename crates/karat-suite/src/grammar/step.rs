//! Steps of a variant.

use super::agent::{AGENT, MESSAGE};
use super::{Object, Shape, TEXTS, may, must};

pub(super) static STEP: Object = Object::new(
    "step",
    &[
        may("prompt", Shape::Short(&PROMPT, "file"), "Renders messages from a template and calls a model. A bare string is the path of a template file; write `{ text: … }` for a prompt in the suite itself.", "prompts/classify.md"),
        may("agent", Shape::Object(&AGENT), "Lets a model call tools until it is done; the output is an object with `text`, `messages`, `tool_calls`, `turns` and `stop_reason`.", r#"{ user: "{{ input }}", tools: [get_order, refund], limits: { turns: 12 } }"#),
        may("http", Shape::Short(&HTTP, "url"), "Sends a request to a service; the response is the output.", r#"{ url: "http://localhost:8000/answer", body: { question: "{{ input }}" } }"#),
        may("command", Shape::Short(&COMMAND, "run"), "Runs a program; its standard output is the output.", "[python, answer.py]"),
        may("recorded", Shape::Short(&RECORDED, "from"), "Reads an output that exists already, from a column or from a file.", "{ column: answer }"),
        may("use", Shape::Text, "Runs the steps of another variant first; their results are computed once and shared.", "short"),
        may("id", Shape::Text, "Name of the step in traces and errors. Default: its position, from 0.", "extract"),
        may("version", Shape::Text, "Version of the step. Results are reused only for the same version.", "v2"),
        may("chunk", Shape::Object(&CHUNK), "Cuts a long input into pieces and runs the step for each.", "{ of: sample.transcript, tokens: 3000, overlap: 150 }"),
        may("parse", Shape::Short(&PARSE, "schema"), "Parses the text into a value. A bare string is the path of a JSON Schema.", "schemas/claims.json"),
        may("take", Shape::Map(&Shape::Short(&TAKEN, "path")), "Keeps parts of the value: new name to path, or to the fields to rename.", "{ answer: $.choices.0.text }"),
        may("merge", Shape::Short(&MERGE, "how"), "Joins the outputs of the pieces into one.", "{ how: union, of: $.claims, by: text }"),
        may("meter", Shape::Object(&METER), "Reads cost, tokens and latency from the response or the row.", "{ cost_usd: $.usage.cost }"),
        may("requires", Shape::Object(&REQUIRES), "Conditions on the model; cells that do not meet them are not planned.", "{ fits: true }"),
        may("model", Shape::Text, "Fixed model of this step, in place of the models under test.", "gpt-5-mini"),
        may("parameters", Shape::Open(&PARAMETERS), "Call settings of this step.", "{ temperature: 0, max_tokens: 800 }"),
        may("timeout", Shape::Duration, "Time limit for one attempt of a call.", "60s"),
        may("retries", Shape::Integer(0), "Number of attempts after the first that fails.", "2"),
    ],
)
.one_of(&["prompt", "agent", "http", "command", "recorded", "use"]);

static PROMPT: Object = Object::new(
    "prompt",
    &[
        may("file", Shape::File, "File with the template of the user message.", "prompts/classify.md"),
        may(
            "text",
            Shape::Template,
            "Template of the user message, written in the suite.",
            r#""Classify this ticket: {{ sample.ticket }}""#,
        ),
        may("system", Shape::Template, "System message, beside `user` or `messages`.", "You sort support tickets."),
        may("user", Shape::Template, "User message, beside `system`.", r#""{{ sample.ticket }}""#),
        may(
            "messages",
            Shape::TemplateOr(&Shape::List(&Shape::TemplateOr(&Shape::Object(&MESSAGE)))),
            "Messages of several turns, in the place of `user`. A lone `{{ }}` stands for the messages that the row holds, whose texts are not rendered.",
            r#"[{ role: system, content: Be brief. }, { role: user, content: "{{ input }}" }]"#,
        ),
        may(
            "tools",
            TEXTS,
            "Tools that the model is offered, by their names under `tools`. The output is then an object with `text`, `tool_calls` and `stop_reason`.",
            "[get_order]",
        ),
        may(
            "tool_choice",
            Shape::Text,
            "Tools that the model may or must call: `auto`, `none`, `any` (at least one), or the name of one.",
            "auto",
        ),
    ],
)
.one_of(&["file", "text", "user", "messages"]);

pub(super) static HTTP: Object = Object::new(
    "http",
    &[
        must(
            "url",
            Shape::Template,
            "Address of the request. It may read `{{ services.ID.url }}` and `${NAME}`.",
            r#""{{ services.search.url }}/answer""#,
        ),
        may("method", Shape::Text, "HTTP method. Default: POST.", "GET"),
        may(
            "headers",
            Shape::Map(&Shape::Template),
            "Headers. `${NAME}` reads an environment variable; its value is never stored.",
            r#"{ Authorization: "Bearer ${SEARCH_TOKEN}" }"#,
        ),
        may(
            "body",
            Shape::Any,
            "Body, sent as JSON. Every text in it is a template; a text that is one `{{ … }}` keeps the type of its value.",
            r#"{ question: "{{ input }}", top_k: 5 }"#,
        ),
    ],
);

static COMMAND: Object = Object::new(
    "command",
    &[
        must("run", TEXTS, "The program and its arguments. There is no shell.", "[python, answer.py, --fast]"),
        may(
            "stdin",
            Shape::Template,
            "Template of the standard input. With `protocol: jsonl` it is the `input` of each line; default then: the row's input.",
            r#""{{ sample.ticket }}""#,
        ),
        may(
            "env",
            Shape::Map(&Shape::Template),
            "Environment variables of the program.",
            r#"{ TOKEN: "${SEARCH_TOKEN}" }"#,
        ),
        may(
            "protocol",
            Shape::Words(&["once", "jsonl"]),
            "`once` starts one process per cell; `jsonl` starts one for all cells, which reads and writes one line of JSON per cell.",
            "jsonl",
        ),
    ],
);

static RECORDED: Object = Object::new(
    "recorded",
    &[
        may(
            "from",
            Shape::File,
            "Path of a file per sample, or of one file with a row per sample. Values of a row can only name files beneath the folder that the path begins with.",
            r#""outputs/{{ sample.id }}.md""#,
        ),
        may(
            "by",
            Shape::Template,
            "Id of the row in a file of many rows. Default: the sample's id, unless `from` reads the sample.",
            r#""{{ sample.id }}""#,
        ),
        may("column", Shape::Path, "Path of the output within the row, or within the file's row.", "answer"),
        may(
            "missing",
            Shape::Words(&["error", "empty", "skip"]),
            "What happens without an output: the cell fails, the output is empty, or the cell is skipped.",
            "skip",
        ),
        may(
            "broken",
            Shape::Words(&["error", "text"]),
            "What happens with an output that cannot be read: the cell fails, or its text is scored as it is.",
            "text",
        ),
        may(
            "error",
            Shape::Path,
            "Path of an error text beside the output. Where it holds one, the cell fails with that text.",
            "error",
        ),
        may(
            "trial",
            Shape::Path,
            "Path of the trial's number within the file's row, counted from 1. The file then has a row for each trial.",
            "epoch",
        ),
    ],
);

static CHUNK: Object = Object::new(
    "chunk",
    &[
        must("of", Shape::Expression, "The text or list to cut.", "sample.transcript"),
        may("tokens", Shape::Integer(1), "Tokens per piece.", "3000"),
        may("items", Shape::Integer(1), "List items per piece.", "50"),
        may("overlap", Shape::Integer(0), "Tokens or items that the next piece repeats.", "150"),
        may("max", Shape::Integer(1), "Largest number of pieces. The report counts those that are dropped.", "40"),
    ],
);

static PARSE: Object = Object::new(
    "parse",
    &[
        may("schema", Shape::File, "File with a JSON Schema that the value must satisfy.", "schemas/claims.json"),
        may("as", Shape::Words(&["json", "text", "lines", "bullets", "yaml", "csv"]), "Format of the text.", "bullets"),
        may(
            "section",
            Shape::Text,
            "Heading of the Markdown section to read. If no section has this name, the whole text is read.",
            "Claims",
        ),
        may("into", Shape::Text, "Wraps the value in an object with this key.", "claims"),
        may(
            "reask",
            Shape::Integer(0),
            "How often the model is asked again, with the validation error. Default: 1.",
            "2",
        ),
    ],
);

static TAKEN: Object = Object::new(
    "taken part",
    &[
        may(
            "path",
            Shape::Path,
            "Path of the value. If it matches several values, they become a list.",
            "$.choices.0.text",
        ),
        may("each", Shape::Path, "Path of a list whose members are renamed.", "$.hits"),
        may(
            "as",
            Shape::Map(&Shape::Path),
            "New name to path, within the value or within each member.",
            "{ id: doc_id, text: snippet }",
        ),
    ],
)
.one_of(&["path", "as"]);

static MERGE: Object = Object::new(
    "merge",
    &[
        must(
            "how",
            Shape::Words(&["union", "concat", "first", "last", "vote", "text"]),
            "How the outputs of the pieces become one.",
            "union",
        ),
        may("of", Shape::Path, "Path of the list within each piece.", "$.claims"),
        may("by", Shape::Path, "Path, within an item, of the value by which duplicates are found.", "text"),
        may(
            "similar",
            Shape::Number(0.0, 1.0),
            "Similarity from which a text that only adds words to another one counts as its duplicate. Texts that differ in a number, a unit, a name, a negation or a direction, or that have another word in the place of one, are never duplicates. Default: only texts that are equal but for case, white space and punctuation.",
            "0.9",
        ),
    ],
);

static METER: Object = Object::new(
    "meter",
    &[
        may(
            "latency_ms",
            Shape::Map(&Shape::Path),
            "Latency in milliseconds: stage to path.",
            "{ retrieve: $.timing.search_ms }",
        ),
        may(
            "tokens",
            Shape::List(&Shape::Object(&METERED)),
            "Tokens by model.",
            "[{ model: gpt-5-mini, input: $.usage.prompt_tokens, output: $.usage.completion_tokens }]",
        ),
        may("cost_usd", Shape::Path, "Path of the cost in US dollars.", "$.usage.cost"),
        may("version", Shape::Path, "Path of the service's version.", "$.version"),
        may("models", Shape::Path, "Path of the names of the models that the service uses, by part.", "$.models"),
    ],
);

static METERED: Object = Object::new(
    "metered tokens",
    &[
        may(
            "each",
            Shape::Path,
            "Path of a list of calls; the other paths are then relative to its members.",
            "$.calls",
        ),
        must("model", Shape::Text, "Id in the registry, or the path of one.", "gpt-5-mini"),
        may("input", Shape::Path, "Path of the number of input tokens.", "$.usage.prompt_tokens"),
        may("output", Shape::Path, "Path of the number of output tokens.", "$.usage.completion_tokens"),
    ],
);

static REQUIRES: Object = Object::new(
    "requires",
    &[
        may("fits", Shape::Boolean, "The prompt and the longest reply fit into the model's context window.", "true"),
        may(
            "json_mode",
            Shape::Words(&["none", "object", "schema"]),
            "Lowest JSON mode that the model must have.",
            "object",
        ),
        may("context_window", Shape::Integer(1), "Smallest context window in tokens.", "128000"),
        may("tier", Shape::Words(&["frontier", "midtier", "budget"]), "Price tier of the model.", "budget"),
        may("models", TEXTS, "Ids of the models that are allowed.", "[gpt-5, gpt-5-mini]"),
    ],
);

pub(super) static PARAMETERS: Object = Object::new(
    "parameters",
    &[
        may("temperature", Shape::Number(0.0, 10.0), "Sampling temperature.", "0"),
        may("max_tokens", Shape::Integer(1), "Largest number of tokens in the reply.", "800"),
        may("top_p", Shape::Number(0.0, 1.0), "Probability mass for nucleus sampling.", "0.9"),
        may("seed", Shape::Integer(0), "Sampling seed, for providers that take one.", "1"),
        may("stop", TEXTS, "Texts that end the reply.", r#"["\n\n"]"#),
        may("effort", Shape::Text, "How long the model reasons before it replies, such as low, medium or high.", "low"),
    ],
);
