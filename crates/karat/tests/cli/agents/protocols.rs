//! The loop of an agent in the words of each protocol: what is sent, what is called, how it is answered.

use serde_json::{Value, json};
use testkit::{Behaviour, FakeProvider, Script};

use super::loops::{ORDER, output, place, suite};

/// The two requests of a loop with a tool, and its output.
fn run_loop(provider: &str, first: Value, second: Value) -> ([Value; 2], Vec<String>, Value) {
    let fake = FakeProvider::start(Script::by(move |received| {
        Behaviour::raw(200, if received.number == 0 { first.to_string() } else { second.to_string() })
    }))
    .unwrap();
    let agent = r#"system: Be brief., user: "{{ input }}", tools: [get_order]"#;
    let own = format!("provider: {provider}");
    let place = place(1, &suite(&fake.base_url(), ORDER, agent).replace("provider: openai", &own));
    place.succeed(&["run", "--run-id", "a", "-q"]);
    let received = fake.received_requests();
    assert_eq!(received.len(), 2, "{provider}");
    let paths = received.iter().map(|request| request.path.clone()).collect();
    ([received[0].json(), received[1].json()], paths, output(&place, "a"))
}

/// The output is the same whatever protocol the model speaks.
fn assert_output(output: &Value, text: &str) {
    assert_eq!((&output["text"], &output["turns"], &output["stop_reason"]), (&json!(text), &json!(2), &json!("done")));
    let call = &output["tool_calls"][0];
    assert_eq!((&call["name"], &call["arguments"]), (&json!("get_order"), &json!({"id": "A1"})));
    assert_eq!(call["result"], json!(r#"{"ships":"Monday"}"#), "{call}");
}

fn schema() -> Value {
    json!({ "type": "object", "properties": { "id": { "type": "string" } }, "required": ["id"] })
}

const QUESTION: &str = "Question 0: [[answer 0]]";
const ANSWER: &str = r#"{"ships":"Monday"}"#;

/// TG-11, TG-13: chat completions, as OpenAI and Mistral write them: calls as JSON texts, results as turns of the role `tool`.
#[test]
fn chat_completions_loop() {
    for (provider, id) in [("openai", "call_1"), ("mistral", "abc123DEF")] {
        let turn = json!({ "role": "assistant", "content": null, "tool_calls": [
            { "id": id, "type": "function", "function": { "name": "get_order", "arguments": "{\"id\":\"A1\"}" } } ] });
        let first = json!({ "choices": [{ "finish_reason": "tool_calls", "message": turn }],
            "usage": { "prompt_tokens": 50, "completion_tokens": 9 } });
        let second = json!({ "choices": [{ "finish_reason": "stop", "message": { "role": "assistant", "content": "Monday." } }],
            "usage": { "prompt_tokens": 80, "completion_tokens": 8 } });
        let ([asked, answered], paths, output) = run_loop(provider, first, second);
        assert!(paths.iter().all(|path| path == "/v1/chat/completions"), "{provider}: {paths:?}");
        let tool = json!({ "type": "function", "function": {
            "name": "get_order", "description": "Looks an order up.", "parameters": schema() } });
        let opening =
            [json!({ "role": "system", "content": "Be brief." }), json!({ "role": "user", "content": QUESTION })];
        assert_eq!((&asked["model"], &asked["messages"]), (&json!("mock-model"), &json!(opening)), "{provider}");
        assert_eq!((&asked["tools"], &answered["tools"]), (&json!([tool]), &json!([tool])), "{provider}");
        let result = json!({ "role": "tool", "tool_call_id": id, "content": ANSWER });
        assert_eq!(answered["messages"], json!([opening[0], opening[1], turn, result]), "{provider}");
        assert_output(&output, "Monday.");
    }
}

/// TG-03, TG-11, TG-13: OpenAI's Responses: reasoning goes back encrypted, calls and results are items of their own.
#[test]
fn responses_loop() {
    let items = json!([
        { "type": "reasoning", "id": "rs_1", "encrypted_content": "c2lnbmVk" },
        { "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "get_order", "arguments": "{\"id\":\"A1\"}" },
    ]);
    let first = json!({ "status": "completed", "output": items, "usage": { "input_tokens": 50, "output_tokens": 9 } });
    let said =
        json!([{ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Monday." }] }]);
    let second = json!({ "status": "completed", "output": said, "usage": { "input_tokens": 80, "output_tokens": 8 } });
    let ([asked, answered], paths, output) = run_loop("openai-responses", first, second);
    assert!(paths.iter().all(|path| path == "/v1/responses"), "{paths:?}");
    assert_eq!((&asked["instructions"], &asked["store"]), (&json!("Be brief."), &json!(false)));
    let question = json!({ "role": "user", "content": [{ "type": "input_text", "text": QUESTION }] });
    assert_eq!(asked["input"], json!([question]));
    let tool = json!({ "type": "function", "name": "get_order", "description": "Looks an order up.",
        "parameters": schema(), "strict": false });
    assert_eq!((&asked["tools"], &answered["tools"]), (&json!([tool]), &json!([tool])));
    let result = json!({ "type": "function_call_output", "call_id": "call_1", "output": ANSWER });
    assert_eq!(answered["input"], json!([question, items[0], items[1], result]));
    assert_output(&output, "Monday.");
}

/// TG-11, TG-13: Anthropic's messages: the turn goes back with its signature, and the result stands in a turn of the user.
#[test]
fn anthropic_loop() {
    let content = json!([
        { "type": "thinking", "thinking": "An order.", "signature": "c2lnbmVk" },
        { "type": "tool_use", "id": "toolu_1", "name": "get_order", "input": { "id": "A1" } },
    ]);
    let first = json!({ "type": "message", "role": "assistant", "content": content, "stop_reason": "tool_use",
        "usage": { "input_tokens": 50, "output_tokens": 9 } });
    let second = json!({ "type": "message", "role": "assistant", "content": [{ "type": "text", "text": "Monday." }],
        "stop_reason": "end_turn", "usage": { "input_tokens": 80, "output_tokens": 8 } });
    let ([asked, answered], paths, output) = run_loop("anthropic", first, second);
    assert!(paths.iter().all(|path| path == "/v1/messages"), "{paths:?}");
    let tool = json!({ "name": "get_order", "description": "Looks an order up.", "input_schema": schema() });
    assert_eq!((&asked["model"], &asked["tools"]), (&json!("mock-model"), &json!([tool])));
    assert!(asked["system"].to_string().contains("Be brief.") && asked["max_tokens"].is_u64(), "{asked}");
    assert_eq!(asked["messages"][0]["role"], "user");
    assert!(asked["messages"][0]["content"].to_string().contains(QUESTION), "{asked}");
    let messages = answered["messages"].as_array().unwrap();
    assert_eq!((messages.len(), &messages[0]), (3, &asked["messages"][0]));
    assert_eq!((&messages[1]["role"], &messages[1]["content"]), (&json!("assistant"), &content));
    let result = &messages[2]["content"][0];
    assert_eq!((&messages[2]["role"], &result["type"]), (&json!("user"), &json!("tool_result")));
    assert_eq!((&result["tool_use_id"], &result["content"]), (&json!("toolu_1"), &json!(ANSWER)), "{result}");
    assert_ne!(result["is_error"], true);
    assert_output(&output, "Monday.");
}

/// TG-11, TG-13: Gemini's contents: calls without an id are answered by name, and the turn goes back with its signature.
#[test]
fn gemini_loop() {
    let turn = json!({ "role": "model", "parts": [
        { "functionCall": { "name": "get_order", "args": { "id": "A1" } }, "thoughtSignature": "c2lnbmVk" } ] });
    let first = json!({ "candidates": [{ "content": turn, "finishReason": "STOP" }],
        "usageMetadata": { "promptTokenCount": 50, "candidatesTokenCount": 9 } });
    let second = json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": "Monday." }] }, "finishReason": "STOP" }],
        "usageMetadata": { "promptTokenCount": 80, "candidatesTokenCount": 8 } });
    let ([asked, answered], paths, output) = run_loop("gemini", first, second);
    assert!(paths.iter().all(|path| path.ends_with("/models/mock-model:generateContent")), "{paths:?}");
    assert_eq!(asked["systemInstruction"], json!({ "parts": [{ "text": "Be brief." }] }));
    let question = json!({ "role": "user", "parts": [{ "text": QUESTION }] });
    assert_eq!(asked["contents"], json!([question]));
    let declared =
        json!({ "name": "get_order", "description": "Looks an order up.", "parametersJsonSchema": schema() });
    assert_eq!(asked["tools"], json!([{ "functionDeclarations": [declared] }]));
    let contents = answered["contents"].as_array().unwrap();
    assert_eq!((contents.len(), &contents[0], &contents[1]), (3, &question, &turn));
    let response = &contents[2]["parts"][0]["functionResponse"];
    assert_eq!((&contents[2]["role"], &response["name"]), (&json!("user"), &json!("get_order")));
    assert_eq!((&response["response"]["result"], &response["id"]), (&json!(ANSWER), &Value::Null), "{response}");
    assert_output(&output, "Monday.");
}
