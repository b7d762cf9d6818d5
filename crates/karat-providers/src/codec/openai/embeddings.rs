//! OpenAI's `/embeddings`: the vectors of texts. Most servers with OpenAI's chat protocol have it, too.

use bytes::Bytes;
use karat_types::{ChatRequest, FinishReason, ModelSpec, Reply, ReplyFormat};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, InvalidHeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::answer::billing::{Bill, UsageWords};
use crate::answer::json::{UnreadableReply, parse_json};
use crate::codec::finish::embedded_error;
use crate::codec::media::MediaForm;
use crate::codec::protocol::{Codec, json_headers};

/// The embeddings protocol. Each message of a request is a text.
pub(crate) struct Embeddings;

const PATH: &str = "/embeddings";
/// The path that an address of the chat protocol may hold already.
const CHAT: &str = "/chat/completions";

#[derive(Serialize)]
struct EmbeddingsRequest<'a> {
    model: &'a str,
    input: Vec<std::borrow::Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u32>,
    encoding_format: &'static str,
}

#[derive(Deserialize)]
struct EmbeddingsBody<'a> {
    #[serde(default)]
    data: Option<Vec<EmbeddingBody>>,
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct EmbeddingBody {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<Option<f32>>,
}

impl Codec for Embeddings {
    fn url(&self, base: &Url, _: &str) -> Url {
        let mut url = base.clone();
        let root = base.path().trim_end_matches('/');
        let root = root.strip_suffix(CHAT).or(root.strip_suffix(PATH)).unwrap_or(root);
        url.set_path(&format!("{root}{PATH}"));
        url
    }

    fn headers(&self, key: Option<&str>) -> Result<HeaderMap, InvalidHeaderValue> {
        json_headers(AUTHORIZATION, key.map(|key| format!("Bearer {key}")).as_deref())
    }

    fn write(&self, model: &ModelSpec, _: &str, request: &ChatRequest, _: MediaForm) -> serde_json::Result<Vec<u8>> {
        let dimensions = match request.format {
            ReplyFormat::Vectors { dimensions } => dimensions,
            _ => None,
        };
        let input = request.messages.iter().map(karat_types::Message::text).collect();
        let body = EmbeddingsRequest { model: &model.model, input, dimensions, encoding_format: "float" };
        serde_json::to_vec(&body)
    }

    fn parse(&self, body: &[u8]) -> Result<Reply, UnreadableReply> {
        let EmbeddingsBody { data, usage, model, error } = parse_json(body)?;
        if let Some(error) = error.filter(|error| !error.is_null()) {
            return Err(embedded_error(&error));
        }
        let mut data = data.ok_or_else(|| UnreadableReply::invalid_body("answered with a body without `data`"))?;
        let count = data.len();
        let mut vectors = vec![Vec::new(); count];
        for (at, item) in data.drain(..).enumerate() {
            let index = item.index.unwrap_or(at);
            if item.embedding.is_empty() {
                let what = format!("answered with an empty vector at index {index}");
                return Err(UnreadableReply::invalid_body(what));
            }
            // A number that is none makes one vector unusable, not all of them.
            let embedding = item.embedding.into_iter().map(|number| number.unwrap_or(f32::NAN)).collect();
            match vectors.get_mut(index) {
                Some(place) if place.is_empty() => *place = embedding,
                _ => {
                    let what =
                        format!("answered with {count} vectors, of which one has the index {index} that cannot be");
                    return Err(UnreadableReply::invalid_body(what));
                }
            }
        }
        let (usage, billing) = UsageWords::Embeddings.read(usage, None);
        Ok(Reply { usage, billing, model, vectors, ..Reply::new("", FinishReason::Stop) })
    }

    fn bill(&self, body: &[u8]) -> Bill {
        UsageWords::Embeddings.read_body(body)
    }
}

