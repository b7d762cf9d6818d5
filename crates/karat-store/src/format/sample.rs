//! Samples: the facts of a row of `samples`.

use karat_types::{SampleRecord, SampleText};

use crate::block::pack::{Packer, Unpacker, unseal};
use crate::error::Damage;

/// Format version. 2 added the digests of the files that are read, 3 the texts for reports and a checksum, which 4 leaves to
/// the row.
const VERSION: u8 = 4;

/// The version with a checksum of its own.
const SEALED: u8 = 3;

pub(crate) fn pack_sample(packer: &mut Packer, sample: &SampleRecord) {
    packer.byte(VERSION);
    packer.text(&sample.id);
    packer.option(sample.cluster.as_deref(), Packer::text);
    packer.option(sample.date.as_deref(), Packer::text);
    packer.option(Some(&sample.metadata).filter(|metadata| !metadata.is_empty()), |packer, metadata| {
        packer.json(metadata);
    });
    packer.list(&sample.reads, |packer, (name, digest)| {
        packer.text(name);
        packer.key(*digest);
    });
    packer.list(&sample.texts, |packer, it| {
        packer.text(&it.name);
        packer.text(&it.text);
        packer.number(it.chars);
    });
}

pub(crate) fn unpack_sample(row: u64, facts: &[u8]) -> Result<SampleRecord, Damage> {
    let (mut unpacker, version) = Unpacker::with_version(unseal(facts, SEALED..=SEALED, &[row])?, VERSION)?;
    let mut sample = SampleRecord {
        row,
        id: unpacker.text()?.to_owned(),
        cluster: unpacker.option(Unpacker::text)?.map(str::to_owned),
        date: unpacker.option(Unpacker::text)?.map(str::to_owned),
        metadata: unpacker.option(Unpacker::json)?.unwrap_or_default(),
        reads: Vec::new(),
        texts: Vec::new(),
    };
    if version > 1 {
        sample.reads = unpacker.list(|unpacker| Ok((unpacker.text()?.to_owned(), unpacker.key()?)))?;
    }
    if version > 2 {
        sample.texts = unpacker.list(|unpacker| {
            let (name, text) = (unpacker.text()?.to_owned(), unpacker.text()?.to_owned());
            Ok(SampleText { name, text, chars: unpacker.number()? })
        })?;
    }
    unpacker.end()?;
    Ok(sample)
}
