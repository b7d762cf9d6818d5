//! Property tests against a model in memory: every written record is read back, in any order and grouping.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_types::*;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::test_data::*;

const ROWS: u64 = 6;

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z ]{0,12}", any::<String>()]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..3).prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((text(), value()), 0..3).prop_map(|pairs| pairs.into_iter().collect())
}

fn score() -> impl Strategy<Value = Score> {
    prop_oneof![
        any::<f64>().prop_map(Score::value),
        (any::<f64>(), text()).prop_map(|(value, reason)| Score::value_because(value, reason)),
        text().prop_map(Score::not_applicable),
        text().prop_map(Score::unscored),
    ]
}

fn scores() -> impl Strategy<Value = Vec<(u16, Score)>> {
    prop::collection::vec((any::<u16>(), score()), 0..4)
}

fn keys() -> impl Strategy<Value = Vec<Key>> {
    prop::collection::vec(any::<[u8; 16]>().prop_map(Key), 0..3)
}

fn usage() -> impl Strategy<Value = Usage> {
    any::<[u64; 6]>().prop_map(|numbers| Usage {
        input_tokens: numbers[0],
        cached_input_tokens: numbers[1],
        cache_write_tokens: numbers[2],
        cache_write_1h_tokens: numbers[3],
        output_tokens: numbers[4],
        reasoning_tokens: numbers[5],
    })
}

fn money() -> impl Strategy<Value = Money> {
    any::<i128>().prop_map(Money)
}

fn cost() -> impl Strategy<Value = CellCost> {
    (usage(), prop::option::of(money()), money()).prop_map(|(usage, cost, paid)| CellCost { usage, cost, paid })
}

fn notes() -> impl Strategy<Value = Vec<Note>> {
    let kind = prop_oneof![Just(NoteKind::Truncated), Just(NoteKind::Lenient), Just(NoteKind::UsageEstimated)];
    let note = (kind, text(), any::<u32>()).prop_map(|(kind, text, count)| Note { kind, text, count });
    prop::collection::vec(note, 0..3)
}

fn answered() -> impl Strategy<Value = Vec<ServedName>> {
    let answered = (text(), prop::option::of(text())).prop_map(|(asked, other)| ServedName { asked, other });
    prop::collection::vec(answered, 0..3)
}

fn error() -> impl Strategy<Value = Option<CellError>> {
    prop::option::of((text(), text()).prop_map(|(code, message)| CellError { message, code }))
}

fn moment() -> impl Strategy<Value = Option<Moment>> {
    prop::option::of(any::<i64>().prop_map(Moment))
}

fn status() -> impl Strategy<Value = CellStatus> {
    prop_oneof![Just(CellStatus::Ok), Just(CellStatus::Error), Just(CellStatus::Skipped)]
}

prop_compose! {
    fn any_cell()(
        (ordinal, status, reused, made_at) in (0..ROWS, status(), any::<bool>(), moment()),
        output in prop::option::of(value().prop_map(Arc::new)),
        (scores, cost, calls, notes, error) in (scores(), cost(), keys(), notes(), error()),
        (key, output_hash, latency_ms) in (any::<[u8; 16]>(), any::<[u8; 16]>(), 0.0..1e9_f64),
        answered in answered(),
    ) -> CellRecord {
        let (key, output_hash) = (Key(key), Key(output_hash));
        CellRecord {
            ordinal, key, status, reused, made_at, output, output_hash, scores, cost, latency_ms, calls, notes, error,
            facts: ResponseFacts { answered, ..ResponseFacts::default() },
        }
    }
}

prop_compose! {
    fn any_judgment()(
        (ordinal, scorer, judge, key) in (0..ROWS, 0..2_u16, 0..2_u16, 0..8_u8),
        (reasoning, diagnostics, caps) in (text(), object(), prop::collection::vec(text(), 0..3)),
        (rung, shuffle_seed, prompt_version) in (prop::option::of(text()), any::<u64>(), prop::option::of(text())),
        (scores, cost, calls, notes, error) in (scores(), cost(), keys(), notes(), error()),
        (reused, made_at, latency_ms, answered) in (any::<bool>(), moment(), 0.0..1e9_f64, answered()),
        cascade in prop::option::of((0..3_usize, 0.0..=1.0_f64).prop_map(|(asked, pi)| CascadeDraw {
            asked: [AskedJudge::Unsure, AskedJudge::Drawn, AskedJudge::No][asked],
            pi,
        })),
        rounds in prop::collection::vec(
            (any::<bool>(), prop::collection::vec((0..4_u16, 0.0..1.0_f64), 0..3))
                .prop_map(|(swapped, scores)| JudgeRound { opponent: scores.len() as u16 * 300, swapped, scores }),
            0..3,
        ),
    ) -> JudgmentRecord {
        JudgmentRecord {
            ordinal, key: Key([key; 16]), scorer, judge, scores, reasoning, diagnostics, caps, rung, shuffle_seed,
            prompt_version, reused, made_at, error, cost, latency_ms, calls, notes, rounds,
            answered, cascade,
        }
    }
}

