//! Keys as people give them: records of files or of standard input.
//!
//! A key is bytes, not text. Records end with a newline, or with NUL; the last one needs no end. Where the kind takes
//! a note with each key, it stands behind the record's first TAB; other kinds take the whole record as key.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bouquet::capability::{Item, NoteType};
use clap::Args;

use crate::ending::{is_stdin_closed, unless_refused};
use crate::failure::{Failure, in_words, say};
use crate::output::refuse_input_as_output;
use crate::progress::Progress;

/// Keys that one call of a verb is given.
const BATCH: usize = 4096;

/// Bytes that are asked of a file at once.
const READ: usize = 1 << 18;

/// The longest line that is taken for a key unless more is asked for: most longer ones are files that have no lines.
const MAX_KEY: &str = "64M";

/// What some programs put before text to say that it is UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Where keys come from.
#[derive(Args, Clone, Debug)]
pub struct Input {
    /// Files of keys, one per line; `-` or no file: standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Keys end with a NUL byte instead of a newline, in the input and in the output
    #[arg(short = '0', long = "null")]
    pub null: bool,

    /// Lines end as on Windows: a carriage return before the newline and a byte-order mark at the beginning of a file are
    /// no part of the keys
    #[arg(long, conflicts_with = "null")]
    crlf: bool,

    /// Refuse a longer line, such as 1000, 64K or 2G; it is held in memory
    #[arg(long, value_name = "BYTES", default_value = MAX_KEY, value_parser = parse_bytes)]
    max_key: usize,
}

