//! Prices of models: rates by kind of token, for long requests, for batches and by tier of service.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::{Billing, Money, Usage};

/// Prices of tokens by their kind, in nano-dollars per million.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rates {
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens served from the provider's cache; without it they cost `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<u64>,
    /// Input tokens that the provider stores in its cache; without it they cost `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// Input tokens that it stores for an hour or longer; without it they cost `cache_write`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<u64>,
    /// Output tokens of reasoning; without it they cost `output`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// Input tokens of audio; without it their price is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio_input: Option<u64>,
}

impl Rates {
    /// The same rates with those that Anthropic's models have in common, where they are not said.
    #[must_use]
    pub fn of_anthropic(self) -> Self {
        Self {
            cached_input: self.cached_input.or(Some(self.input.div_ceil(10))),
            cache_write: self.cache_write.or(Some(self.input.saturating_mul(5).div_ceil(4))),
            cache_write_1h: self.cache_write_1h.or(Some(self.input.saturating_mul(2))),
            ..self
        }
    }

    fn write_rate(&self) -> u64 {
        self.cache_write.unwrap_or(self.input)
    }

    /// These rates at a share of the price. A share below 1 leaves tokens from a cache and of audio at their full price.
    fn at_share(&self, share: Share) -> Self {
        let part = |rate: u64| share.of(rate);
        let kept = |rate: u64| if share.is_discount() { rate } else { part(rate) };
        Self {
            input: part(self.input),
            output: part(self.output),
            cached_input: Some(kept(self.cached_input.unwrap_or(self.input))),
            cache_write: Some(part(self.write_rate())),
            cache_write_1h: Some(part(self.cache_write_1h.unwrap_or(self.write_rate()))),
            reasoning: self.reasoning.map(part),
            audio_input: self.audio_input.map(kept),
        }
    }

    /// The cost of a call, rounded up to the next nano-dollar; `None` if it has tokens of audio that have no price. Where
    /// parts of the input overlap, the dearer kind counts.
    fn cost(&self, usage: &Usage, audio: u64) -> Option<Money> {
        let audio = audio.min(usage.input_tokens);
        let audio_rate = if audio > 0 { self.audio_input? } else { 0 };
        let rest = usage.input_tokens - audio;
        let written = usage.cache_write_tokens.min(rest);
        let for_an_hour = usage.cache_write_1h_tokens.min(written);
        let cached = usage.cached_input_tokens.min(rest - written);
        let reasoning = usage.reasoning_tokens.min(usage.output_tokens);
        let parts = [
            (rest - written - cached, self.input),
            (cached, self.cached_input.unwrap_or(self.input)),
            (written - for_an_hour, self.write_rate()),
            (for_an_hour, self.cache_write_1h.unwrap_or(self.write_rate())),
            (audio, audio_rate),
            (usage.output_tokens - reasoning, self.output),
            (reasoning, self.reasoning.unwrap_or(self.output)),
        ];
        let total: i128 = parts.into_iter().map(|(tokens, rate)| i128::from(tokens) * i128::from(rate)).sum();
        Some(Money((total + 999_999).div_euclid(1_000_000)))
    }

    /// The most that a call with so many tokens can cost, whatever kind they are of: storing in a cache counts only where
    /// `writes` says that the provider may do it.
    fn most(&self, usage: &Usage, writes: bool, audio: bool) -> Money {
        let write = if writes { self.write_rate() } else { 0 };
        let hour = if usage.cache_write_1h_tokens > 0 { self.cache_write_1h.unwrap_or(write) } else { 0 };
        let audio = if audio { self.audio_input.unwrap_or_default() } else { 0 };
        let dearest = Self {
            input: self.input.max(write).max(hour).max(audio),
            output: self.output.max(self.reasoning.unwrap_or_default()),
            ..Self::default()
        };
        let plain = Usage { input_tokens: usage.input_tokens, output_tokens: usage.output_tokens, ..Usage::default() };
        dearest.cost(&plain, 0).unwrap_or_default()
    }
}

/// The rates of requests with more than so many input tokens. All tokens of such a call have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongRates {
    /// The largest number of input tokens that does not have these rates.
    pub tokens: u64,
    /// The rates; `None` if nobody said them.
    #[serde(flatten)]
    pub rates: Option<Rates>,
}

/// The rates of calls in one tier.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RateSet {
    /// The rates of most calls.
    #[serde(flatten)]
    pub rates: Rates,
    /// The rates of long requests. Of several that a request is long enough for, the last one holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub above: Vec<LongRates>,
}

