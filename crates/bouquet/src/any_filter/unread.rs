//! Files that were mapped and not read: nobody has seen what their stores hold.

use std::sync::{Arc, OnceLock};

use memmap2::Mmap;

use super::{AnyFilter, OpenOptions};
use crate::codec::{Header, Source};
use crate::error::Result;

/// A mapped file whose checksums and contents are still to be checked. Questions need no check: whatever a store holds, an
/// answer is all that can be wrong. What is changed or written is checked before, because a frame that is written gets right
/// checksums, whatever was damaged or forged in the one that was mapped.
pub(super) struct Unread {
    pub(super) map: Arc<Mmap>,
    options: OpenOptions,
    seen: OnceLock<()>,
}

impl Unread {
    pub(super) fn new(map: Arc<Mmap>, options: &OpenOptions) -> Self {
        Unread { map, options: options.clone(), seen: OnceLock::new() }
    }

    /// Reads the whole file once and checks it as [`AnyFilter::open`] does. The stores stay in the file.
    pub(super) fn check(&self) -> Result<()> {
        if self.seen.get().is_none() {
            let source = Source::ReadMap(&self.map);
            AnyFilter::decode_frame(source, &Header::read(source.bytes())?, &self.options)?;
            let _ = self.seen.set(());
        }
        Ok(())
    }
}
