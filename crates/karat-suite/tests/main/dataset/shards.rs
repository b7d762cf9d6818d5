//! Shards: which rows they have, and their share of the limits.

use karat_suite::{Overrides, Plan};
use karat_types::{Sample, Shard};

use crate::world::World;

const SUITE: &str = "name: x
dataset: { source: d.jsonl, cluster: group, broken: report }
models: [ { id: m, provider: stub, model: s, limits: { rpm: 500, tpm: 1000, concurrency: 3 } } ]
run: { max_concurrency: 10, budget_usd: 4, max_calls: 9 }
variants: { ask: [ { prompt: { text: '{{ sample.id }}' } } ] }
scorers: { hit: { metric: contains, reference: id } }
";

fn plan_of(rows: &str, suite: &str) -> Plan {
    World::new(&[("karat.yaml", suite), ("d.jsonl", rows)]).plan(&Overrides::default())
}

fn shards(plan: &Plan, count: u32) -> Vec<Plan> {
    (1..=count).map(|number| plan.clone().of_shard(Shard::new(number, count).unwrap()).unwrap()).collect()
}

/// The rows of a plan: number, and sample or problem.
fn rows(plan: &Plan) -> Vec<(u64, Option<Sample>)> {
    let row = |row: Result<Sample, karat_suite::DatasetError>| match row {
        Ok(sample) => (sample.row, Some(sample)),
        Err(error) => (error.row.unwrap(), None),
    };
    plan.rows().map(row).collect()
}

/// SC-01: the shards of a plan have its rows, each once, with their numbers, plan hash and order; a cluster is in one of
/// them, also in rows that are added later. Rows that cannot be read are rows of a shard, too.
#[test]
fn shards_part_the_rows_of_a_plan() {
    let line = |row: u64| match row % 10 {
        9 => "{oops\n".to_owned(),
        8 => format!("{{\"id\": \"s{row}\"}}\n"),
        _ => format!("{{\"id\": \"s{row}\", \"group\": \"g{}\"}}\n", row / 7),
    };
    let data: String = (0..200).map(line).collect();
    let whole = plan_of(&data, SUITE);
    let longer = plan_of(&(data + "{\"id\": \"new\", \"group\": \"g3\"}\n"), SUITE);
    for count in [1, 2, 5, 300] {
        let parts = shards(&whole, count);
        let mut all: Vec<_> = parts.iter().flat_map(rows).collect();
        all.sort_by_key(|(row, _)| *row);
        assert_eq!(all, rows(&whole), "{count}");
        for (part, longer) in parts.iter().zip(shards(&longer, count)) {
            let own = rows(part);
            assert!(own.is_sorted_by_key(|(row, _)| *row));
            assert_eq!((own.len() as u64, part.header.plan_hash), (part.row_count(), whole.header.plan_hash));
            assert_eq!((part.cells(), part.header.cells()), (part.row_count(), 200));
            let group = |group: &str| {
                own.iter()
                    .any(|(_, sample)| sample.as_ref().is_some_and(|sample| sample.cluster.as_deref() == Some(group)))
            };
            let new: Vec<_> = rows(&longer).into_iter().filter(|(row, _)| *row == 200).collect();
            assert_eq!(new.len() == 1, group("g3"), "a row of a cluster goes where the cluster is");
            assert_eq!(rows(&longer).len() - new.len(), own.len());
        }
        let clusters = |part: &Plan| -> std::collections::BTreeSet<String> {
            rows(part).into_iter().filter_map(|(_, sample)| sample?.cluster).collect()
        };
        let places: usize = parts.iter().map(|part| clusters(part).len()).sum();
        assert_eq!(places, clusters(&whole).len());
        assert!(parts.iter().all(|part| rows(&part.whole()) == rows(&whole)));
    }
}

/// SC-01: a shard has its share of the suite's limits, rounded down and at least 1; what the command line says, and
/// defaults of a process, stay whole.
#[test]
fn a_shard_has_its_share_of_the_limits() {
    let data = "{\"id\": \"a\", \"group\": \"g\"}\n{\"id\": \"b\", \"group\": \"h\"}\n";
    let limits = |suite: &str, overrides: &Overrides| {
        let plan = World::new(&[("karat.yaml", suite), ("d.jsonl", data)]).plan(overrides);
        let plan = plan.of_shard(Shard::new(2, 4).unwrap()).unwrap().with_limits_shared(overrides);
        let (run, model) = (&plan.header.run, &plan.header.models[0].limits);
        (run.max_concurrency, run.budget_usd, run.max_calls, (model.rpm, model.tpm, model.concurrency))
    };
    let of_model = (Some(125), Some(250), Some(1));
    assert_eq!(limits(SUITE, &Overrides::default()), (2, Some(1.0), Some(2), of_model));
    let flags =
        Overrides { max_concurrency: Some(64), budget_usd: Some(3.0), max_calls: Some(7), ..Overrides::default() };
    assert_eq!(limits(SUITE, &flags), (64, Some(3.0), Some(7), of_model));
    let open = SUITE
        .replace("run: { max_concurrency: 10, budget_usd: 4, max_calls: 9 }\n", "")
        .replace(", limits: { rpm: 500, tpm: 1000, concurrency: 3 }", "");
    assert_eq!(limits(&open, &Overrides::default()), (32, Some(6.25), None, (None, None, None)));
    let whole = plan_of(data, SUITE).with_limits_shared(&Overrides::default());
    assert_eq!((whole.header.run.max_calls, whole.header.models[0].limits.rpm), (Some(9), Some(500)));
}
