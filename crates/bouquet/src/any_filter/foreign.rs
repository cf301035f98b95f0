//! Files of other programs, read and written as filters of the kinds that have their layout.

use super::AnyFilter;
use crate::error::{Error, Result};
use crate::foreign::{
    ForeignBits, Program, RedisBloom, RedisCountMin, RedisCuckoo, RedisTopK, SparkCountMin, SparkKeys,
};
use crate::hash::{Hashing, Secret};
use crate::kind::Structure;
use crate::membership::golomb::{GapCode, Golomb, GolombSettings};
use crate::shell::Choice;

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
const FORMATS: &[ForeignFormat] = &[
    ForeignFormat {
        name: "redisbloom",
        help: "a dump of RedisBloom: what BF.SCANDUMP gives, header and chunks behind each other",
        read: |bytes| AnyFilter::from_structure(RedisBloom::from_dump(bytes)?),
        write: |filter| own::<RedisBloom>(filter)?.to_dump(),
    },
    ForeignFormat {
        name: "redisbloom-cuckoo",
        help: "a dump of RedisBloom: what CF.SCANDUMP gives, header and chunks behind each other",
        read: |bytes| AnyFilter::from_structure(RedisCuckoo::from_dump(bytes)?),
        write: |filter| own::<RedisCuckoo>(filter)?.to_dump(),
    },
    ForeignFormat {
        name: "redisbloom-count-min",
        help: "RedisBloom: what DUMP gives of a key of CMS.*, and RESTORE takes",
        read: |bytes| AnyFilter::from_structure(RedisCountMin::from_dump(bytes)?),
        write: |filter| own::<RedisCountMin>(filter)?.to_dump(),
    },
    ForeignFormat {
        name: "redisbloom-top-k",
        help: "RedisBloom: what DUMP gives of a key of TOPK.*, and RESTORE takes",
        read: |bytes| AnyFilter::from_structure(RedisTopK::from_dump(bytes)?),
        write: |filter| own::<RedisTopK>(filter)?.to_dump(),
    },
    ForeignFormat {
        name: "guava",
        help: "Guava: what BloomFilter.writeTo writes, of either strategy",
        read: |bytes| AnyFilter::from_structure(ForeignBits::from_guava(bytes)?),
        write: |filter| plain(filter, &[Program::Guava, Program::Guava32]),
    },
    ForeignFormat {
        name: "spark",
        help: "Apache Spark: what BloomFilter.writeTo of its sketches writes, version 1 or 2",
        read: |bytes| AnyFilter::from_structure(ForeignBits::from_spark(bytes)?),
        write: |filter| plain(filter, &[Program::Spark, Program::Spark1]),
    },
    ForeignFormat {
        name: "spark-count-min",
        help: "Apache Spark: what CountMinSketch.writeTo writes, of text",
        read: |bytes| AnyFilter::from_structure(SparkCountMin::from_spark(bytes, SparkKeys::Text)?),
        write: |filter| own::<SparkCountMin>(filter)?.to_spark(),
    },
    ForeignFormat {
        name: "spark-count-min-numbers",
        help: "Apache Spark: what CountMinSketch.writeTo writes, of an integer column",
        read: |bytes| AnyFilter::from_structure(SparkCountMin::from_spark(bytes, SparkKeys::Numbers)?),
        write: |filter| own::<SparkCountMin>(filter)?.to_spark(),
    },
    ForeignFormat {
        name: "hadoop",
        help: "Apache Hadoop: what BloomFilter.write of util.bloom writes, with either hash function",
        read: |bytes| AnyFilter::from_structure(ForeignBits::from_hadoop(bytes)?),
        write: |filter| plain(filter, &[Program::Hadoop, Program::HadoopJenkins]),
    },
    ForeignFormat {
        name: "go",
        help: "bits-and-blooms of Go: what WriteTo writes",
        read: |bytes| AnyFilter::from_structure(ForeignBits::from_go(bytes)?),
        write: |filter| plain(filter, &[Program::Go]),
    },
    ForeignFormat {
        name: "pyprobables",
        help: "pyprobables of Python: what BloomFilter.export writes",
        read: |bytes| AnyFilter::from_structure(ForeignBits::from_pyprobables(bytes)?),
        write: |filter| plain(filter, &[Program::Pyprobables]),
    },
    ForeignFormat {
        name: "datasketches",
        help: "Apache DataSketches: what toByteArray of its BloomFilter gives",
        read: |bytes| AnyFilter::from_structure(ForeignBits::from_datasketches(bytes)?),
        write: |filter| plain(filter, &[Program::Datasketches]),
    },
    ForeignFormat {
        name: "bip37",
        help: "Bitcoin: the body of a filterload message, BIP 37",
        read: |bytes| AnyFilter::from_structure(ForeignBits::from_bip37(bytes)?),
        write: |filter| plain(filter, &[Program::Bip37]),
    },
    ForeignFormat {
        name: BIP158,
        help: "Bitcoin: a block filter, BIP 158; its secret is the first 16 bytes of the block's hash",
        read: |bytes| read_block_filter(bytes, &Hashing::default()),
        write: |filter| {
            let own = own::<Golomb>(filter)?;
            match own.settings().code {
                Some(GapCode::Bip158) => own.to_message(),
                code => Err(Error::parameter("code", "bip158", code.map_or("another", Choice::word))),
            }
        },
    },
    ForeignFormat {
        name: "squid",
        help: "Squid: a cache digest with its header; keys are URLs that are fetched with GET",
        read: |bytes| AnyFilter::from_structure(ForeignBits::from_squid(bytes)?),
        write: |filter| plain(filter, &[Program::Squid]),
    },
    ForeignFormat {
        name: "rbloom",
        help: "rbloom of Python: what save writes, of a filter whose hash is the first half of SHA-256",
        read: |bytes| AnyFilter::from_structure(ForeignBits::from_rbloom(bytes)?),
        write: |filter| plain(filter, &[Program::Rbloom]),
    },
    ForeignFormat {
        name: "pybloom-live",
        help: "pybloom-live of Python: what BloomFilter.tofile writes",
        read: |bytes| AnyFilter::from_structure(ForeignBits::from_pybloom_live(bytes)?),
        write: |filter| plain(filter, &[Program::PybloomLive]),
    },
    ForeignFormat {
        name: "pybloomfiltermmap",
        help: "pybloomfiltermmap3 of Python: its mapped file",
        read: |bytes| AnyFilter::from_structure(ForeignBits::from_pybloomfiltermmap(bytes)?),
        write: |filter| plain(filter, &[Program::Pybloomfiltermmap]),
    },
];

