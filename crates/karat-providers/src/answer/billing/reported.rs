//! Costs that gateways state themselves: they are what the account is charged, so they win over the price list.

use karat_text::path::Path;
use karat_types::{Billing, ModelSpec, Money};
use reqwest::Url;
use reqwest::header::HeaderName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::excerpt::quote;
use crate::answer::json::{mended_body, without_bom};

/// Characters of an unusable cost that a note shows.
const SHOWN: usize = 60;

/// The place where a gateway states the cost of a call in US dollars.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub(crate) enum CostPlace {
    /// Path in the body of the answer, such as `$.usage.cost`.
    Body(String),
    /// Header of the answer, such as `x-litellm-response-cost`.
    Header(String),
}

/// The way in which the server of a model states costs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum CostReport {
    /// It states none.
    #[default]
    None,
    /// OpenRouter: `usage.cost`, and what the provider behind it charges a key of one's own.
    OpenRouter,
    /// xAI: `usage.cost_in_usd_ticks`, in 10⁻¹⁰ dollars.
    Xai,
    Body(Path),
    Header(HeaderName),
}

/// The servers that state costs in words of their own: provider, and host of its API.
const STATING: [(&str, &str, CostReport); 2] =
    [("openrouter", "openrouter.ai", CostReport::OpenRouter), ("xai", "api.x.ai", CostReport::Xai)];

impl CostReport {
    /// The report of a model: the one that its entry names, else that of its provider, or of the host that it is called at.
    ///
    /// # Errors
    /// The entry names no path or header.
    pub fn of(spec: &ModelSpec, place: Option<&CostPlace>, address: Option<&Url>) -> Result<Self, String> {
        match place {
            Some(CostPlace::Body(path)) => Path::parse(path).map(Self::Body).map_err(|error| error.to_string()),
            Some(CostPlace::Header(name)) => HeaderName::try_from(name.as_str())
                .map(Self::Header)
                .map_err(|_| format!("`{name}` cannot be the name of a header")),
            None => {
                let host = address.and_then(Url::host_str);
                let is_at = |known: &str| host.is_some_and(|host| host == known);
                let known = STATING.iter().find(|(name, host, _)| spec.provider == *name || is_at(host));
                Ok(known.map_or(Self::None, |(.., report)| report.clone()))
            }
        }
    }

    /// The report of a model whose answer is read from stored bytes.
    pub fn of_stored(spec: &ModelSpec) -> Self {
        let place = spec.with.get("cost").and_then(|place| serde_json::from_value(place.clone()).ok());
        let address = spec.base_url.as_deref().and_then(|address| Url::parse(address).ok());
        Self::of(spec, place.as_ref(), address.as_ref()).unwrap_or_default()
    }

    /// The report of a gateway by its name, or `header:NAME`.
    pub fn of_name(name: &str) -> Option<Self> {
        match name.strip_prefix("header:") {
            Some(header) => HeaderName::try_from(header).ok().map(Self::Header),
            None => STATING.iter().find(|(known, ..)| *known == name).map(|(.., report)| report.clone()),
        }
    }

    /// The header whose value [`Self::add_to`] reads.
    pub fn header(&self) -> Option<&HeaderName> {
        match self {
            Self::Header(name) => Some(name),
            _ => None,
        }
    }

    /// Adds the stated cost to a bill, or the statement that cannot be one.
    pub fn add_to(&self, billing: Billing, body: &[u8], header: Option<&str>) -> Billing {
        match self.read(body, header) {
            Ok(None) => billing,
            Ok(reported) => Billing { reported, ..billing },
            Err(unusable) => Billing { unusable_cost: Some(unusable), ..billing },
        }
    }

    /// The stated cost; `None` if there is none.
    ///
    /// # Errors
    /// The statement that cannot be a cost.
    fn read(&self, body: &[u8], header: Option<&str>) -> Result<Option<Money>, String> {
        let document = || serde_json::from_slice::<Value>(&mended_body(without_bom(body))).unwrap_or_default();
        match self {
            Self::None => Ok(None),
            Self::Header(_) => header.map(|text| dollars(&Value::from(text))).transpose(),
            Self::Body(path) => non_null(path.first(&document())).map(dollars).transpose(),
            Self::Xai => {
                let document = document();
                non_null(Some(&document["usage"]["cost_in_usd_ticks"])).map(ticks).transpose()
            }
            Self::OpenRouter => {
                let usage = &document()["usage"];
                let Some(cost) = non_null(Some(&usage["cost"])) else { return Ok(None) };
                let cost = dollars(cost)?;
                // It is filled for other keys as well, where it is not part of the bill.
                if usage["is_byok"] != true {
                    return Ok(Some(cost));
                }
                let upstream = non_null(Some(&usage["cost_details"]["upstream_inference_cost"]));
                Ok(upstream.map(dollars).transpose()?.map(|upstream| cost + upstream))
            }
        }
    }
}

