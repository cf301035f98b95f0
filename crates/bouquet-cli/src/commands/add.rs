//! `bouquet add`: more keys into a filter.

use std::path::{Path, PathBuf};

use bouquet::capability::NoteType;
use bouquet::{AnyFilter, MappedFilter};
use clap::{Args, ValueEnum};

use crate::ending::Kept;
use crate::failure::{Failure, Found, Outcome, about, say};
use crate::filters::Opening;
use crate::keys::{Batch, Input, Reader};
use crate::output::{Coding, Destination, Output, Waiting, number, refuse_input_as_output, refuse_stdin};
use crate::pace::{Every, catch_up};

/// Insert the keys of files or of standard input into a filter, in place
///
/// With --print a stream is told apart as it comes: each key is tested and inserted in one step, and printed if it is what was asked for.
///
/// All keys are inserted or none: the changed filter replaces the file at the end, atomically. Of two commands that
/// change one filter at the same time, the later waits for the earlier.
///
/// With --in-place the file's own bytes change, which needs neither memory nor disk for a second filter: for large filters and
/// few keys. The file is refused by commands that read it until this one is done, and for good if this one is killed or the
/// machine stops: keep a copy, or the keys. Keys that are read before an error, or before the signals INT, TERM and HUP, stay in.
#[derive(Args)]
pub struct Add {
    /// The filter to change
    filter: PathBuf,

    #[command(flatten)]
    input: Input,

    /// Insert only keys that the filter does not seem to hold, so that nothing is counted twice; not every kind can tell
    #[arg(long)]
    if_absent: bool,

    /// Print the keys that were new, or those that were known already or seemed so, as they come: duplicates of a stream
    #[arg(long, value_name = "WHICH", conflicts_with = "if_absent")]
    print: Option<Which>,

    #[command(flatten)]
    every: Every,

    /// Change the file itself instead of replacing it; not every kind can
    #[arg(long)]
    in_place: bool,

    #[command(flatten)]
    waiting: Waiting,

    #[command(flatten)]
    opening: Opening,
}

/// Keys that are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    /// Those that were new
    New,
    /// Those that were known
    Known,
}

impl Add {
    /// Runs the command.
    pub fn run(self) -> Outcome {
        let inputs = [self.input.sources(), self.opening.inputs()].concat();
        if self.in_place {
            refuse_stdin(&self.filter)?;
            refuse_input_as_output(&self.filter, &inputs)?;
            return self.run_in_place();
        }
        let destination = Destination::to_change(&self.filter, &inputs, self.waiting)?;
        let mut filter = self.opening.open(&self.filter)?;
        filter.insert().map_err(about(&self.filter))?;
        self.every.begin(&mut filter, &self.filter)?;
        let mut reader = self.read()?;
        while let Some(batch) = reader.next_batch()? {
            self.insert(&mut filter, batch)?;
        }
        drop(reader);
        warn_when_overfull(&self.filter, &filter);
        destination.save(&filter, Coding::Usual)?;
        Ok(Found::Something)
    }

    /// The keys, without a display of progress where they are printed.
    fn read(&self) -> Result<Reader, Failure> {
        if self.print.is_some() { self.input.read_to_answer() } else { Ok(self.input.read("adding")) }
    }

    /// Inserts a batch after the ticks that are due.
    fn insert(&self, filter: &mut AnyFilter, batch: Batch<'_>) -> Result<(), Failure> {
        catch_up(filter, &self.filter)?;
        if let Some(which) = self.print {
            return self.insert_and_print(filter, batch, which);
        }
        if !self.if_absent {
            return insert(filter, batch, Some(&self.filter));
        }
        for (index, item) in batch.items(filter.note())?.into_iter().enumerate() {
            if !filter.contains().map_err(about(&self.filter))?.contains(item.key) {
                filter.insert()?.insert(item).map_err(|error| batch.refuse(index, error))?;
            }
        }
        Ok(())
    }

