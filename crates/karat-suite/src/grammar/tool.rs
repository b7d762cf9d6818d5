//! Tools that models may call.

use super::{Object, Shape, TEXTS, may, must};

pub(super) static TOOL: Object = Object::new(
    "tool",
    &[
        may("about", Shape::Text, "Purpose of the tool, and when to call it, as the model is told.", "Looks an order up."),
        may(
            "input",
            Shape::Any,
            "JSON Schema of the arguments: an object schema, or the path of a file with one. Default: no arguments.",
            "{ type: object, properties: { id: { type: string } }, required: [id] }",
        ),
        may("version", Shape::Text, "Version of what answers the calls.", r#""2""#),
        may(
            "result",
            Shape::Template,
            "Template of the result. It reads `arguments`, `sample` and `calls`, the earlier calls of the conversation.",
            r#""Order {{ arguments.id }} ships Monday.""#,
        ),
        may(
            "replies",
            Shape::Any,
            "Written results: rows, or the path of a file of rows, of the form `{ arguments, result }` or `{ arguments, error }`. The first row whose arguments are part of the call's answers.",
            "data/orders.jsonl",
        ),
        may(
            "command",
            Shape::Short(&COMMAND, "run"),
            "A program that answers. It reads the call as JSON from its standard input.",
            "{ run: [python3, shop.py], protocol: jsonl }",
        ),
        may(
            "http",
            Shape::Short(&HTTP, "url"),
            "A service that answers. The call is posted to it as JSON.",
            r#"{ url: "http://localhost:8000/tools" }"#,
        ),
    ],
)
.foreign(&[("description", "about"), ("parameters", "input"), ("input_schema", "input"), ("function", "about and input")]);

static COMMAND: Object = Object::new(
    "tool command",
    &[
        must("run", TEXTS, "The program and its arguments. There is no shell.", "[python3, shop.py]"),
        may(
            "env",
            Shape::Map(&Shape::Text),
            "Environment variables of the program; `${NAME}` reads one of your environment.",
            r#"{ TOKEN: "${SHOP_TOKEN}" }"#,
        ),
        may(
            "protocol",
            Shape::Words(&["once", "jsonl"]),
            "`once` starts a process for each call; `jsonl` starts one for all calls, which reads and writes one line of JSON for each and may keep state.",
            "jsonl",
        ),
    ],
);

static HTTP: Object = Object::new(
    "tool service",
    &[
        must(
            "url",
            Shape::Text,
            "Address that calls are posted to; `${NAME}` reads an environment variable.",
            r#""http://localhost:8000/tools""#,
        ),
        may(
            "headers",
            Shape::Map(&Shape::Text),
            "Headers. `${NAME}` reads an environment variable; its value is never stored.",
            r#"{ Authorization: "Bearer ${SHOP_TOKEN}" }"#,
        ),
    ],
);
