//! Azure OpenAI: OpenAI's bodies at the customer's own resource.

use karat_types::{ChatRequest, ModelSpec, Reply};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, InvalidHeaderValue};

use crate::answer::billing::Bill;
use crate::answer::json::UnreadableReply;
use crate::codec::media::MediaForm;
use crate::codec::openai::{OFFICIAL, OPENAI};
use crate::codec::protocol::{Codec, json_headers};

/// OpenAI's protocol at an Azure resource. The model's name is the deployment's.
pub(crate) struct Azure;

const KEY: HeaderName = HeaderName::from_static("api-key");
/// The query parameter that selects a dated version of the API.
pub(crate) const VERSION: &str = "api-version";

impl Codec for Azure {
    /// With a dated version the deployment is part of the address, without one it is part of the body only.
    fn url(&self, base: &Url, model: &str) -> Url {
        let mut url = base.clone();
        let root =
            base.path().trim_end_matches('/').trim_end_matches("/openai/v1").trim_end_matches("/openai").to_owned();
        let path = match base.query_pairs().any(|(name, _)| name == VERSION) {
            true => format!("{root}/openai/deployments/{model}/chat/completions"),
            false => format!("{root}/openai/v1/chat/completions"),
        };
        url.set_path(&path);
        url
    }

    fn headers(&self, key: Option<&str>) -> Result<HeaderMap, InvalidHeaderValue> {
        json_headers(KEY, key)
    }

    fn write(
        &self,
        model: &ModelSpec,
        _: &str,
        request: &ChatRequest,
        media: MediaForm,
    ) -> serde_json::Result<Vec<u8>> {
        OPENAI.write(model, OFFICIAL, request, media)
    }

    fn parse(&self, body: &[u8]) -> Result<Reply, UnreadableReply> {
        OPENAI.parse(body)
    }

    fn bill(&self, body: &[u8]) -> Bill {
        OPENAI.bill(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_stands_in_the_address_of_a_dated_version() {
        let url = |base: &str| Azure.url(&Url::parse(base).unwrap(), "mine").to_string();
        for base in ["https://r.openai.azure.com", "https://r.openai.azure.com/openai/v1/"] {
            assert_eq!(url(base), "https://r.openai.azure.com/openai/v1/chat/completions");
        }
        assert_eq!(
            url("https://r.openai.azure.com/?api-version=2024-10-21"),
            "https://r.openai.azure.com/openai/deployments/mine/chat/completions?api-version=2024-10-21"
        );
    }
}