    /// Tests and inserts key by key, and prints those that are asked for.
    fn insert_and_print(&self, filter: &mut AnyFilter, batch: Batch<'_>, which: Which) -> Result<(), Failure> {
        let (mut out, end) = (Output::stdout(), [self.input.delimiter()]);
        let items = batch.items(filter.note())?;
        let insert = filter.insert()?;
        for (index, (item, record)) in items.into_iter().zip(batch.records()).enumerate() {
            let is_new = insert.insert(item).map_err(|error| batch.refuse(index, error))?;
            if is_new == (which == Which::New) {
                out.write(&[record, &end])?;
            }
        }
        out.flush()
    }

    fn run_in_place(&self) -> Outcome {
        let path = self.filter.clone();
        // A signal must not cost the filter, even while this waits for keys.
        let kept = Kept::new(move |filter: MappedFilter| match filter.close() {
            Ok(()) => say(&format!("{}: interrupted; the keys up to here are in the filter", path.display())),
            Err(error) => say(&format!("{}: interrupted, and the filter cannot be closed: {error}", path.display())),
        })?;
        while let Err(busy) = kept.step(|filter| {
            self.opening.open_writable(&self.filter).map(|opened| opened.map(|opened| *filter = Some(opened)))
        })? {
            self.waiting.when_busy(&self.filter, busy)?;
        }
        let begun = kept.step(|filter| filter.as_mut().map_or(Ok(()), |filter| self.begin_in_place(filter)));
        let inserted = begun.and_then(|()| self.insert_in_place(&kept));
        // What went wrong with a key must not cost the filter.
        let closed = kept.step(|filter| filter.take().map_or(Ok(()), MappedFilter::close));
        closed.map_err(about(&self.filter))?;
        inserted.map(|()| Found::Something)
    }

    /// A clock that the file does not have would make its header longer.
    fn begin_in_place(&self, filter: &mut MappedFilter) -> Result<(), Failure> {
        if self.every.is_given() && filter.pace().is_none() {
            return Err(Failure::new(format!(
                "{}: the file has no clock yet; give it one with `bouquet advance --every`",
                self.filter.display()
            )));
        }
        // Whoever asks for the filter to change it has its header written anew.
        if filter.pace().is_none() { Ok(()) } else { self.every.begin(filter, &self.filter) }
    }

    fn insert_in_place(&self, kept: &Kept<MappedFilter>) -> Result<(), Failure> {
        let mut reader = self.read()?;
        while let Some(batch) = reader.next_batch()? {
            kept.step(|filter| filter.as_mut().map_or(Ok(()), |filter| self.insert(filter, batch)))?;
        }
        drop(reader);
        kept.step(|filter| filter.iter().for_each(|filter| warn_when_overfull(&self.filter, filter)));
        Ok(())
    }
}

/// Inserts some keys; an error says which.
pub fn insert(filter: &mut AnyFilter, batch: Batch<'_>, path: Option<&Path>) -> Result<(), Failure> {
    let note = filter.note();
    let items = batch.items(note)?;
    let insert = filter.insert()?;
    if matches!(note, NoteType::None | NoteType::Amount) {
        // Nothing is wrong with a bare key, nor with an amount that was read: what fails is the filter, and the line does
        // not matter.
        insert.insert_batch(&items).map_err(|error| batch.refuse_all(error, path))?;
        return Ok(());
    }
    for (index, item) in items.into_iter().enumerate() {
        insert.insert(item).map_err(|error| batch.refuse(index, error))?;
    }
    Ok(())
}

/// Says so when there are far more keys than the filter was made for.
pub fn warn_when_overfull(path: &Path, filter: &AnyFilter) {
    let stats = filter.stats();
    let config = filter.config();
    // Where a key is expected to come many times, the insertions do not tell how many keys there are.
    let Some(planned) = config.count("items").filter(|_| config.count("largest").is_none_or(|largest| largest <= 1))
    else {
        return;
    };
    let (Some(expected), Some(now)) = (filter.expected(planned).false_positive, stats.fpr) else { return };
    // A filter that forgets keeps to the rate it was asked for, however many keys came.
    let wanted = expected.max(config.real("fpr").unwrap_or(0.0));
    if stats.items > planned && now > 2.0 * wanted {
        let (items, now, wanted) = (stats.items, number(now), number(wanted));
        say(&format!(
            "warning: {}: {items} keys in a filter for {planned}: the expected rate is {now}, not {wanted}; \
             build one for more --items",
            path.display()
        ));
    }
}
