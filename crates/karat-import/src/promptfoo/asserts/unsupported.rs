//! Asserts that a suite has no counterpart for, each with the reason.

use karat_text::similar::nearest;

use crate::promptfoo::refusal::Refusal;

/// Types that are carried over, for hints.
const CARRIED: [&str; 24] = [
    "equals",
    "contains",
    "icontains",
    "contains-any",
    "contains-all",
    "icontains-any",
    "icontains-all",
    "starts-with",
    "regex",
    "is-json",
    "contains-json",
    "levenshtein",
    "word-count",
    "latency",
    "cost",
    "rouge-n",
    "bleu",
    "llm-rubric",
    "model-graded-closedqa",
    "model-graded-factuality",
    "factuality",
    "g-eval",
    "similar",
    "assert-set",
];

/// Returns true if promptfoo has a type of this name.
pub(in crate::promptfoo) fn is_type(kind: &str) -> bool {
    CARRIED.contains(&kind) || matches!(kind, "similar:cosine") || known_refusal(kind).is_some()
}

/// The refusal of a type that is not carried over.
pub(super) fn refusal(kind: &str) -> Refusal {
    known_refusal(kind).unwrap_or_else(|| {
        let refusal = Refusal::new("is not a type of assert that this version knows");
        match nearest(kind, CARRIED) {
            Some(near) => refusal.instead(format!("perhaps `{near}` was meant")),
            None => refusal,
        }
    })
}

fn known_refusal(kind: &str) -> Option<Refusal> {
    Some(match kind {
        "javascript" | "python" | "ruby" => Refusal::new("is code, which an import neither runs nor copies")
            .instead("a scorer with `metric: command` that runs it"),
        "$ref" => {
            Refusal::new("stands in `assertionTemplates`, which are not read").instead("the assert itself in its place")
        }
        "webhook" => Refusal::new("calls a service of your own").instead("a scorer with `metric: http`"),
        "select-best" | "max-score" => Refusal::new("compares the outputs of one test with each other")
            .instead("a rubric scorer with `versus: all`"),
        "human" => Refusal::new("waits for a person").instead("`karat annotate`"),
        "skill-used" => trace_refusal(),
        "tool-call-f1" => Refusal::new("compares calls of tools, and the outputs of this suite are texts")
            .instead("a prompt with `tools` and a scorer with `metric: tool_calls`"),
        "answer-relevance" | "conversation-relevance" | "search-rubric" | "agent-rubric" => {
            Refusal::new("is an average of several judge calls").instead("a rubric scorer")
        }
        "similar:dot" | "similar:euclidean" => {
            Refusal::new("measures another distance of vectors").instead("`metric: similarity`, which is the cosine")
        }
        "moderation" | "guardrails" | "classifier" | "pi" => Refusal::new("needs a classifier of its own")
            .instead("a rubric scorer, or `metric: http` with that classifier"),
        "is-refusal" => Refusal::new("needs a classifier of refusals").instead("`rubric: { use: refusal }`"),
        "perplexity" | "perplexity-score" | "finish-reason" => {
            Refusal::new("reads what only the provider's reply holds")
        }
        "f-score" => Refusal::new("is computed by formulas over all tests of promptfoo")
            .instead("`metric: token_f1` or `metric: combine`"),
        "meteor" | "gleu" => Refusal::new("is another formula of overlap").instead("`metric: bleu` or `metric: rouge`"),
        "is-sql" | "contains-sql" | "is-xml" | "contains-xml" | "is-html" | "contains-html" => {
            Refusal::new("needs a parser of that language")
                .instead("a scorer with `metric: command` or `metric: regex`")
        }
        kind if kind.starts_with("trajectory:") || kind.starts_with("trace-") => trace_refusal(),
        kind if kind.starts_with("context-") => Refusal::new("is an average of several judge calls")
            .instead("a ready rubric, as `rubric: { use: faithfulness }`"),
        kind if kind.starts_with("promptfoo:redteam:") => Refusal::new("belongs to promptfoo's red teaming"),
        kind if kind.starts_with("is-valid-") => {
            Refusal::new("needs the tools that the model was offered").instead("a scorer with `metric: valid_calls`")
        }
        _ => return None,
    })
}

fn trace_refusal() -> Refusal {
    Refusal::new("reads the trace of an agent").instead("an `agent` step with `metric: tool_calls`")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IO-03: an unknown type is answered with the nearest name.
    #[test]
    fn the_nearest_type_is_named() {
        let instead = |kind: &str| refusal(kind).of_sample("", kind).instead.unwrap_or_default();
        assert!(instead("contain-all").contains("`contains-all`"));
        assert!(instead("levenstein").contains("`levenshtein`"));
        assert_eq!(instead("sentiment"), "");
    }
}