prop_compose! {
    fn any_step()(
        key in 0..8_u8,
        output in value().prop_map(Arc::new),
        (notes, usage, cost, calls, latency_ms) in (notes(), usage(), prop::option::of(money()), keys(), 0.0..1e9_f64),
        answered in answered(),
    ) -> StepRecord {
        let facts = ResponseFacts { answered, ..ResponseFacts::default() };
        StepRecord { key: Key([key; 16]), output, notes, usage, cost, latency_ms, calls, facts }
    }
}

prop_compose! {
    fn any_sample()(
        (row, id, metadata) in (0..ROWS, text(), object()),
        (cluster, date) in (prop::option::of(text()), prop::option::of(text())),
        reads in prop::collection::vec((text(), any::<[u8; 16]>().prop_map(Key)), 0..3),
        texts in prop::collection::vec((text(), text(), any::<u64>()), 0..3),
    ) -> SampleRecord {
        let texts = texts.into_iter().map(|(name, text, chars)| SampleText { name, text, chars }).collect();
        SampleRecord { row, id, cluster, date, metadata, reads, texts }
    }
}

prop_compose! {
    fn any_call()(
        (key, model, request, response) in (any::<[u8; 16]>(), text(), any::<Vec<u8>>(), any::<Vec<u8>>()),
        (status, usage, cost, attempts) in
            (prop::option::of(any::<u16>()), prop::option::of(usage()), prop::option::of(0..1_000_i128), 0..9_u32),
        (reserved, latency_ms, is_ok, impossible) in (0..1_000_i128, 0.0..1e9_f64, any::<bool>(), any::<bool>()),
        source in prop::sample::select(vec![
            CostSource::Table, CostSource::Reported, CostSource::Counted, CostSource::Simulated,
        ]),
    ) -> CallRecord {
        let cost_source = if cost.is_some() { source } else { CostSource::Unknown };
        let error = (!is_ok).then(|| CallError { code: CallErrorCode::Cut, message: "cut".to_owned(), status });
        CallRecord {
            key: Key(key), model, request: request.into(), response: response.into(), status, usage,
            cost: cost.map(Money), cost_source, reserved: Money(reserved), latency_ms, attempts, impossible,
            finish: is_ok.then_some(FinishReason::Refusal), error,
        }
    }
}

fn record() -> impl Strategy<Value = Record> {
    prop_oneof![
        1 => any_sample().prop_map(Record::Sample),
        2 => any_call().prop_map(Record::Call),
        2 => any_step().prop_map(|step| Record::Step(step.into())),
        4 => any_cell().prop_map(|cell| Record::Cell(cell.into())),
        4 => any_judgment().prop_map(|judgment| Record::Judgment(judgment.into())),
    ]
}

/// The content that a reader must find.
#[derive(Default)]
struct Model {
    samples: BTreeMap<u64, SampleRecord>,
    cells: BTreeMap<u64, CellRecord>,
    judgments: BTreeMap<(u64, u16, u16), JudgmentRecord>,
    sound_judgments: BTreeMap<Key, JudgmentRecord>,
    steps: BTreeMap<Key, StepRecord>,
    calls: BTreeMap<Key, CallRecord>,
}

impl Model {
    fn write(&mut self, record: &Record) {
        match record.clone() {
            Record::Reserved { .. } | Record::Released { .. } => {}
            Record::Sample(sample) => drop(self.samples.insert(sample.row, sample)),
            Record::Call(call) => drop(self.calls.insert(call.key, call)),
            Record::Step(step) => drop(self.steps.insert(step.key, Arc::unwrap_or_clone(step))),
            Record::Cell(cell) => drop(self.cells.insert(cell.ordinal, Arc::unwrap_or_clone(cell))),
            Record::Judgment(judgment) => {
                let judgment = Arc::unwrap_or_clone(judgment);
                let is_sound = judgment.error.is_none() && !judgment.scores.iter().any(|(_, it)| it.is_unscored());
                if is_sound && !judgment.reused {
                    self.sound_judgments.insert(judgment.key, judgment.clone());
                }
                self.judgments.insert((judgment.ordinal, judgment.scorer, judgment.judge), judgment);
            }
        }
    }