fn non_null(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    }
}

fn dollars(value: &Value) -> Result<Money, String> {
    number(value).and_then(Money::from_billed_usd).ok_or_else(|| quote(value.to_string().as_bytes(), SHOWN))
}

fn ticks(value: &Value) -> Result<Money, String> {
    match value.as_u64().map(|ticks| i128::from(ticks.div_ceil(10))).filter(|nano| *nano <= 1_000_000_000_000_000) {
        Some(nano) => Ok(Money(nano)),
        None => number(value)
            .and_then(|ticks| Money::from_billed_usd(ticks * 1e-10))
            .ok_or_else(|| quote(value.to_string().as_bytes(), SHOWN)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(report: &CostReport, usage: Value) -> Billing {
        report.add_to(Billing::default(), json!({ "usage": usage }).to_string().as_bytes(), None)
    }

    /// RE-23: the cost that a gateway states is read; what the provider behind it charges counts for own keys alone.
    #[test]
    fn stated_costs_are_read() {
        let nano = |usage: Value| read(&CostReport::OpenRouter, usage).reported.map(|cost| cost.0);
        let upstream = json!({"upstream_inference_cost": 0.002});
        assert_eq!(nano(json!({"cost": 0.001, "cost_details": upstream})), Some(1_000_000));
        assert_eq!(nano(json!({"cost": 0.001, "is_byok": false, "cost_details": upstream})), Some(1_000_000));
        assert_eq!(nano(json!({"cost": 0.001, "is_byok": true, "cost_details": upstream})), Some(3_000_000));
        assert_eq!(nano(json!({"cost": 0.001, "is_byok": true, "cost_details": {}})), None);
        assert_eq!((nano(json!({"cost": 0})), nano(json!({"cost": null})), nano(json!({}))), (Some(0), None, None));
        let xai =
            |ticks: Value| read(&CostReport::Xai, json!({"cost_in_usd_ticks": ticks})).reported.map(|cost| cost.0);
        assert_eq!((xai(json!(11)), xai(json!(20)), xai(json!(0))), (Some(2), Some(2), Some(0)));
        let body = CostReport::Body(Path::parse("$.usage.price.total").unwrap());
        assert_eq!(read(&body, json!({"price": {"total": "0.5"}})).reported, Some(Money(500_000_000)));
        let header = CostReport::of_name("header:x-litellm-response-cost").unwrap();
        assert_eq!(header.add_to(Billing::default(), b"{}", Some("2.5e-9")).reported, Some(Money(3)));
        assert_eq!(header.add_to(Billing::default(), b"{}", None), Billing::default());
    }

    /// RE-23: what cannot be a cost is kept for a note, and never booked.
    #[test]
    fn unusable_costs_are_named() {
        for nonsense in [json!(-1), json!("much"), json!(2e7), json!(true), json!({}), json!("NaN"), json!("inf")] {
            for (report, member) in [(CostReport::OpenRouter, "cost"), (CostReport::Xai, "cost_in_usd_ticks")] {
                if report == CostReport::Xai && nonsense == json!(2e7) {
                    continue;
                }
                let billing = read(&report, json!({ member: nonsense }));
                assert!(billing.reported.is_none() && billing.unusable_cost.is_some(), "{nonsense}: {billing:?}");
            }
        }
        assert!(read(&CostReport::Xai, json!({"cost_in_usd_ticks": 1e17})).unusable_cost.is_some());
    }

    /// RE-23: who states costs is known by provider or host, and an entry may say it.
    #[test]
    fn stating_servers_are_known() {
        let stored = |spec: Value| CostReport::of_stored(&serde_json::from_value(spec).unwrap());
        let entry = |provider: &str, base_url: &str| {
            stored(json!({"id": "m", "model": "m", "provider": provider, "base_url": base_url}))
        };
        assert_eq!(entry("openrouter", "http://127.0.0.1/v1"), CostReport::OpenRouter);
        assert_eq!(entry("openai", "https://openrouter.ai/api/v1"), CostReport::OpenRouter);
        assert_eq!(entry("openai", "https://openrouter.ai.example.com/v1"), CostReport::None);
        assert_eq!(entry("xai", "http://127.0.0.1/v1"), CostReport::Xai);
        let with = json!({"cost": {"header": "X-LiteLLM-Response-Cost"}});
        let named = stored(json!({"id": "m", "model": "m", "provider": "openai", "with": with}));
        assert_eq!(named.header().map(HeaderName::as_str), Some("x-litellm-response-cost"));
        let spec = ModelSpec::new("m", "openai");
        assert!(CostReport::of(&spec, Some(&CostPlace::Header("a b".to_owned())), None).is_err());
        assert!(CostReport::of(&spec, Some(&CostPlace::Body("$.[".to_owned())), None).is_err());
    }
}
