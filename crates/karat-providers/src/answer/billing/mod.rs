//! The cost of a reply, as the provider says it: `usage` reads tokens and tiers in the words of every protocol, with the
//! numbers of `count`; `reported` reads costs that gateways state themselves.

mod count;
mod reported;
mod usage;

use karat_types::{Billing, Usage};

pub(crate) use reported::{CostPlace, CostReport};
pub(crate) use usage::UsageWords;

/// The usage of a reply, if it counts tokens, and what else it says of its bill.
pub(crate) type Bill = (Option<Usage>, Billing);

/// Reads the bill in the body of a reply, as the codec of the protocol (`chat`, `responses`, `anthropic`, `gemini`, `bedrock`,
/// `embeddings`) does. `reports` names who states a cost of its own: `openrouter`, `xai`, or `header:NAME`, whose value is
/// `header`.
///
/// # Errors
/// The name is not known.
pub fn read_bill(protocol: &str, reports: Option<&str>, body: &[u8], header: Option<&str>) -> Result<Bill, String> {
    let words = UsageWords::of(protocol).ok_or_else(|| format!("there is no protocol `{protocol}`"))?;
    let report = match reports {
        None => CostReport::None,
        Some(name) => CostReport::of_name(name).ok_or_else(|| format!("nobody called `{name}` states a cost"))?,
    };
    let (usage, billing) = words.read_body(body);
    Ok((usage, report.add_to(billing, body, header)))
}
