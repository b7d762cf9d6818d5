use karat_text::fence::Fence;
use karat_types::Message;
use serde_json::json;

use super::*;

fn request(messages: &[(Role, &str)]) -> ChatRequest {
    let messages = messages.iter().map(|(role, content)| Message::new(*role, *content)).collect();
    ChatRequest { messages, ..ChatRequest::default() }
}

fn said(text: &str) -> ScriptedReply {
    ScriptedReply { text: text.to_owned(), calls: Vec::new() }
}

fn script(reply: &str, vars: Value) -> Result<Script, String> {
    let vars = vars.as_object().cloned().unwrap_or_default();
    Script::new(ScriptedOptions { reply: Some(reply.to_owned()), vars, ..ScriptedOptions::default() })
}

fn reply(template: &str, vars: Value, prompt: &str) -> Result<String, String> {
    script(template, vars)?
        .reply(&request(&[(Role::System, "Be brief."), (Role::User, prompt)]))
        .map(|reply| reply.text)
}

#[test]
fn a_script_sees_the_request_and_its_vars() {
    let template = "{{ system }}|{{ user }}|{{ prompt }}|{{ messages | length }}|{{ messages[1].role }}|{{ vars.n }}";
    assert_eq!(reply(template, json!({"n": 2}), "Hi").unwrap(), "Be brief.|Hi|Be brief.\n\nHi|2|user|2");
}

/// Design: quality planted in data must be found honestly, so nothing but the request is in sight.
#[test]
fn a_script_sees_nothing_else() {
    for name in ["model", "sample", "reference", "variant", "env"] {
        assert!(reply(&format!("{{{{ {name} }}}}"), json!({}), "Hi").is_err(), "{name}");
    }
}

