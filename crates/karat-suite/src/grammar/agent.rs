//! Messages of prompts, and agents: loops of a model and tools.

use super::{Object, POSITIVE, Shape, TEXTS, may, must};

pub(super) static AGENT: Object = Object::new(
    "agent",
    &[
        may("system", Shape::Template, "System message: the instructions of the agent.", r#""{{ params.policy }}""#),
        may("user", Shape::Template, "First message of the user.", r#""{{ input }}""#),
        may(
            "messages",
            Shape::TemplateOr(&Shape::List(&Shape::TemplateOr(&Shape::Object(&MESSAGE)))),
            "Messages before the agent's first turn, in the place of `user`. A lone `{{ }}` stands for the messages that the row holds.",
            r#"[{ role: user, content: "{{ input }}" }]"#,
        ),
        may("tools", TEXTS, "Tools that the agent may call, by their names under `tools`.", "[get_order, refund]"),
        may(
            "limits",
            Shape::Object(&LIMITS),
            "Limits of the loop. Reaching one is an output with that `stop_reason`, not an error.",
            "{ turns: 12, calls: 30, cost_usd: 0.5, time: 5m }",
        ),
        may(
            "state",
            Shape::Text,
            "A tool that the agent does not see. It is called with no arguments at the end; its result is the output's `state`.",
            "dump",
        ),
        may(
            "simulate",
            Shape::Object(&SIMULATE),
            "A user who answers the agent after each reply without calls.",
            r####"{ model: gpt-5-mini, text: "{{ sample.persona }} Goal: {{ sample.goal }}", stop: "###STOP###", turns: 8 }"####,
        ),
    ],
);

static LIMITS: Object = Object::new(
    "agent limits",
    &[
        may("turns", Shape::Integer(1), "Largest number of the agent's turns. Default: 20.", "12"),
        may("calls", Shape::Integer(0), "Largest number of calls of tools.", "30"),
        may(
            "tokens",
            Shape::Integer(1),
            "Tokens of requests and replies from which no further turn is asked for.",
            "60000",
        ),
        may("cost_usd", POSITIVE, "Cost in US dollars from which no further turn is asked for.", "0.5"),
        may(
            "time",
            Shape::Duration,
            "Time of calls and tools from which no further turn is asked for. Waiting for rate limits does not count.",
            "5m",
        ),
    ],
);

static SIMULATE: Object = Object::new(
    "simulated user",
    &[
        may("model", Shape::Text, "Model that plays the user. Its cost is not part of the system's.", "gpt-5-mini"),
        may(
            "text",
            Shape::Template,
            "Template of what the user is and wants, with `model`.",
            r#""{{ sample.persona }} Goal: {{ sample.goal }}""#,
        ),
        may(
            "first",
            Shape::Template,
            "Template of the user's first message. Default: the model writes it.",
            r#""Hi.""#,
        ),
        may(
            "stop",
            Shape::Text,
            "Text by which the user ends the conversation. Default: `###STOP###`.",
            r####""###STOP###""####,
        ),
        may("turns", Shape::Integer(1), "Largest number of the user's messages. Default: 20.", "8"),
        may(
            "script",
            Shape::Any,
            "Written messages in place of a model: a list of templates, or a `{{ }}` that gives a list of texts.",
            r#""{{ sample.user_turns }}""#,
        ),
    ],
)
.one_of(&["model", "script"]);

pub(super) static MESSAGE: Object = Object::new(
    "message",
    &[
        must("role", Shape::Words(&["system", "user", "assistant"]), "Sender of the message.", "user"),
        must(
            "content",
            Shape::TemplateOr(&Shape::List(&Shape::TemplateOr(&Shape::Object(&PART)))),
            "Template of the message, or its parts.",
            r#""{{ sample.ticket }}""#,
        ),
    ],
);

static PART: Object = Object::new(
    "part",
    &[
        may("text", Shape::Template, "Template of words.", r#""{{ input }}""#),
        may(
            "image",
            Shape::Template,
            "Image: a path, an address, a `data:` address, or base64 beside `media`. A path that begins with a value of the row is relative to the dataset.",
            r#""{{ sample.photo }}""#,
        ),
        may("file", Shape::Template, "File such as a PDF, written like `image`.", r#""contracts/{{ sample.id }}.pdf""#),
        may("detail", Shape::Template, "Detail in which the provider looks at an image.", "low"),
        may("media", Shape::Text, "Media type; it says that the image or file is base64.", "image/png"),
    ],
)
.one_of(&["text", "image", "file"]);
