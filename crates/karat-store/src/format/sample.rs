//! Samples: the facts of a row of `samples`.

use karat_types::SampleRecord;

use crate::pack::{Damage, Packer, Unpacker};

const VERSION: u8 = 1;

pub(crate) fn pack_sample(packer: &mut Packer, sample: &SampleRecord) {
    packer.byte(VERSION);
    packer.text(&sample.id);
    packer.option(sample.cluster.as_deref(), Packer::text);
    packer.option(sample.date.as_deref(), Packer::text);
    packer.option(Some(&sample.metadata).filter(|metadata| !metadata.is_empty()), |packer, metadata| {
        packer.json(metadata);
    });
}

pub(crate) fn unpack_sample(row: u64, facts: &[u8]) -> Result<SampleRecord, Damage> {
    let mut unpacker = Unpacker::versioned(facts, VERSION)?;
    let sample = SampleRecord {
        row,
        id: unpacker.text()?.to_owned(),
        cluster: unpacker.option(Unpacker::text)?.map(str::to_owned),
        date: unpacker.option(Unpacker::text)?.map(str::to_owned),
        metadata: unpacker.option(Unpacker::json)?.unwrap_or_default(),
    };
    unpacker.end()?;
    Ok(sample)
}