impl RateSet {
    /// The same prices for every request.
    pub fn flat(rates: Rates) -> Self {
        Self { rates, above: Vec::new() }
    }

    /// The set with these rates changed.
    #[must_use]
    pub fn map(&self, change: impl Fn(Rates) -> Rates) -> Self {
        let above = self.above.iter().map(|long| LongRates { rates: long.rates.map(&change), ..*long });
        Self { rates: change(self.rates), above: above.collect() }
    }

    /// The longest step of the list that a request of so many tokens passes.
    fn passed_step(&self, input_tokens: u64) -> Option<&LongRates> {
        self.above.iter().filter(|long| input_tokens > long.tokens).max_by_key(|long| long.tokens)
    }

    fn cost(&self, usage: &Usage, audio: u64) -> Option<Money> {
        let rates = self.passed_step(usage.input_tokens).map_or(Some(self.rates), |long| long.rates);
        rates?.cost(usage, audio)
    }

    /// The rates that a request of at most so many tokens can have.
    fn possible(&self, input_tokens: u64) -> impl Iterator<Item = &Rates> {
        let long = self.above.iter().filter(move |long| input_tokens > long.tokens);
        std::iter::once(&self.rates).chain(long.filter_map(|long| long.rates.as_ref()))
    }

    /// This set for a tier of a model with other base rates: long requests that only the base knows have no price here.
    fn within(&self, base: &Self) -> Self {
        let mut set = self.clone();
        let is_said = |tokens: u64| self.above.iter().any(|long| long.tokens == tokens);
        let unsaid = base.above.iter().filter(|long| !is_said(long.tokens));
        set.above.extend(unsaid.map(|long| LongRates { tokens: long.tokens, rates: None }));
        set
    }
}

/// A share of a price in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Millionths of the price.
    pub millionths: u64,
}

impl Share {
    /// Half of the price.
    pub const HALF: Self = Self { millionths: 500_000 };

    /// A share as a factor, rounded up.
    pub fn from_factor(factor: f64) -> Self {
        // Binary noise is not part of the factor.
        Self { millionths: ((factor * 1e9).round() / 1e3).ceil() as u64 }
    }

    /// The factor.
    pub fn factor(self) -> f64 {
        self.millionths as f64 / 1e6
    }

    fn is_discount(self) -> bool {
        self.millionths < 1_000_000
    }

    /// The share of a rate; parts of a nano-dollar are rounded up.
    fn of(self, rate: u64) -> u64 {
        let part = (u128::from(rate) * u128::from(self.millionths)).div_ceil(1_000_000);
        u64::try_from(part).unwrap_or(u64::MAX)
    }
}

/// The price of a tier: a share of the base, or rates of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TierPrice {
    /// Every rate of the base times a factor.
    Share(Share),
    /// Its own rates.
    Set(RateSet),
}

/// A price list entry.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Price {
    /// The rates of calls in no special tier.
    #[serde(flatten)]
    pub base: RateSet,
    /// The price of calls by a batch API; without it half.
    #[serde(default, deserialize_with = "read_batch", skip_serializing_if = "Option::is_none")]
    pub batch: Option<TierPrice>,
    /// Prices by the tier of service that a reply names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub service: BTreeMap<String, TierPrice>,
    /// The date (YYYY-MM-DD) on which the price was read at its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
    /// Where the price was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// The price of batches. Plans of earlier versions hold a share in thousandths.
fn read_batch<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TierPrice>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Thousandths(u64),
        Tier(TierPrice),
    }
    Ok(Option::<Stored>::deserialize(deserializer)?.map(|stored| match stored {
        Stored::Thousandths(share) => TierPrice::Share(Share { millionths: share.saturating_mul(1_000) }),
        Stored::Tier(tier) => tier,
    }))
}

/// Names of the base in replies: no special tier, or one that costs what the base costs.
const BASE_TIERS: [&str; 11] = [
    "",
    "none",
    "default",
    "standard",
    "auto",
    "unspecified",
    "traffic_type_unspecified",
    "on_demand",
    "scale",
    "reserved",
    "provisioned_throughput",
];

/// The tier that a provider means by a name, in small letters; `None` for the base.
pub fn tier_of(name: &str) -> Option<String> {
    let name = name.trim().to_lowercase();
    let tier = name.strip_prefix("on_demand_").unwrap_or(&name);
    (!BASE_TIERS.contains(&tier)).then(|| tier.to_owned())
}

