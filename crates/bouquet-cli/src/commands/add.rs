//! `bouquet add`: more keys into a filter.

use std::path::PathBuf;

use bouquet::AnyFilter;
use bouquet::capability::NoteType;
use clap::Args;

use crate::failure::{Failure, Found, Outcome, about, say};
use crate::filters::Opening;
use crate::keys::{Batch, Input};
use crate::output::{Coding, number, save};

/// Insert the keys of files or of standard input into a filter, in place
///
/// All keys are inserted or none: the changed filter replaces the file at the end, atomically. Of two commands that
/// change one filter at the same time, the later replaces the work of the earlier.
///
/// With --in-place the file's own bytes change, which needs neither memory nor disk for a second filter: for large filters and
/// few keys. The file is refused by every command until this one is done, and for good if it is interrupted: keep a copy, or
/// the keys. Keys that are read before an error stay in. A second command with --in-place is refused meanwhile.
#[derive(Args)]
pub struct Add {
    /// The filter to change
    filter: PathBuf,

    #[command(flatten)]
    input: Input,

    /// Change the file itself instead of replacing it; not every kind can
    #[arg(long)]
    in_place: bool,

    #[command(flatten)]
    opening: Opening,
}

impl Add {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        if self.in_place {
            return self.run_in_place();
        }
        let mut filter = self.opening.open_to_change(&self.filter)?;
        filter.insert()?;
        self.insert_all(&mut filter)?;
        save(&filter, &self.filter, Coding::Usual)?;
        Ok(Found::Something)
    }

    fn run_in_place(&self) -> Outcome {
        let mut filter = self.opening.open_writable(&self.filter)?;
        let inserted = self.insert_all(&mut filter);
        // What went wrong with a key must not cost the filter.
        filter.close().map_err(about(&self.filter))?;
        inserted.map(|()| Found::Something)
    }

    fn insert_all(&self, filter: &mut AnyFilter) -> Result<(), Failure> {
        let mut reader = self.input.read("adding");
        while let Some(batch) = reader.next_batch()? {
            insert(filter, batch)?;
        }
        drop(reader);
        warn_when_overfull(filter);
        Ok(())
    }
}

/// Inserts some keys; an error says which.
pub fn insert(filter: &mut AnyFilter, batch: Batch<'_>) -> Result<(), Failure> {
    let note = filter.note();
    let items = batch.items(note)?;
    let insert = filter.insert()?;
    if matches!(note, NoteType::None | NoteType::Amount) {
        // Nothing is wrong with a bare key, nor with an amount that was read: what fails is the filter, and the line does
        // not matter.
        insert.insert_batch(&items).map_err(|error| batch.refuse_all(error))?;
        return Ok(());
    }
    for (index, item) in items.into_iter().enumerate() {
        insert.insert(item).map_err(|error| batch.refuse(index, error))?;
    }
    Ok(())
}

/// Says so when there are far more keys than the filter was made for.
pub fn warn_when_overfull(filter: &AnyFilter) {
    let stats = filter.stats();
    let Some(planned) = filter.config().count("items") else { return };
    let (Some(expected), Some(now)) = (filter.expected(planned).false_positive, stats.fpr) else { return };
    // A filter that forgets keeps to the rate it was asked for, however many keys came.
    let wanted = expected.max(filter.config().real("fpr").unwrap_or(0.0));
    if stats.items > planned && now > 2.0 * wanted {
        let (items, now, wanted) = (stats.items, number(now), number(wanted));
        say(&format!("warning: {items} keys in a filter for {planned}: the expected rate is {now}, not {wanted}"));
    }
}