/// A number of bytes, with K, M or G for 2^10, 2^20 or 2^30 of them.
pub fn parse_bytes(text: &str) -> Result<usize, String> {
    let (digits, shift) = match text.as_bytes().last().map(u8::to_ascii_uppercase) {
        Some(b'K') => (&text[..text.len() - 1], 10),
        Some(b'M') => (&text[..text.len() - 1], 20),
        Some(b'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let bytes = digits.replace('_', "").parse::<usize>().ok().and_then(|number| number.checked_mul(1 << shift));
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| "a number of bytes is such as 1000, 64K, 16M or 2G".into())
}

impl Input {
    /// The lines of one file, or of standard input if it is `-`.
    pub fn of_file(path: &Path) -> Self {
        let max_key = parse_bytes(MAX_KEY).unwrap_or(usize::MAX);
        Input { files: vec![path.into()], null: false, crlf: false, max_key }
    }

    /// Other files of keys, of the same form as these ones.
    pub fn of(&self, files: &[PathBuf]) -> Self {
        Input { files: files.to_vec(), ..self.clone() }
    }

    /// Every source, by name.
    pub fn sources(&self) -> Vec<&Path> {
        if self.files.is_empty() { vec![Path::new("-")] } else { self.files.iter().map(PathBuf::as_path).collect() }
    }

    /// The byte that ends a key.
    pub fn delimiter(&self) -> u8 {
        if self.null { 0 } else { b'\n' }
    }

    /// Whether standard input is among the sources.
    pub fn uses_stdin(&self) -> bool {
        self.files.is_empty() || self.files.iter().any(|file| is_stdin(file))
    }

    /// Whether the keys can be read twice: every source is a plain file.
    pub fn is_rereadable(&self) -> bool {
        let plain = |file: &PathBuf| std::fs::metadata(file).is_ok_and(|file| file.is_file());
        !self.uses_stdin() && self.files.iter().all(plain)
    }

    /// The bytes of all sources, where they are known.
    fn size(&self) -> Option<u64> {
        let sizes = self.files.iter().map(|file| Some(std::fs::metadata(file).ok()?.len()));
        if self.is_rereadable() { sizes.sum() } else { None }
    }

    /// The number of keys in the files, duplicates included.
    pub fn count(&self) -> Result<u64, Failure> {
        let mut progress = Progress::new("counting", self.size());
        let mut buffer = vec![0; READ];
        let mut count = 0;
        for path in &self.files {
            let mut source = Source::open(path)?;
            let mut unfinished = false;
            loop {
                let len = source.read(&mut buffer)?;
                let Some(last) = buffer[..len].last() else { break };
                count += memchr::memchr_iter(self.delimiter(), &buffer[..len]).count() as u64;
                unfinished = *last != self.delimiter();
                progress.advance(len);
            }
            count += u64::from(unfinished);
        }
        Ok(count)
    }

    /// Reads the keys, a batch at a time. `label` names the work on the progress bar.
    pub fn read(&self, label: &'static str) -> Reader {
        let files = if self.files.is_empty() { vec!["-".into()] } else { self.files.clone() };
        let from_terminal = self.uses_stdin() && io::stdin().is_terminal();
        Reader {
            files: files.into_iter(),
            source: None,
            delimiter: self.delimiter(),
            crlf: self.crlf,
            max_key: self.max_key,
            surprise: Surprise::default(),
            data: Vec::new(),
            filled: 0,
            used: 0,
            scanned: 0,
            spans: Vec::new(),
            first: 1,
            progress: if from_terminal { Progress::hidden() } else { Progress::new(label, self.size()) },
        }
    }

    /// Reads the keys for a command that prints answers meanwhile: on a terminal they leave no room for a bar. A file of
    /// keys to which the answers are appended would never end.
    pub fn read_to_answer(&self) -> Result<Reader, Failure> {
        refuse_input_as_output(Path::new("-"), &self.sources())?;
        let mut reader = self.read("querying");
        if io::stdout().is_terminal() {
            reader.progress = Progress::hidden();
        }
        Ok(reader)
    }

    /// Reads all keys into memory.
    pub fn read_all(&self, label: &'static str) -> Result<Held, Failure> {
        let mut held = Held::default();
        let mut reader = self.read(label);
        while let Some(batch) = reader.next_batch()? {
            held.take(&batch)?;
        }
        held.is_all = true;
        Ok(held)
    }
}

/// Whether the name means standard input.
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Standard input, unless it was closed when the program started.
pub fn open_stdin() -> Result<io::Stdin, Failure> {
    if is_stdin_closed() {
        return Err(Failure::new("standard input is closed; name a file, or give /dev/null to have none"));
    }
    Ok(io::stdin())
}

/// An open file of keys.
struct Source {
    name: String,
    stream: Box<dyn Read>,
}

impl Source {
    fn open(path: &Path) -> Result<Self, Failure> {
        if is_stdin(path) {
            return Ok(Source { name: "standard input".into(), stream: Box::new(open_stdin()?) });
        }
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| Failure::of_file(&name, &error))?;
        Ok(Source { name, stream: Box::new(file) })
    }

    /// Reads what is there; 0 at the end.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
        loop {
            match self.stream.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(|error| Failure::of_file(&self.name, &error)),
            }
        }
    }
}

fn name_of(source: &Option<Source>) -> &str {
    source.as_ref().map_or("", |source| &source.name)
}

/// What hardly anybody wants in a key; it is told of once.
#[derive(Default)]
struct Surprise {
    told: bool,
}

impl Surprise {
    fn tell(&mut self, source: &Option<Source>, number: u64, what: &str) {
        if !std::mem::replace(&mut self.told, true) {
            let name = name_of(source);
            say(&format!("warning: {name}:{number}: the line {what}, taken as part of the key; --crlf leaves it out"));
        }
    }
}

/// Reads keys from one source after the other.
pub struct Reader {
    files: std::vec::IntoIter<PathBuf>,
    source: Option<Source>,
    delimiter: u8,
    crlf: bool,
    max_key: usize,
    surprise: Surprise,
    /// Room for bytes; those before `filled` were read, those before `used` were handed out, those from there to `scanned`
    /// hold no delimiter.
    data: Vec<u8>,
    filled: usize,
    used: usize,
    scanned: usize,
    spans: Vec<Range<usize>>,
    /// The number of the next record in its source, from 1.
    first: u64,
    progress: Progress,
}