const BIP158: &str = "bip158";

fn read_block_filter(bytes: &[u8], hashing: &Hashing) -> Result<AnyFilter> {
    let settings = GolombSettings { code: Some(GapCode::Bip158), ..GolombSettings::default() };
    AnyFilter::from_structure(Golomb::from_message(bytes, &settings, hashing)?)
}

/// The file of a plain filter that is of one of these programs.
fn plain(filter: &AnyFilter, programs: &[Program]) -> Result<Vec<u8>> {
    let own = own::<ForeignBits>(filter)?;
    if programs.contains(&own.program()) {
        return own.to_foreign();
    }
    let expected: Vec<_> = programs.iter().map(|program| program.word()).collect();
    Err(Error::parameter("program", expected.join(" or "), own.program().word()))
}

/// The filter as one of the format's kind.
fn own<T: Structure>(filter: &AnyFilter) -> Result<&T> {
    filter.downcast_ref::<T>().ok_or_else(|| {
        let holds = format!("one of kind `{}`; this one holds `{}`", filter.kind().facts().id, T::FACTS.id);
        Error::parameter("format", holds, "another")
    })
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

    /// The filter in a file of a format whose keys are hashed under a secret, as `bip158`.
    ///
    /// ```
    /// use bouquet::{AnyFilter, ForeignFormat, Golomb, GolombSettings, hash::{Hashing, Secret}, membership::golomb::GapCode};
    /// let (format, block) = (ForeignFormat::find("bip158")?, Secret::new(&[7; 16])?);
    /// let settings = GolombSettings { code: Some(GapCode::Bip158), ..Default::default() };
    /// let filter = Golomb::from_keys(&settings, &Hashing::keyed(block.clone()), ["rose"])?;
    /// let bytes = format.write(&AnyFilter::from_structure(filter)?)?;
    /// assert!(format.read_keyed(&bytes, block.clone())?.contains()?.contains(b"rose"));
    /// assert!(ForeignFormat::find("guava")?.read_keyed(&bytes, block).is_err(), "it has no secret");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn read_keyed(&self, bytes: &[u8], secret: Secret) -> Result<AnyFilter> {
        if self.name != BIP158 {
            return Err(Error::parameter("secret", format!("left out: format `{}` has none", self.name), "a secret"));
        }
        read_block_filter(bytes, &Hashing::keyed(secret))
    }

    /// The file of a filter, if the format can hold it.
    pub fn write(&self, filter: &AnyFilter) -> Result<Vec<u8>> {
        filter.check_unread()?;
        (self.write)(filter)
    }
}