impl Price {
    /// The price of a model whose tokens cost the same in every call.
    pub fn flat(rates: Rates) -> Self {
        Self { base: RateSet::flat(rates), ..Self::default() }
    }

    /// The price with all rates changed.
    #[must_use]
    pub fn map(&self, change: impl Fn(Rates) -> Rates) -> Self {
        let tier = |tier: &TierPrice| match tier {
            TierPrice::Share(share) => TierPrice::Share(*share),
            TierPrice::Set(set) => TierPrice::Set(set.map(&change)),
        };
        Self {
            base: self.base.map(&change),
            batch: self.batch.as_ref().map(tier),
            service: self.service.iter().map(|(name, price)| (name.clone(), tier(price))).collect(),
            ..self.clone()
        }
    }

    /// The price of calls that go by a batch API. It has no tiers.
    #[must_use]
    pub fn of_batches(&self) -> Self {
        let batch = self.batch.as_ref().unwrap_or(&TierPrice::Share(Share::HALF));
        Self { base: self.set_of(batch), service: BTreeMap::new(), ..self.clone() }
    }

    fn set_of(&self, tier: &TierPrice) -> RateSet {
        match tier {
            TierPrice::Share(share) => self.base.map(|rates| rates.at_share(*share)),
            TierPrice::Set(set) => set.within(&self.base),
        }
    }

    /// The rates of the tier that a reply names; `None` if it has no price.
    fn set_for(&self, tier: Option<&str>) -> Option<Cow<'_, RateSet>> {
        let Some(name) = tier.and_then(tier_of) else { return Some(Cow::Borrowed(&self.base)) };
        let (_, price) = self.service.iter().find(|(known, _)| known.to_lowercase() == name)?;
        Some(Cow::Owned(self.set_of(price)))
    }

    /// The most that a call can cost in no special tier, or in the one that the request asks for. A request for `auto`, or
    /// for a tier without a price, may end in any.
    fn most(&self, usage: &Usage, asked: &RequestTerms<'_>) -> Money {
        let asks_any = asked.tier.is_some_and(|tier| {
            tier.trim().eq_ignore_ascii_case("auto") || tier_of(tier).is_some() && self.set_for(Some(tier)).is_none()
        });
        let tiers: Vec<Cow<'_, RateSet>> = match asks_any {
            true => self.service.values().map(|price| Cow::Owned(self.set_of(price))).collect(),
            false => self.set_for(asked.tier).into_iter().collect(),
        };
        let sets = std::iter::once(&self.base).chain(tiers.iter().map(|set| &**set));
        let rates = sets.flat_map(|set| set.possible(usage.input_tokens));
        rates.map(|rates| rates.most(usage, asked.writes, asked.audio)).max().unwrap_or_default()
    }
}

/// The terms of a request that matter for its price, beside its length.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestTerms<'a> {
    /// The tier of service that it asks for.
    pub tier: Option<&'a str>,
    /// True if the provider may store it in a cache, and bills that.
    pub writes: bool,
    /// True if it may hold audio.
    pub audio: bool,
}

/// The source of a call's cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CostSource {
    /// The price list, and the tokens that the provider counts.
    #[default]
    Table,
    /// The provider states the cost.
    Reported,
    /// The price list, and tokens that Karat counts, because the provider counts none.
    Counted,
    /// The cost is unknown.
    Unknown,
    /// A script or a demonstration answered: nobody bills it.
    Simulated,
}

impl CostSource {
    /// The word in reports and exports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Reported => "reported",
            Self::Counted => "counted",
            Self::Unknown => "unknown",
            Self::Simulated => "simulated",
        }
    }
}

/// The known price of a model.
#[expect(clippy::large_enum_variant, reason = "there is one for each model, and no list of them")]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pricing {
    /// A sourced price.
    Known(Price),
    /// Costs nothing by declaration, or because it runs on this machine.
    Unmetered,
    /// Unknown; never treated as free.
    #[default]
    Unknown,
}

impl Pricing {
    /// The cost of a call with this usage in no special tier, rounded up to the next nano-dollar; `None` when the price is
    /// unknown.
    pub fn cost(&self, usage: &Usage) -> Option<Money> {
        self.bill(usage, &Billing::default())
    }

    /// The cost of a call with this usage as the provider bills it, rounded up to the next nano-dollar. `None` if the price
    /// is unknown: of the model, of the tier that the reply names, of a long request in that tier, of audio, or of something
    /// beside tokens.
    pub fn bill(&self, usage: &Usage, billing: &Billing) -> Option<Money> {
        match self {
            Self::Unmetered => Some(Money::ZERO),
            Self::Unknown => None,
            Self::Known(_) if billing.has_extras => None,
            Self::Known(price) => price.set_for(billing.tier.as_deref())?.cost(usage, billing.audio_input_tokens),
        }
    }