impl Reader {
    /// The next keys, all of one source: as many as are there already, so that a slow stream is answered at once.
    pub fn next_batch(&mut self) -> Result<Option<Batch<'_>>, Failure> {
        self.spans.clear();
        loop {
            if self.source.is_none() {
                let Some(path) = self.files.next() else { return Ok(None) };
                self.source = Some(Source::open(&path)?);
                self.first = 1;
            }
            self.split()?;
            if !self.spans.is_empty() {
                break;
            }
            if !self.fill()? {
                self.source = None;
            }
        }
        let first = self.first;
        self.first += self.spans.len() as u64;
        let name = name_of(&self.source);
        Ok(Some(Batch { data: &self.data, spans: &self.spans, name, first }))
    }

    /// Reads ahead: all keys if they are few, otherwise the first million or those of the first 32 MiB.
    pub fn begin(&mut self) -> Result<Held, Failure> {
        const KEYS: usize = 1 << 20;
        const BYTES: usize = 1 << 25;
        let mut held = Held::default();
        while held.spans.len() < KEYS && held.data.len() < BYTES {
            let Some(batch) = self.next_batch()? else {
                held.is_all = true;
                break;
            };
            held.take(&batch)?;
        }
        Ok(held)
    }

    /// Takes the complete records among the bytes that are there.
    fn split(&mut self) -> Result<(), Failure> {
        for end in memchr::memchr_iter(self.delimiter, &self.data[self.scanned..self.filled]).take(BATCH) {
            let end = self.scanned + end;
            if end - self.used > self.max_key {
                // Those before it first; then this is the first.
                break;
            }
            let mut record = self.used..end;
            self.used = end + 1;
            let number = self.first + self.spans.len() as u64;
            let lines = self.delimiter == b'\n';
            if lines && number == 1 && self.data[record.clone()].starts_with(BYTE_ORDER_MARK) {
                if self.crlf {
                    record.start += BYTE_ORDER_MARK.len();
                } else {
                    self.surprise.tell(&self.source, number, "begins with a byte-order mark");
                }
            }
            if lines && self.data[record.clone()].ends_with(b"\r") {
                if self.crlf {
                    record.end -= 1;
                } else {
                    self.surprise.tell(&self.source, number, "ends with a carriage return");
                }
            }
            self.spans.push(record);
        }
        let none = self.spans.is_empty();
        self.scanned = if none { self.filled } else { self.used };
        if none && self.filled - self.used > self.max_key {
            return Err(self.too_long());
        }
        Ok(())
    }

    fn too_long(&self) -> Failure {
        let name = name_of(&self.source);
        let (number, most) = (self.first, self.max_key);
        let remedy = if self.delimiter == 0 { "" } else { ", -0 reads keys that end with NUL bytes" };
        Failure::new(format!(
            "{name}:{number}: the key is longer than {most} bytes; --max-key BYTES allows more{remedy}"
        ))
    }

    /// Reads on; at the end of the source an unfinished record is finished. Tells whether there may be more.
    fn fill(&mut self) -> Result<bool, Failure> {
        let Some(source) = &mut self.source else { return Ok(false) };
        self.data.copy_within(self.used..self.filled, 0);
        self.filled -= self.used;
        self.scanned -= self.used;
        self.used = 0;
        if self.data.len() < self.filled + READ {
            // Half as much again, so that a long record is copied a few times in all, whatever a read gives; the limit
            // is found out with one byte more.
            let kept = self.filled;
            let room = READ.max((kept / 2).min(self.max_key.saturating_add(1).saturating_sub(kept)));
            let (name, number) = (&source.name, self.first);
            let out_of_memory = |_| {
                Failure::new(format!(
                    "{name}:{number}: out of memory at a key of more than {kept} bytes; --max-key BYTES refuses such keys early"
                ))
            };
            let more = kept + room - self.data.len();
            if kept > READ {
                unless_refused(|| self.data.try_reserve_exact(more)).map_err(out_of_memory)?;
            }
            self.data.resize(kept + room, 0);
        }
        let len = source.read(&mut self.data[self.filled..])?;
        self.progress.advance(len);
        if len == 0 && self.filled > 0 {
            // Any room will do: it was made above.
            self.data[self.filled] = self.delimiter;
            self.filled += 1;
            return Ok(true);
        }
        self.filled += len;
        Ok(len > 0)
    }
}

