//! The cost that is booked for a call against what its provider bills: a fake biller knows every token and the provider's own rules,
//! and the reply says of it what such a provider says.

use karat_providers::read_bill;
use karat_types::{Billing, LongRates, Money, Price, Pricing, RateSet, Rates, RequestTerms, Share, TierPrice, Usage};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};

/// All tokens of a call, by their kind.
#[derive(Debug, Clone, Copy)]
struct Tokens {
    fresh: u64,
    cached: u64,
    written: u64,
    written_1h: u64,
    audio: u64,
    visible: u64,
    reasoning: u64,
}

impl Tokens {
    fn input(self) -> u64 {
        self.fresh + self.cached + self.written + self.written_1h + self.audio
    }

    fn output(self) -> u64 {
        self.visible + self.reasoning
    }

    /// The bill at these rates, in nano-dollars, rounded up.
    fn bill(self, rates: &Rates) -> i128 {
        let parts = [
            (self.fresh, rates.input),
            (self.cached, rates.cached_input.unwrap()),
            (self.written, rates.cache_write.unwrap()),
            (self.written_1h, rates.cache_write_1h.unwrap()),
            (self.audio, rates.audio_input.unwrap()),
            (self.visible, rates.output),
            (self.reasoning, rates.reasoning.unwrap()),
        ];
        let total: i128 = parts.into_iter().map(|(tokens, rate)| i128::from(tokens) * i128::from(rate)).sum();
        total.div_euclid(1_000_000) + i128::from(total.rem_euclid(1_000_000) > 0)
    }
}

struct Draw(ChaCha8Rng);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end
    }

    fn one_in(&mut self, cases: u64) -> bool {
        self.below(cases) == 0
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    fn rates(&mut self) -> Rates {
        let mut rate = |most: u64| self.below(most) * 1_000 + 1;
        let (input, output) = (rate(20_000_000), rate(90_000_000));
        Rates {
            input,
            output,
            cached_input: Some(input / 10),
            cache_write: Some(input + input / 4),
            cache_write_1h: Some(2 * input),
            reasoning: Some(output - output / 3),
            audio_input: Some(input + rate(20_000_000)),
        }
    }

    fn set(&mut self, is_long: bool) -> RateSet {
        let above = if is_long { vec![LongRates { tokens: 20_000, rates: Some(self.rates()) }] } else { Vec::new() };
        RateSet { rates: self.rates(), above }
    }

    fn tokens(&mut self, provider: &str) -> Tokens {
        let has = |names: &[&str]| names.contains(&provider);
        let mut some = |is_there: bool| if is_there && self.below(2) == 0 { self.below(15_000) } else { 0 };
        let caches = has(&["openai", "responses", "anthropic", "bedrock"]);
        Tokens {
            cached: some(!has(&["gemini-by-chat"])),
            written: some(caches),
            written_1h: some(has(&["responses", "anthropic", "bedrock"])),
            audio: some(has(&["openai", "responses", "gemini"])),
            reasoning: some(!has(&["bedrock", "moonshot"])),
            fresh: self.below(15_000) + 1,
            visible: self.below(5_000) + 1,
        }
    }
}

