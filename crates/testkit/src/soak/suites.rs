//! The suites of a soak, and their due times, which are computed here without Karat's own code.

/// Milliseconds of a minute.
pub(crate) const MINUTE: i64 = 60_000;

/// The moment at which the clocks of Berlin go from two to three: 2027-03-28T01:00Z.
pub(crate) const CHANGE_OF_CLOCKS: i64 = 1_806_195_600_000;

/// A key that must be nowhere: that of the models.
pub(crate) const MODEL_KEY: &str = "sk-soak-4f1d8a2b7c9e0d3a";

/// The last part of the receiver's address, which is as good as a password.
pub(crate) const HOOK_PATH: &str = "hook-path-7c1e55aa";

/// The secret of the receiver's signatures.
pub(crate) const HOOK_SECRET: &str = "whsec_c29hay10ZXN0LXNlY3JldC0wMTIzNDU2Nzg5YWJjZA==";

/// A schedule of a suite.
pub(crate) struct Scheduled {
    pub suite: &'static str,
    pub schedule: &'static str,
    /// Returns whether it is due at a minute, in milliseconds.
    pub is_due: fn(i64) -> bool,
}

fn is_at_minute(time: i64, every: i64) -> bool {
    time.div_euclid(MINUTE).rem_euclid(60) % every == 0
}

/// All schedules, with their due times in UTC.
pub(crate) const SCHEDULES: [Scheduled; 5] = [
    Scheduled { suite: "support", schedule: "often", is_due: |time| is_at_minute(time, 5) },
    Scheduled { suite: "idle", schedule: "regular", is_due: |time| is_at_minute(time, 10) },
    Scheduled { suite: "live", schedule: "halves", is_due: |time| time.div_euclid(MINUTE).rem_euclid(60) == 30 },
    // Berlin differs from UTC by whole hours.
    Scheduled { suite: "night", schedule: "hourly", is_due: |time| is_at_minute(time, 60) },
    // 02:30 of that night does not exist: it is due right after the gap.
    Scheduled { suite: "night", schedule: "nightly", is_due: |time| time == CHANGE_OF_CLOCKS },
];

/// Rows of each version of the data of `support`.
pub(crate) const ROWS: usize = 24;

/// Rows of the data of `adhoc`.
pub(crate) const ADHOC_ROWS: usize = 4_000;

/// Calls that a run of a suite makes at one time.
pub(crate) const CONCURRENCY: usize = 4;

const ALERTS: &str = "alerts:
  oncall:
    send: webhook
    with: { url: \"${HOOK}\", secret: \"${HOOK_SECRET}\" }
    events: [gate_failed, run_failed, schedule_missed]
    quiet: 0
    clear: 1
";

fn model(base_url: &str) -> String {
    format!(
        "models: [ {{ id: mock, provider: openai, model: mock-model, base_url: \"{base_url}\", api_key_env: SOAK_KEY, \
         price: {{ input: 1.0, output: 2.0 }} }} ]\n\
         variants: {{ direct: [ {{ prompt: {{ text: \"{{{{ sample.question }}}}\" }} }} ] }}\n\
         scorers: {{ hit: {{ metric: contains }} }}\n\
         run: {{ max_concurrency: {CONCURRENCY}, budget_usd: 1000, timeout: 3s, retries: 3 }}\n"
    )
}

/// The files of all suites, relative to the root.
pub(crate) fn files(base_url: &str) -> Vec<(String, String)> {
    let data = "dataset: { source: data.jsonl, id: id, input: question, reference: target }\n";
    let model = model(base_url);
    let support = format!(
        "name: support\n{data}{model}gates: [ {{ metric: hit, min: 60%, decide: point }} ]\n\
         schedules: {{ often: {{ cron: \"*/5 * * * *\", zone: UTC, missed: all, report: [json, html] }} }}\n{ALERTS}"
    );
    let idle = format!(
        "name: idle\n{data}{model}\
         schedules: {{ regular: {{ cron: \"*/10 * * * *\", zone: UTC, missed: skip, overlap: queue, report: [md] }} }}\n"
    );
    let adhoc = format!("name: adhoc\n{data}{model}");
    let live = format!(
        "name: live\ndataset: {{ source: \"traces:app\", days: 1, zone: UTC }}\n\
         judges: [ {{ id: judge, provider: openai, model: judge, base_url: \"{base_url}\", api_key_env: SOAK_KEY, \
         price: {{ input: 3.0, output: 6.0 }} }} ]\n\
         variants: {{ live: [ {{ recorded: {{ column: output, missing: skip }} }} ] }}\n\
         scorers: {{ q: {{ rubric: {{ ask: Is it good?, reply: flat, dimensions: {{ good: {{ definition: good, scale: [1, 5] }} }} }} }} }}\n\
         run: {{ max_concurrency: {CONCURRENCY}, budget_usd: 1000, timeout: 3s, retries: 3 }}\n\
         schedules: {{ halves: {{ cron: \"30 * * * *\", zone: UTC, missed: once, report: [json] }} }}\n{ALERTS}"
    );
    let night = format!(
        "name: night\ndataset: {{ source: data.jsonl, id: id, reference: target }}\n\
         variants: {{ published: [ {{ recorded: {{ column: question }} }} ] }}\n\
         scorers: {{ hit: {{ metric: contains }} }}\n\
         schedules:\n  hourly: {{ cron: \"0 * * * *\", zone: Europe/Berlin, missed: all, report: [json] }}\n  \
         nightly: {{ cron: \"30 2 * * *\", zone: Europe/Berlin, report: [json] }}\n{ALERTS}"
    );
    let rows = |prefix: &str, n: usize| (0..n).map(|row| row_of(prefix, row, true)).collect::<String>();
    [
        ("support/karat.yaml", support),
        ("support/data.jsonl", support_data(0)),
        ("idle/karat.yaml", idle),
        ("idle/data.jsonl", rows("idle", 12)),
        ("adhoc/karat.yaml", adhoc),
        ("adhoc/data.jsonl", rows("adhoc", ADHOC_ROWS)),
        ("live/karat.yaml", live),
        ("night/karat.yaml", night),
        ("night/data.jsonl", rows("night", 20)),
    ]
    .map(|(name, text)| (name.to_owned(), text))
    .into()
}

/// A version of the data of `support`. In every other one, most answers are wrong, so that its gate fails.
pub(crate) fn support_data(version: usize) -> String {
    let is_bad = version.is_multiple_of(2);
    (0..ROWS).map(|row| row_of(&format!("v{version}"), row, !is_bad || row < ROWS / 3)).collect()
}

/// A row whose question makes the provider answer with its target, or with something else.
fn row_of(prefix: &str, row: usize, is_good: bool) -> String {
    let answer = if is_good { "right" } else { "wrong" };
    format!(
        "{{\"id\":\"{prefix}-{row}\",\"question\":\"Question {row} of {prefix}: [[{answer} {prefix}-{row}]]\",\
         \"target\":\"right {prefix}-{row}\"}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_times_of_the_change_of_clocks_are_known() {
        let due = |name: &str, from: i64, to: i64| {
            let schedule = SCHEDULES.iter().find(|it| it.schedule == name).unwrap();
            (from..to).filter(|minute| (schedule.is_due)(CHANGE_OF_CLOCKS + minute * MINUTE)).collect::<Vec<i64>>()
        };
        assert_eq!(due("nightly", -120, 120), [0]);
        assert_eq!(due("hourly", -60, 61), [-60, 0, 60]);
        assert_eq!(due("halves", -60, 60), [-30, 30]);
        assert_eq!(due("often", 0, 20), [0, 5, 10, 15]);
    }
}
