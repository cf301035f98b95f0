//! Files of other programs, read and written as filters of the kinds that have their layout.

use super::AnyFilter;
use crate::error::{Error, Result};
use crate::foreign::RedisBloom;

/// How another program lays a filter out in a file.
pub struct ForeignFormat {
    /// Its name.
    pub name: &'static str,
    /// Whose it is, and what the file holds.
    pub help: &'static str,
    read: fn(&[u8]) -> Result<AnyFilter>,
    write: fn(&AnyFilter) -> Result<Vec<u8>>,
}

/// Every format of others.
const FORMATS: &[ForeignFormat] = &[ForeignFormat {
    name: "redisbloom",
    help: "a dump of RedisBloom: what BF.SCANDUMP gives, header and chunks behind each other",
    read: |bytes| AnyFilter::from_structure(RedisBloom::from_dump(bytes)?),
    write: |filter| {
        let own = filter.downcast_ref::<RedisBloom>();
        own.ok_or_else(|| other_kind(filter, "redis-bloom"))?.to_dump()
    },
}];

fn other_kind(filter: &AnyFilter, wanted: &str) -> Error {
    Error::parameter(
        "format",
        format!("one of kind `{}`; this one holds `{wanted}`", filter.kind().facts().id),
        "another",
    )
}

impl ForeignFormat {
    /// The formats of others.
    ///
    /// ```
    /// use bouquet::ForeignFormat;
    /// assert!(ForeignFormat::all().iter().any(|format| format.name == "redisbloom"));
    /// ```
    #[must_use]
    pub fn all() -> &'static [ForeignFormat] {
        FORMATS
    }

    /// The format of this name; the error names those that there are.
    ///
    /// ```
    /// use bouquet::ForeignFormat;
    /// assert!(ForeignFormat::find("redisbloom").is_ok());
    /// assert!(ForeignFormat::find("petals").err().unwrap().to_string().contains("redisbloom"));
    /// ```
    pub fn find(name: &str) -> Result<&'static ForeignFormat> {
        let names: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
        FORMATS
            .iter()
            .find(|format| format.name == name)
            .ok_or_else(|| Error::parameter("format", format!("one of {}", names.join(", ")), name))
    }

    /// The filter in a file of this format.
    ///
    /// ```
    /// use bouquet::{AnyFilter, ForeignFormat, foreign::RedisBloom};
    /// let format = ForeignFormat::find("redisbloom")?;
    /// let mut flowers = RedisBloom::with_rate(100, 0.01)?;
    /// flowers.insert("rose")?;
    /// let dump = format.write(&AnyFilter::from_structure(flowers)?)?;
    /// assert!(format.read(&dump)?.contains()?.contains(b"rose"));
    /// assert!(format.read(b"no dump").is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn read(&self, bytes: &[u8]) -> Result<AnyFilter> {
        (self.read)(bytes)
    }

    /// The file of a filter, if the format can hold it.
    pub fn write(&self, filter: &AnyFilter) -> Result<Vec<u8>> {
        filter.check_unread()?;
        (self.write)(filter)
    }
}