/// The protocol, and the body in which this provider tells of a call. `total` says whether it adds everything up.
fn told(provider: &str, tokens: Tokens, total: bool) -> (&'static str, Value) {
    let Tokens { fresh, cached, written, written_1h, audio, visible, reasoning } = tokens;
    let (input, output, all) = (tokens.input(), tokens.output(), tokens.input() + tokens.output());
    let all = if total { json!(all) } else { Value::Null };
    match provider {
        "openai" => (
            "chat",
            json!({"usage": {"prompt_tokens": input, "completion_tokens": output, "total_tokens": all,
                "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written, "audio_tokens": audio},
                "completion_tokens_details": {"reasoning_tokens": reasoning}}}),
        ),
        "responses" => (
            "responses",
            json!({"usage": {"input_tokens": input, "output_tokens": output, "total_tokens": all,
                "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written + written_1h, "audio_tokens": audio,
                    "cache_write_tokens_details": {"ttl_30m_tokens": written, "ttl_12h_tokens": written_1h}},
                "output_tokens_details": {"reasoning_tokens": reasoning}}}),
        ),
        // Reasoning stands beside the tokens of the reply.
        "xai" => (
            "chat",
            json!({"usage": {"prompt_tokens": input, "completion_tokens": visible, "total_tokens": input + output,
                "prompt_tokens_details": {"cached_tokens": cached},
                "completion_tokens_details": {"reasoning_tokens": reasoning}}}),
        ),
        "gemini-by-chat" => (
            "chat",
            json!({"usage": {"prompt_tokens": input, "completion_tokens": visible, "total_tokens": input + output}}),
        ),
        "moonshot" => (
            "chat",
            json!({"usage": {"prompt_tokens": input, "completion_tokens": output, "total_tokens": all, "cached_tokens": cached}}),
        ),
        "deepseek" => (
            "chat",
            json!({"usage": {"prompt_tokens": input, "completion_tokens": output, "total_tokens": all,
                "prompt_cache_hit_tokens": cached, "prompt_cache_miss_tokens": fresh,
                "completion_tokens_details": {"reasoning_tokens": reasoning}}}),
        ),
        "anthropic" => (
            "anthropic",
            json!({"usage": {"input_tokens": fresh + audio, "cache_read_input_tokens": cached,
                "cache_creation_input_tokens": written + written_1h, "output_tokens": output,
                "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": written_1h},
                "output_tokens_details": {"thinking_tokens": reasoning}}}),
        ),
        "bedrock" => (
            "bedrock",
            json!({"usage": {"inputTokens": fresh + audio, "outputTokens": output, "totalTokens": 7,
                "cacheReadInputTokens": cached, "cacheWriteInputTokens": written + written_1h,
                "cacheDetails": [{"ttl": "1h", "inputTokens": written_1h}, {"ttl": "5m", "inputTokens": written}]}}),
        ),
        "gemini" => {
            let of_tools = fresh / 3;
            (
                "gemini",
                json!({"usageMetadata": {"promptTokenCount": input - of_tools, "toolUsePromptTokenCount": of_tools,
                    "candidatesTokenCount": visible, "thoughtsTokenCount": reasoning, "totalTokenCount": all,
                    "cachedContentTokenCount": cached,
                    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": fresh}, {"modality": "AUDIO", "tokenCount": audio}]}}),
            )
        }
        other => unreachable!("{other}"),
    }
}

/// Removes a count that the provider leaves out, so that nothing but its bound is known. Returns whether it had it.
fn leave_out(body: &mut Value, draw: &mut Draw) -> bool {
    let pairs = [
        ("prompt_tokens", "completion_tokens"),
        ("input_tokens", "output_tokens"),
        ("promptTokenCount", "candidatesTokenCount"),
        ("inputTokens", "outputTokens"),
    ];
    let is_input = draw.one_in(2);
    let Some(usage) = body.as_object_mut().and_then(|body| body.values_mut().next()?.as_object_mut()) else {
        return false;
    };
    for total in ["total_tokens", "totalTokenCount"] {
        usage.remove(total);
    }
    if !is_input {
        // Gemini's other count of the reply.
        usage.remove("thoughtsTokenCount");
    }
    let names = pairs.map(|(input, output)| if is_input { input } else { output });
    names.into_iter().any(|name| usage.insert(name.to_owned(), Value::Null).is_some_and(|count| !count.is_null()))
}

/// RE-21, RE-22, RE-23: of 10,000 calls none is booked below its bill, and each at its bill where the entry and the reply say
/// everything. A cost is unknown only where the entry has no price for the tier, and the reservation covers it then.
#[test]
fn nothing_is_booked_below_its_bill() {
    let mut draw = Draw(ChaCha8Rng::seed_from_u64(21));
    let providers =
        ["openai", "responses", "xai", "gemini-by-chat", "moonshot", "deepseek", "anthropic", "bedrock", "gemini"];
    let (mut unknown, mut bound, mut long) = (0, 0, 0);
    for call in 0..10_000 {
        let provider = draw.pick(&providers);
        let tokens = draw.tokens(provider);
        let has_long = draw.one_in(2);
        let base = draw.set(has_long);
        let has_long_priority = has_long && draw.one_in(2);
        let priority = draw.set(has_long_priority);
        let flex = Share::from_factor(0.5);
        // Half of every rate, but for tokens from a cache and of audio.
        let half = |rates: &Rates| {
            let half = |rate: u64| rate.div_ceil(2);
            Rates {
                input: half(rates.input),
                output: half(rates.output),
                cache_write: rates.cache_write.map(half),
                cache_write_1h: rates.cache_write_1h.map(half),
                reasoning: rates.reasoning.map(half),
                ..*rates
            }
        };
        let is_batch = draw.one_in(5);
        let asked = draw.pick(&[None, None, Some("default"), Some("flex"), Some("priority"), Some("turbo")]);
        let is_passed = has_long && tokens.input() > 20_000;
        long += u32::from(is_passed);
        let at =
            |set: &RateSet| if is_passed { set.above.first().and_then(|long| long.rates) } else { Some(set.rates) };
        let rates = match asked {
            _ if is_batch => at(&base).map(|rates| half(&rates)),
            Some("flex") => at(&base).map(|rates| half(&rates)),
            Some("priority") => at(&priority),
            Some("turbo") => None,
            _ => at(&base),
        };
        // An entry that lacks a rate is dearer than the provider.
        let lacks_rate = draw.one_in(4);
        let thinned = |rates: Rates| Rates { cached_input: rates.cached_input.filter(|_| !lacks_rate), ..rates };
        let price = Price {
            base: base.map(thinned),
            service: [
                ("flex".to_owned(), TierPrice::Share(flex)),
                ("priority".to_owned(), TierPrice::Set(priority.map(thinned))),
            ]
            .into(),
            ..Price::default()
        };
        let price = Pricing::Known(if is_batch { price.of_batches() } else { price });
        let (protocol, mut body) = told(provider, tokens, draw.one_in(2));
        // These add up what they leave out elsewhere.
        let adds_up = ["bedrock", "xai", "gemini-by-chat"].contains(&provider);
        let is_bound = draw.one_in(5) && !adds_up && leave_out(&mut body, &mut draw);
        bound += u32::from(is_bound);
        if let Some(tier) = asked {
            match provider {
                "gemini" => body["usageMetadata"]["serviceTier"] = json!(tier),
                "bedrock" => body["serviceTier"] = json!({ "type": tier }),
                "anthropic" => body["usage"]["service_tier"] = json!(tier),
                _ => body["service_tier"] = json!(tier),
            }
        }
        let most = Usage { input_tokens: tokens.input() + 9, output_tokens: tokens.output() + 9, ..Usage::default() };
        let (usage, billing) = read_bill(protocol, None, body.to_string().as_bytes(), None).unwrap();
        let billing = if is_batch { Billing { tier: None, ..billing } } else { billing };
        let (usage, _) = billing.complete(usage.unwrap(), &most);
        let booked = price.bill(&usage, &billing);
        let place = format!("call {call}: {provider}, {tokens:?}, {asked:?}, batch {is_batch}: {body}");
        let Some(rates) = rates else {
            assert_eq!(booked, None, "{place}");
            unknown += 1;
            continue;
        };
        let (booked, billed) = (booked.unwrap_or_else(|| panic!("{place}")), Money(tokens.bill(&rates)));
        match is_bound || lacks_rate && tokens.cached > 0 || hides_tokens(provider, tokens) {
            true => assert!(booked >= billed, "{booked:?} < {billed:?}, {place}"),
            false => assert_eq!(booked, billed, "{place}"),
        }
        let whole = Usage { cache_write_1h_tokens: 1, ..most };
        let reserved = price.most(&whole, &RequestTerms { tier: asked, writes: true, audio: true });
        assert!(reserved >= billed, "{reserved:?} < {billed:?}, {place}");
    }
    assert!(unknown > 500 && bound > 500 && long > 500, "{unknown}, {bound}, {long}");
}

/// Returns whether a reply does not tell what its tokens are, so that they count as the dearest that they may be.
fn hides_tokens(provider: &str, tokens: Tokens) -> bool {
    // Reasoning that is only part of a sum has the price of the reply.
    provider == "gemini-by-chat" && tokens.reasoning > 0
}

/// RE-23: of 1,000 costs that gateways state none is booked below its bill, and none is taken that is not a cost.
#[test]
fn stated_costs_are_booked() {
    let mut draw = Draw(ChaCha8Rng::seed_from_u64(23));
    for _ in 0..1_000 {
        let (own, upstream) = (draw.below(1_000_000_000), draw.below(1_000_000_000));
        let is_byok = draw.one_in(2);
        let usd = |nano: u64| nano as f64 / 1e9;
        let usage =
            json!({"cost": usd(own), "is_byok": is_byok, "cost_details": {"upstream_inference_cost": usd(upstream)}});
        let (_, billing) =
            read_bill("chat", Some("openrouter"), json!({ "usage": usage }).to_string().as_bytes(), None).unwrap();
        let billed = own + if is_byok { upstream } else { 0 };
        assert_eq!(billing.reported, Some(Money(billed.into())), "{usage}");
        let ticks = draw.below(1_000_000_000_000);
        let body = json!({"usage": {"cost_in_usd_ticks": ticks}}).to_string();
        let (_, billing) = read_bill("chat", Some("xai"), body.as_bytes(), None).unwrap();
        assert_eq!(billing.reported, Some(Money(ticks.div_ceil(10).into())), "{ticks}");
    }
}
