//! `meter`: the paths of facts in a response or row.

use karat_text::path::Path;
use karat_types::{MeterSpec, MeteredTokens};

use crate::decode::Decoder;
use crate::registry::Registry;
use crate::syntax::node::Node;

impl Decoder<'_> {
    /// The meter of a step. In a recorded step's meter a path looks into the row.
    pub fn meter(&mut self, node: &Node, registry: &Registry) -> MeterSpec {
        let stages = node.field("latency_ms").map(Node::entries).unwrap_or_default();
        let tokens = node.field("tokens").map(Node::items).unwrap_or_default();
        let mut meter = MeterSpec {
            latency_ms: stages.iter().filter_map(|it| Some((it.key.clone(), it.node.text()?.to_owned()))).collect(),
            cost_usd: node.text_of("cost_usd").map(str::to_owned),
            version: node.text_of("version").map(str::to_owned),
            models: node.text_of("models").map(str::to_owned),
            ..MeterSpec::default()
        };
        for tokens in tokens {
            let Some(model) = tokens.field("model") else { continue };
            let Some(name) = model.text() else { continue };
            let model = if name.starts_with('$') {
                if let Err(error) = Path::parse(name) {
                    self.problems.error(&model.place, format!("`{name}` is not a path: {}", error.problem));
                }
                // Which model a path leads to is only known by row, so every price may be needed.
                meter.prices.extend(registry.models().map(|model| (model.id.clone(), model.price.clone())));
                meter.prices.extend(registry.models().map(|model| (model.model.clone(), model.price.clone())));
                name.to_owned()
            } else {
                let Some(known) = self.known_model(name, &model.place, registry) else { continue };
                meter.prices.insert(known.id.clone(), known.price.clone());
                known.id
            };
            let path = |key: &str| tokens.text_of(key).map(str::to_owned);
            meter.tokens.push(MeteredTokens {
                each: path("each"),
                model,
                input: path("input"),
                output: path("output"),
            });
        }
        meter
    }
}