    /// The most that a call with at most this usage can cost; nothing if the price is unknown.
    pub fn most(&self, usage: &Usage, asked: &RequestTerms<'_>) -> Money {
        match self {
            Self::Unmetered | Self::Unknown => Money::ZERO,
            Self::Known(price) => price.most(usage, asked),
        }
    }

    /// Returns true if a budget can be kept with this price.
    pub fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown)
    }
}

/// The expected cost of a plan with nothing cached, on conservative assumptions. It is the same for every run of the
/// plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UncachedCost {
    /// Minimum and maximum of the whole plan, as far as prices are known.
    pub total: (Money, Money),
    /// The average cost of a cell, by system; `None` if a price is unknown or is reported by answers alone.
    pub per_cell: Vec<Option<Money>>,
    /// True if the estimate is of a sample of the rows.
    pub sampled: bool,
}

impl UncachedCost {
    /// Minimum and maximum, or `None` if a part is unknown.
    pub fn range(&self) -> Option<(Money, Money)> {
        self.per_cell.iter().all(Option::is_some).then_some(self.total)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rates() -> Rates {
        Rates { input: 1_250_000_000, output: 10_000_000_000, cached_input: Some(125_000_000), ..Rates::default() }
    }

    fn usage(input: u64, output: u64) -> Usage {
        Usage { input_tokens: input, output_tokens: output, ..Usage::default() }
    }

    fn tier(name: &str) -> Billing {
        Billing { tier: Some(name.to_owned()), ..Billing::default() }
    }

    #[test]
    fn cost_counts_cached_tokens_at_their_own_price_and_rounds_up() {
        let usage = Usage { input_tokens: 1000, cached_input_tokens: 400, output_tokens: 1, ..Usage::default() };
        assert_eq!(rates().cost(&usage, 0), Some(Money(600 * 1250 + 400 * 125 + 10_000)));
        let one = Rates { input: 1, ..Rates::default() };
        assert_eq!(one.cost(&Usage { input_tokens: 1, ..Usage::default() }, 0), Some(Money(1)));
    }

    /// TG-80: tokens that a cache stores have their own price, those that it stores for an hour another one.
    #[test]
    fn cache_writes_have_their_own_price() {
        let rates = Rates { input: 3_000_000_000, output: 15_000_000_000, ..Rates::default() };
        let usage = Usage {
            input_tokens: 1_300,
            cached_input_tokens: 1_000,
            cache_write_tokens: 200,
            output_tokens: 10,
            ..Usage::default()
        };
        let anthropic = rates.of_anthropic();
        assert_eq!(anthropic.cost(&usage, 0), Some(Money(1_500_000)));
        let for_an_hour = Usage { cache_write_1h_tokens: 200, ..usage };
        assert_eq!(anthropic.cost(&for_an_hour, 0), Some(Money(1_500_000 + 200 * 2_250)));
        let plain = Rates { cached_input: anthropic.cached_input, ..rates };
        assert_eq!(plain.cost(&for_an_hour, 0), Some(Money(1_500_000 - 200 * 750)));
    }

    /// F30, RE-21: of several `above` the largest passed holds, for all tokens of the call.
    #[test]
    fn long_requests_have_their_own_rates() {
        let long = |tokens, input| LongRates { tokens, rates: Some(Rates { input, ..Rates::default() }) };
        let set = RateSet {
            rates: Rates { input: 1_000_000, ..Rates::default() },
            above: vec![long(20, 3_000_000), long(10, 2_000_000)],
        };
        let price = Pricing::Known(Price { base: set, ..Price::default() });
        for (tokens, cost) in [(10, 10), (11, 22), (20, 40), (21, 63)] {
            assert_eq!(price.cost(&usage(tokens, 0)), Some(Money(cost)), "{tokens}");
        }
        assert_eq!(price.most(&usage(15, 0), &RequestTerms::default()), Money(30));
    }

    /// RE-21: a tier that nobody priced, and a long request in a tier without long rates, are unknown and never the base.
    #[test]
    fn what_has_no_price_is_unknown() {
        let base = RateSet { rates: rates(), above: vec![LongRates { tokens: 100, rates: Some(rates()) }] };
        let own = |above: Vec<u64>| {
            let above = above.into_iter().map(|tokens| LongRates { tokens, rates: Some(rates()) }).collect();
            TierPrice::Set(RateSet { rates: rates(), above })
        };
        let service = [
            ("Priority", own(Vec::new())),
            ("long", own(vec![100])),
            ("double", TierPrice::Share(Share::from_factor(2.0))),
        ];
        let service = service.map(|(name, price)| (name.to_owned(), price)).into();
        let price = Pricing::Known(Price { base, service, ..Price::default() });
        let cost = |input, name: &str| price.bill(&usage(input, 0), &tier(name)).map(|cost| cost.0 / 1250);
        for name in ["default", "STANDARD", "auto", "ON_DEMAND", "on_demand_default", "scale", ""] {
            assert_eq!(cost(200, name), Some(200), "{name}");
        }
        assert_eq!((cost(100, "priority"), cost(101, "priority")), (Some(100), None));
        assert_eq!((cost(101, "ON_DEMAND_PRIORITY"), cost(100, "on_demand_priority")), (None, Some(100)));
        assert_eq!((cost(101, "long"), cost(101, "double")), (Some(101), Some(202)));
        assert_eq!((cost(1, "turbo"), cost(1, "batch")), (None, None));
        let billing = Billing { audio_input_tokens: 1, ..Billing::default() };
        assert_eq!(price.bill(&usage(1, 0), &billing), None);
        let billing = Billing { has_extras: true, ..Billing::default() };
        assert_eq!(price.bill(&usage(1, 0), &billing), None);
    }

    /// RE-21: the reservation covers every tier that the call may end in.
    #[test]
    fn reservations_cover_the_requested_tier() {
        let factor = |factor| TierPrice::Share(Share::from_factor(factor));
        let service = [("flex", 0.5), ("priority", 2.0), ("turbo", 6.0)];
        let service = service.map(|(name, share)| (name.to_owned(), factor(share))).into();
        let price = Pricing::Known(Price { base: RateSet::flat(rates()), service, ..Price::default() });
        let most = |tier| price.most(&usage(1_000, 0), &RequestTerms { tier, ..RequestTerms::default() }).0 / 1_250_000;
        assert_eq!((most(None), most(Some("flex")), most(Some("default"))), (1, 1, 1));
        assert_eq!((most(Some("priority")), most(Some("auto")), most(Some("unheard"))), (2, 6, 6));
    }

    /// TG-60, RE-21: batches cost half, or what the registry says; tokens from a cache are not halved.
    #[test]
    fn batches_have_a_share_of_the_price() {
        let half = Price::flat(rates()).of_batches().base.rates;
        assert_eq!((half.input, half.output, half.cached_input), (625_000_000, 5_000_000_000, Some(125_000_000)));
        let third = TierPrice::Share(Share::from_factor(0.333));
        let third = Price { batch: Some(third), ..Price::flat(Rates { input: 1, ..rates() }) }.of_batches().base.rates;
        assert_eq!((third.input, third.output), (1, 3_330_000_000));
        let price = Pricing::Known(Price::flat(rates()).of_batches());
        assert_eq!(price.bill(&usage(1, 0), &tier("standard")), Some(Money(625)));
    }

    /// Invariant 7, formats have versions: prices in plans of earlier versions are read: they have no tiers, and `batch` in thousandths.
    #[test]
    fn earlier_prices_are_read() {
        let earlier = json!({"input": 5, "output": 7, "cached_input": 1, "batch": 400, "as_of": "2025-11-01"});
        let price: Price = serde_json::from_value(earlier).unwrap();
        assert_eq!(price.batch, Some(TierPrice::Share(Share { millionths: 400_000 })));
        assert_eq!((price.base.rates.input, price.base.rates.cached_input, price.base.above.len()), (5, Some(1), 0));
        let tiered = Price {
            base: RateSet { rates: rates(), above: vec![LongRates { tokens: 9, rates: None }] },
            batch: Some(TierPrice::Set(RateSet::flat(rates()))),
            service: [("flex".to_owned(), TierPrice::Share(Share::HALF))].into(),
            ..Price::default()
        };
        let written = serde_json::to_value(&tiered).unwrap();
        assert_eq!(serde_json::from_value::<Price>(written).unwrap(), tiered);
    }

    #[test]
    fn unknown_is_not_free() {
        assert_eq!(Pricing::Unknown.cost(&Usage::default()), None);
        assert_eq!(Pricing::Unmetered.cost(&Usage::default()), Some(Money::ZERO));
    }
}
