//! The short form of the contract, from file to plan.

use karat_suite::Overrides;
use karat_types::{Action, Pricing, PromptTurn, Role};

use crate::world::World;

const SUITE: &str = r#"name: bench
dataset: { source: data.jsonl, id: id, input: question, reference: target }
models: [ { id: mock, provider: openai, model: mock-model, base_url: "http://127.0.0.1:8099/v1", api_key_env: MOCK_KEY, price: { input: 1.0, output: 2.0 } } ]
variants: { direct: [ { prompt: { text: "{{ sample.question }}" } } ] }
scorers: { hit: { metric: contains } }
run: { max_concurrency: 64, budget_usd: 1000 }
"#;

const DATA: &str = "{\"id\": \"a\", \"question\": \"2+2?\", \"target\": \"4\"}\n\n{\"id\": \"b\", \"question\": \"3+3?\", \"target\": \"6\"}\n";

fn world() -> World {
    World::new(&[("karat.yaml", SUITE), ("data.jsonl", DATA)])
}

/// The contract's short form is accepted as it stands.
#[test]
fn the_contracts_short_form_becomes_a_plan() {
    let plan = world().plan(&Overrides::default());
    let header = &plan.header;
    assert_eq!((header.suite.as_str(), header.dataset.rows, header.cells()), ("bench", 2, 2));
    assert_eq!(header.models[0].model, "mock-model");
    assert!(matches!(&header.models[0].price, Pricing::Known(price) if price.base.rates.output == 2_000_000_000));
    let Action::Prompt(prompt) = &header.variants[0].steps[0].action else { panic!("no prompt") };
    assert_eq!(prompt.messages, [PromptTurn::text(Role::User, "{{ sample.question }}")]);
    assert_eq!(header.variants[0].steps[0].reads, ["sample.question"]);
    assert_eq!(header.metrics[0].name, "hit");
    assert!(header.metrics[0].binary);
    assert_eq!(
        (header.run.max_concurrency, header.run.budget_usd, header.run.budget_declared),
        (64, Some(1000.0), true)
    );
    assert_eq!(header.tokenizer, "o200k_base");
}

/// Every pass over the rows gives the same ones.
#[test]
fn rows_are_streamed_and_repeat() {
    let plan = world().plan(&Overrides::default());
    let rows: Vec<_> = plan.rows().collect::<Result<_, _>>().unwrap();
    assert_eq!(rows, plan.rows().collect::<Result<Vec<_>, _>>().unwrap());
    assert_eq!(rows.iter().map(|row| (row.row, &*row.id)).collect::<Vec<_>>(), [(0, "a"), (1, "b")]);
    assert_eq!(rows[1].input.as_ref().unwrap(), "3+3?");
    assert_eq!(rows[1].reference.as_ref().unwrap(), "6");
}

/// Execution settings do not change what a cell is; prompts, data and seeds do.
#[test]
fn the_plan_hash_is_that_of_the_content() {
    let hash = |world: &World, overrides: &Overrides| world.plan(overrides).header.plan_hash;
    let base = hash(&world(), &Overrides::default());
    let knobs = Overrides {
        max_concurrency: Some(2),
        budget_usd: Some(1.0),
        timeout_ms: Some(5),
        retries: Some(0),
        max_calls: Some(9),
        ..Overrides::default()
    };
    assert_eq!(hash(&world(), &knobs), base);
    let dearer = SUITE.replace("input: 1.0", "input: 3.0");
    assert_eq!(hash(&world().with("karat.yaml", &dearer), &Overrides::default()), base);
    let moved = SUITE.replace("data.jsonl", "other.jsonl");
    let renamed = World::new(&[("karat.yaml", moved.as_str()), ("other.jsonl", DATA)]);
    assert_eq!(hash(&renamed, &Overrides::default()), base);
    let commented = format!("# a comment\n{SUITE}");
    assert_eq!(hash(&world().with("karat.yaml", &commented), &Overrides::default()), base);

    let changed = [
        world().with("data.jsonl", &DATA.replace("2+2", "2+3")),
        world().with("karat.yaml", &SUITE.replace("sample.question }}", "sample.question }}!")),
        world().with("karat.yaml", &SUITE.replace("model: mock-model", "model: other-model")),
        world().with("karat.yaml", &SUITE.replace("metric: contains", "metric: exact")),
    ];
    for world in changed {
        assert_ne!(hash(&world, &Overrides::default()), base);
    }
    assert_ne!(
        hash(&world(), &Overrides { set: vec![("run.seed".to_owned(), "2".to_owned())], ..Overrides::default() }),
        base
    );
    assert_ne!(hash(&world(), &Overrides { limit: Some(1), ..Overrides::default() }), base);
    let one = |id: &str| Overrides { samples: vec![id.to_owned()], ..Overrides::default() };
    assert_ne!(hash(&world(), &one("a")), hash(&world(), &one("b")));
    assert_ne!(hash(&world(), &Overrides { trials: Some(2), ..Overrides::default() }), base);
}