/// A response body in this protocol, for models without a server.
pub(crate) fn embeddings_body(model: &ModelSpec, vectors: &[Vec<f32>], tokens: u64) -> serde_json::Result<Bytes> {
    let data: Vec<Value> = (vectors.iter().enumerate())
        .map(|(index, vector)| json!({ "object": "embedding", "index": index, "embedding": vector }))
        .collect();
    let usage = json!({ "prompt_tokens": tokens, "total_tokens": tokens });
    let body = json!({ "object": "list", "data": data, "model": model.model, "usage": usage });
    serde_json::to_vec(&body).map(Bytes::from)
}

/// A response body without its vectors: these are kept by themselves.
pub fn without_vectors(body: &Bytes) -> Bytes {
    let Ok(Value::Object(mut map)) = serde_json::from_slice::<Value>(body) else { return body.clone() };
    let Some(Value::Array(data)) = map.get_mut("data") else { return body.clone() };
    for item in data.iter_mut().filter_map(Value::as_object_mut) {
        if let Some(Value::Array(vector)) = item.get("embedding") {
            let length = vector.len();
            item.insert("embedding".to_owned(), json!({ "$vector": length }));
        }
    }
    serde_json::to_vec(&map).map_or_else(|_| body.clone(), Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &str) -> Result<Vec<Vec<f32>>, String> {
        Embeddings.parse(body.as_bytes()).map(|reply| reply.vectors).map_err(|error| error.what)
    }

    /// TG-36: the request as the protocol has it, below any root.
    #[test]
    fn texts_are_sent_in_one_request() {
        let model = ModelSpec::new("text-embedding-3-small", "openai");
        let body = |dimensions| {
            let request = ChatRequest::of_texts(["a", "b"], dimensions);
            serde_json::from_slice::<Value>(&Embeddings.body(&model, "", &request).unwrap()).unwrap()
        };
        let plain = json!({"model": "text-embedding-3-small", "input": ["a", "b"], "encoding_format": "float"});
        assert_eq!(body(None), plain);
        assert_eq!(body(Some(256))["dimensions"], 256);
        for (base, url) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1/embeddings"),
            ("http://h/v1/chat/completions", "http://h/v1/embeddings"),
            ("http://h/v1/embeddings/?a=1", "http://h/v1/embeddings?a=1"),
        ] {
            assert_eq!(Embeddings.url(&Url::parse(base).unwrap(), "m").as_str(), url);
        }
    }

    /// TG-36: vectors stand by their index, whatever the order of the answer.
    #[test]
    fn vectors_are_ordered_by_index() {
        let body = r#"{"data":[{"index":1,"embedding":[2]},{"index":0,"embedding":[1.5]}],"usage":{"prompt_tokens":7,"total_tokens":7}}"#;
        assert_eq!(parse(body).unwrap(), [[1.5], [2.0]]);
        assert_eq!(Embeddings.bill(body.as_bytes()).0.unwrap().input_tokens, 7);
        assert_eq!(parse(r#"{"data":[{"embedding":[1]},{"embedding":[2]}]}"#).unwrap(), [[1.0], [2.0]]);
        for broken in [
            r#"{"data":[{"index":1,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[]}]}"#,
            r#"{"data":[{"index":0,"embedding":"AAAA"}]}"#,
            r#"{"object":"list"}"#,
            "no",
        ] {
            assert!(parse(broken).is_err(), "{broken}");
        }
        assert!(parse(r#"{"error":{"message":"no such model","code":404}}"#).unwrap_err().contains("no such model"));
    }

    #[test]
    fn a_stored_body_holds_no_vectors() {
        let body = embeddings_body(&ModelSpec::new("m", "stub"), &[vec![1.0, 2.0]], 3).unwrap();
        let stored: Value = serde_json::from_slice(&without_vectors(&body)).unwrap();
        assert_eq!(
            (&stored["data"][0]["embedding"], &stored["usage"]["prompt_tokens"]),
            (&json!({"$vector": 2}), &json!(3))
        );
        assert_eq!(without_vectors(&Bytes::from_static(b"no")), "no");
    }
}