/// Some records of one source.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    data: &'a [u8],
    spans: &'a [Range<usize>],
    name: &'a str,
    first: u64,
}

impl<'a> Batch<'a> {
    /// The number of records.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are none; a batch that was read has some.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The records as they were given.
    pub fn records(self) -> impl Iterator<Item = &'a [u8]> {
        self.spans.iter().map(move |span| &self.data[span.clone()])
    }

    /// The keys alone, for a kind whose keys carry this note.
    pub fn keys(self, note: NoteType) -> Vec<&'a [u8]> {
        self.records().map(|record| cut(record, note).0).collect()
    }

    /// The keys with their notes.
    pub fn items(self, note: NoteType) -> Result<Vec<Item<'a>>, Failure> {
        let item = |(index, record)| {
            let (key, text) = cut(record, note);
            let note = note.parse(text).map_err(|error| self.refuse(index, error))?;
            Ok(Item::new(key, note))
        };
        self.records().enumerate().map(item).collect()
    }

    /// An error at the record of this index, with its place.
    pub fn refuse(&self, index: usize, error: bouquet::Error) -> Failure {
        Failure::new(format!("{}:{}: {}", self.name, self.first + index as u64, in_words(&error)))
    }

    /// An error of the filter at some of the records, with their source.
    pub fn refuse_all(&self, error: bouquet::Error, filter: Option<&Path>) -> Failure {
        let error = in_words(&error);
        Failure::new(match filter {
            Some(path) => format!("{}: {error} (met with the keys of {})", path.display(), self.name),
            None => format!("{}: {error}", self.name),
        })
    }
}

/// The key of a record, and the text behind its first TAB where the kind takes notes.
fn cut(record: &[u8], note: NoteType) -> (&[u8], Option<&[u8]>) {
    match (note, memchr::memchr(b'\t', record)) {
        (NoteType::None, _) | (_, None) => (record, None),
        (_, Some(tab)) => (&record[..tab], Some(&record[tab + 1..])),
    }
}

/// Keys in memory.
#[derive(Default)]
pub struct Held {
    data: Vec<u8>,
    spans: Vec<Range<usize>>,
    parts: Vec<Part>,
    /// Whether there are no more.
    is_all: bool,
}

/// Records of one source, up to a batch of them.
struct Part {
    spans: Range<usize>,
    name: String,
    first: u64,
}

impl Held {
    fn take(&mut self, batch: &Batch<'_>) -> Result<(), Failure> {
        let bytes = batch.spans.iter().map(Range::len).sum();
        let too_many = |_| Failure::new("out of memory: the keys do not fit; give --items, or a kind that grows");
        unless_refused(|| self.data.try_reserve(bytes)).map_err(too_many)?;
        unless_refused(|| self.spans.try_reserve(batch.len())).map_err(too_many)?;
        let begin = self.spans.len();
        for record in batch.records() {
            let start = self.data.len();
            self.data.extend_from_slice(record);
            self.spans.push(start..self.data.len());
        }
        let spans = begin..self.spans.len();
        self.parts.push(Part { spans, name: batch.name.into(), first: batch.first });
        Ok(())
    }