    fn rows(&self) -> Vec<Row> {
        let judgments = |ordinal| self.judgments.range((ordinal, 0, 0)..(ordinal + 1, 0, 0)).map(|(_, it)| it.clone());
        self.cells
            .values()
            .map(|cell| {
                let stored = CellRecord { output: None, ..cell.clone() };
                (self.samples[&cell.ordinal].clone(), 0, 0, stored, judgments(cell.ordinal).collect())
            })
            .collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Invariant 8, memory is bounded, and invariant 9, reports are deterministic: records come back with every field, in plan order, the latest of each place, whether they
    /// were appended one by one or together, before or after reopening the store or updating its index.
    #[test]
    fn written_records_are_read_back(
        appends in prop::collection::vec((prop::collection::vec(record(), 1..6), any::<[bool; 3]>()), 1..8),
        cut in 0..=ROWS,
    ) {
        let folder = folder();
        let mut model = Model::default();
        let mut store = store_in(&folder);
        let mut ledger = store.begin(&header("r", ROWS)).unwrap();
        for row in 0..ROWS {
            model.write(&Record::Sample(sample(row)));
            block_on(ledger.append(vec![Record::Sample(sample(row))])).unwrap();
        }
        let mut waiting = Vec::new();
        for (records, [wait, reopen, index]) in appends {
            records.iter().for_each(|record| model.write(record));
            waiting.push(records);
            if wait || reopen || index {
                // Futures are polled in order, so they are sent and written in order, in one commit or several.
                let appended = futures_in_order(&ledger, std::mem::take(&mut waiting));
                prop_assert!(appended.into_iter().all(|outcome| outcome.is_ok()));
            }
            if index {
                let connection = store.writing();
                let transaction = connection.begin().unwrap();
                crate::reuse::index_writer::index_all(&transaction).unwrap();
                transaction.commit().unwrap();
            }
            if reopen {
                drop(ledger);
                drop(store);
                store = store_in(&folder);
                ledger = store.reopen("r").unwrap();
            }
        }
        prop_assert!(futures_in_order(&ledger, waiting).into_iter().all(|outcome| outcome.is_ok()));

        prop_assert_eq!(rows(&store, "r"), model.rows());
        let in_two = [rows_of(&store, "r", 0..cut), rows_of(&store, "r", cut..ROWS)];
        prop_assert_eq!(in_two.concat(), model.rows());
        let run = store.rows("r").unwrap();
        for ordinal in 0..ROWS {
            let expected = model.cells.get(&ordinal).and_then(|cell| cell.output.as_deref().cloned());
            prop_assert_eq!(run.output(ordinal).unwrap(), expected);
        }
        for (key, step) in &model.steps {
            prop_assert_eq!(&store.step(*key).unwrap().unwrap().record, step);
        }
        for (key, call) in &model.calls {
            prop_assert_eq!(&store.call(Some("r"), *key).unwrap().unwrap().record, call);
        }
        for name in 0..8 {
            let found = store.judgment(Key([name; 16])).unwrap().map(|stored| stored.record);
            prop_assert_eq!(found.as_ref(), model.sound_judgments.get(&Key([name; 16])));
        }
        let spending = store.account("r").unwrap().spending;
        prop_assert_eq!(spending.calls, model.calls.len() as u64);
        prop_assert_eq!(spending.spent, model.calls.values().filter_map(|call| call.cost).sum());
    }
}

fn futures_in_order(ledger: &crate::Ledger, appends: Vec<Vec<Record>>) -> Vec<Result<(), crate::LedgerError>> {
    block_on(async {
        let tasks: Vec<_> = appends
            .into_iter()
            .map(|records| {
                let ledger = ledger.clone();
                tokio::spawn(async move { ledger.append(records).await })
            })
            .collect();
        let mut outcomes = Vec::new();
        for task in tasks {
            outcomes.push(task.await.unwrap());
        }
        outcomes
    })
}

/// Invariant 8, memory is bounded: floats are stored exactly, so an output read from the store is the output that was scored.
#[test]
fn every_float_survives() {
    let folder = folder();
    let store = store_in(&folder);
    let ledger = store.begin(&header("r", 1)).unwrap();
    let floats: Vec<f64> = (0..2_000_u64)
        .map(|n| f64::from_bits(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .filter(|float| float.is_finite())
        .chain([0.1 + 0.2, f64::MIN_POSITIVE, f64::MAX, -0.0, 5e-324])
        .collect();
    let output = Arc::new(json!(floats));
    block_on(ledger.append(vec![Record::Cell(cell(0, "c", &output).into())])).unwrap();
    let read = store.rows("r").unwrap().output(0).unwrap().unwrap();
    let bits = |value: &Value| -> Vec<u64> {
        value.as_array().unwrap().iter().map(|float| float.as_f64().unwrap().to_bits()).collect()
    };
    assert_eq!(bits(&read), floats.iter().map(|float| float.to_bits()).collect::<Vec<_>>());
}

/// Runs the test above from elsewhere: the macro makes it private.
pub(crate) fn records_are_read_back() {
    written_records_are_read_back();
}