#[test]
fn fenced_sections_are_found_by_label() {
    let prompt = format!("Extract.\n{}", Fence::new(1).wrap("transcript", "Oats rose 3 percent. Rye fell."));
    let claims = r#"{% set claims = fenced("transcript") | sentences | drop_tail(vars.drop | default(0)) %}{{ {"claims": claims} }}"#;
    let extracted = reply(claims, json!({}), &prompt).unwrap();
    assert_eq!(extracted, r#"{"claims":["Oats rose 3 percent.","Rye fell."]}"#);
    assert_eq!(reply(claims, json!({"drop": 0.5}), &prompt).unwrap(), r#"{"claims":["Oats rose 3 percent."]}"#);
    assert_eq!(reply("{{ sections[0].label }}", json!({}), &prompt).unwrap(), "TRANSCRIPT");
    assert_eq!(reply(r#"{{ fenced("golden", "[]") | fromjson | length }}"#, json!({}), &prompt).unwrap(), "0");
    let missing = reply(r#"{{ fenced("golden") }}"#, json!({}), &prompt).unwrap_err();
    assert!(missing.contains("no section GOLDEN") && missing.contains("TRANSCRIPT"), "{missing}");
}

#[test]
fn a_script_that_never_ends_is_stopped() {
    let endless = "{% for a in range(99999) %}{% for b in range(99999) %}{{ a }}{% endfor %}{% endfor %}";
    assert!(reply(endless, json!({}), "").unwrap_err().contains("fuel"));
}

#[test]
fn a_script_that_does_not_compile_says_where() {
    let error = script("a\n{{ oops", json!({})).map(drop).unwrap_err();
    assert!(error.starts_with("`reply` does not compile") && error.ends_with("(line 2)"), "{error}");
}

#[test]
fn the_first_written_reply_that_fits_is_given() {
    let text = "{\"match\": \"oats\", \"reply\": {\"score\": 3}}\n\n{\"match\": \"\", \"reply\": \"else\"}\n";
    let written = |text: &str| {
        Script::new(ScriptedOptions { replies: Some(Replies::Text(text.to_owned())), ..ScriptedOptions::default() })
    };
    let replies = written(text).unwrap();
    assert_eq!(replies.reply(&request(&[(Role::User, "On oats.")])).unwrap(), said(r#"{"score":3}"#));
    assert_eq!(replies.reply(&request(&[(Role::User, "On rye.")])).unwrap(), said("else"));
    let strict = written(r#"[{"match": "oats", "reply": "x"}]"#).unwrap();
    assert!(strict.reply(&request(&[(Role::User, "rye")])).unwrap_err().contains("none of its 1 written replies"));
    assert!(written("{\"match\": \"a\"}\n").map(drop).unwrap_err().starts_with("row 1 of `replies`"));
}

/// SP-09: a recorded reply is found by the whole of one shown value, however its text stands within others.
#[test]
fn a_recorded_reply_is_found_by_its_section() {
    let rows = r#"[{"match": "p1", "reply": {"score": 3.5}}, {"match": "p11", "reply": "eleven"}]"#;
    let recorded = |rows: &str| {
        let replies = Some(Replies::Text(rows.to_owned()));
        Script::new(ScriptedOptions { replies, by: Some("result".to_owned()), ..ScriptedOptions::default() })
    };
    let script = recorded(rows).unwrap();
    let asked = |prompt: &str| script.reply(&request(&[(Role::System, "p1"), (Role::User, prompt)]));
    let of = |id: &str| format!("p1 {}\np1", Fence::new(1).wrap("result", id));
    assert_eq!(asked(&of("p11")).unwrap(), said("eleven"));
    assert_eq!(asked(&of("p1")).unwrap(), said(r#"{"score":3.5}"#));
    let missing = asked(&of("p2")).unwrap_err();
    assert_eq!(missing, "none of its 2 recorded replies is for the RESULT \"p2\"");
    assert!(asked("p1").unwrap_err().contains("no section RESULT"));
    let twice = recorded(r#"[{"match": "a", "reply": "x"}, {"match": "a", "reply": "y"}]"#).map(drop).unwrap_err();
    assert!(twice.contains("\"a\""), "{twice}");
}

#[test]
fn a_script_needs_exactly_one_source() {
    assert!(Script::new(ScriptedOptions::default()).is_err());
    let both = ScriptedOptions {
        reply: Some(String::new()),
        replies: Some(Replies::Rows(Vec::new())),
        ..ScriptedOptions::default()
    };
    assert!(Script::new(both).is_err());
}

#[test]
fn usage_counts_prompt_and_reply() {
    let usage = usage(&request(&[(Role::System, "Be brief."), (Role::User, "Hello world")]), &said("Hello"));
    assert_eq!((usage.input_tokens, usage.output_tokens), (5, 1));
}

/// CL-06: a scripted model keeps to the limit of tokens that it is given, as providers do, and to its own.
#[test]
fn a_reply_is_cut_at_its_limit() {
    let text = "Tides rise – and fall – twice a day, nearly everywhere.";
    let limited = |asked: Option<u32>, own: Option<u32>| {
        let mut request = request(&[(Role::User, "Hi")]);
        request.parameters.max_tokens = asked;
        cut_to_limit(&request, own, text.to_owned())
    };
    assert_eq!(limited(None, None), (text.to_owned(), FinishReason::Stop));
    assert_eq!(limited(Some(100), Some(50)), (text.to_owned(), FinishReason::Stop));
    for (asked, own) in [(Some(5), None), (None, Some(5)), (Some(5), Some(50)), (Some(50), Some(5))] {
        let (cut, finish) = limited(asked, own);
        assert_eq!((Tokenizer::plan().count(&cut), finish), (5, FinishReason::Length), "{cut}");
        assert!(text.starts_with(&cut));
    }
    assert_eq!(limited(Some(0), None), (String::new(), FinishReason::Length));
}

/// TG-20: rows answer by turn and call tools; a template that gives calls makes them where tools are offered.
#[test]
fn scripts_call_tools_by_turn() {
    let rows = r#"[{"turn": 1, "tool_calls": [{"name": "find", "arguments": {"id": "A1"}}]},
        {"match": "A1", "turn": 2, "reply": "Found."}, {"match": "A2", "turn": 2, "reply": "Lost."}]"#;
    let replies =
        |text: &str| ScriptedOptions { replies: Some(Replies::Text(text.to_owned())), ..ScriptedOptions::default() };
    let script = Script::new(replies(rows)).unwrap();
    let first = script.reply(&request(&[(Role::User, "Where is A2?")])).unwrap();
    assert_eq!((first.text.as_str(), first.calls[0].name.as_str()), ("", "find"));
    let turns = [(Role::User, "Where is A2?"), (Role::Assistant, ""), (Role::Tool, "none")];
    assert_eq!(script.reply(&request(&turns)).unwrap(), said("Lost."));
    let problem = script.reply(&request(&[(Role::Assistant, "a"), (Role::Assistant, "b")])).unwrap_err();
    assert!(problem.contains("in turn 3"), "{problem}");
    for (rows, problem) in [
        (r#"[{"reply": "x"}]"#, "neither `match` nor `turn`"),
        (r#"[{"match": "x"}]"#, "needs `reply`, `tool_calls` or both, or `error`"),
        (r#"[{"match": "x", "reply": "y", "error": "z"}]"#, "needs `reply`, `tool_calls` or both, or `error`"),
        (r#"[{"turn": 0, "reply": "x"}]"#, "turn 1"),
        (r#"[{"match": "x", "replay": "y"}]"#, "replay"),
    ] {
        let refused = Script::new(replies(rows)).err().unwrap_or_default();
        assert!(refused.contains(problem), "{rows}: {refused}");
    }

    let template = r#"{"text": "Turn {{ turn }}.", "tool_calls": [{"name": "find"}]}"#;
    let script = Script::new(ScriptedOptions { reply: Some(template.to_owned()), ..ScriptedOptions::default() });
    let script = script.unwrap();
    let mut asked = request(&[(Role::User, "Hi")]);
    assert_eq!(script.reply(&asked).unwrap(), said(r#"{"text": "Turn 1.", "tool_calls": [{"name": "find"}]}"#));
    asked.tools = vec![karat_types::ToolDefinition { name: "find".to_owned(), about: None, input: json!({}).into() }];
    let reply = script.reply(&asked).unwrap();
    assert_eq!((reply.text.as_str(), arguments_text(&reply.calls[0]).as_str()), ("Turn 1.", "{}"));
}