    /// The number of keys, duplicates included.
    pub fn len(&self) -> u64 {
        self.spans.len() as u64
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Whether all keys are here.
    pub fn is_all(&self) -> bool {
        self.is_all
    }

    /// The keys, a batch at a time.
    pub fn batches(&self) -> impl Iterator<Item = Batch<'_>> {
        self.parts.iter().map(|part| Batch {
            data: &self.data,
            spans: &self.spans[part.spans.clone()],
            name: &part.name,
            first: part.first,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader_of(stream: impl Read + 'static, delimiter: u8) -> Reader {
        let source = Source { name: "test".into(), stream: Box::new(stream) };
        let input = Input { files: vec!["-".into()], null: delimiter == 0, crlf: false, max_key: 1 << 20 };
        let mut reader = input.read("reading");
        reader.files = Vec::new().into_iter();
        reader.source = Some(source);
        reader
    }

    fn all(mut reader: Reader) -> Vec<Vec<u8>> {
        let mut records = Vec::new();
        while let Some(batch) = reader.next_batch().unwrap() {
            assert_eq!(batch.first, records.len() as u64 + 1);
            records.extend(batch.records().map(<[u8]>::to_vec));
        }
        records
    }

    /// Gives a few bytes at a time, as a slow pipe does.
    struct Drip(io::Cursor<Vec<u8>>, usize);

    impl Read for Drip {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = buffer.len().min(self.1);
            self.0.read(&mut buffer[..len])
        }
    }

    #[test]
    fn records_do_not_depend_on_how_the_bytes_arrive() {
        let text: Vec<u8> =
            (0..10_000u32).flat_map(|i| format!("{}\n", "x".repeat(i as usize % 7)).into_bytes()).collect();
        let mut expected: Vec<Vec<u8>> = text.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
        expected.pop();
        for step in [1, 2, 3, 1000, READ] {
            assert_eq!(all(reader_of(Drip(io::Cursor::new(text.clone()), step), b'\n')), expected, "{step}");
        }
    }

    #[test]
    fn the_last_record_needs_no_end_and_an_end_adds_none() {
        for (text, expected) in [
            (&b"a\nb"[..], vec![&b"a"[..], b"b"]),
            (b"a\nb\n", vec![b"a", b"b"]),
            (b"\n", vec![b""]),
            (b"", vec![]),
            (b"a\0b\n", vec![b"a\0b"]),
        ] {
            assert_eq!(all(reader_of(text, b'\n')), expected, "{}", text.escape_ascii());
        }
        assert_eq!(all(reader_of(&b"a\nb\0c"[..], 0)), [&b"a\nb"[..], b"c"]);
    }

    #[test]
    fn a_record_longer_than_a_read_stays_whole() {
        let long = vec![b'x'; 3 * READ + 17];
        let text = [&b"a\n"[..], &long, b"\nb"].concat();
        assert_eq!(all(reader_of(Drip(io::Cursor::new(text), 1000), b'\n')), [b"a".to_vec(), long, b"b".to_vec()]);
    }

    #[test]
    fn the_limit_is_the_same_however_the_bytes_arrive() {
        for step in [1, 7, READ] {
            for (len, fits) in [(1, true), (10, true), (11, false), (5000, false)] {
                for end in ["", "\n"] {
                    let text = format!("a\n{}{end}", "x".repeat(len)).into_bytes();
                    let mut reader = reader_of(Drip(io::Cursor::new(text), step), b'\n');
                    reader.max_key = 10;
                    let failed = loop {
                        match reader.next_batch() {
                            Ok(Some(_)) => {}
                            Ok(None) => break None,
                            Err(Failure::Message(message)) => break Some(message),
                            Err(other) => panic!("{other:?}"),
                        }
                    };
                    let told =
                        failed.is_some_and(|message| message.starts_with("test:2: the key is longer than 10 bytes"));
                    assert_eq!(told, !fits, "{len} bytes, {step} at a time, end {end:?}");
                }
            }
        }
    }

    #[test]
    fn numbers_of_bytes_have_units() {
        for (text, bytes) in [("1", 1), ("64K", 1 << 16), ("2m", 1 << 21), ("3G", 3 << 30), ("1_000", 1000)] {
            assert_eq!(parse_bytes(text), Ok(bytes));
        }
        for bad in ["", "K", "0", "-1", "1.5K", "9999999999999999999G", "64KB", "é"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_tab_belongs_to_the_key_unless_the_kind_takes_notes() {
        assert_eq!(cut(b"a\tb\tc", NoteType::None), (&b"a\tb\tc"[..], None));
        assert_eq!(cut(b"a\tb\tc", NoteType::Bytes), (&b"a"[..], Some(&b"b\tc"[..])));
        assert_eq!(cut(b"a", NoteType::Group), (&b"a"[..], None));
    }
}
