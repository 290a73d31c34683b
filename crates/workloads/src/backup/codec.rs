use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::time::Duration;

use super::sink::Rate;
use load::error::{Failure, FailureKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    None,
    /// Deflate, RFC 1952.
    Gzip,
    Lz4,
    Zstd,
    /// Implemented by SQL Server only.
    MsXpress,
    /// Intel QuickAssist; implemented by SQL Server only.
    QatDeflate,
}

/// Name, file extension, default level and highest level.
const CODECS: [(Codec, &str, &str, u32, u32); 6] = [
    (Codec::None, "none", "", 0, 0),
    (Codec::Gzip, "gzip", ".gz", 6, 9),
    (Codec::Lz4, "lz4", ".lz4", 1, 12),
    (Codec::Zstd, "zstd", ".zst", 3, 22),
    (Codec::MsXpress, "ms_xpress", "", 0, 0),
    (Codec::QatDeflate, "qat_deflate", "", 0, 0),
];

/// The names of all codecs.
pub const NAMES: [&str; 6] = ["none", "gzip", "lz4", "zstd", "ms_xpress", "qat_deflate"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    pub codec: Codec,
    pub level: u32,
    /// Compression threads besides the feeding one. Zstandard only.
    pub workers: u32,
}

impl Compression {
    pub const NONE: Compression = Compression { codec: Codec::None, level: 0, workers: 0 };

    /// Checks a plan's codec, level and workers, and makes the compression; level 0 is the codec's default.
    pub fn new(name: &str, level: u32, workers: u32) -> Result<Compression, Failure> {
        let found = CODECS.iter().find(|(_, known, ..)| *known == name);
        let Some(&(codec, name, _, usual, highest)) = found else {
            return refuse_codec(format!("compress with `{name}`"), "there is no such codec".to_owned());
        };
        // Sweeps over codecs pass level and workers, which mean nothing here.
        if codec == Codec::None {
            return Ok(Compression::NONE);
        }
        if level > 0 && highest == 0 {
            let cause = format!("{name} has no levels; 0 is how it works");
            return refuse_codec(format!("compress with {name} at level {level}"), cause);
        }
        if level > highest {
            let cause = format!("{name} has levels from 1 to {highest}, and 0 for its usual one, {usual}");
            return refuse_codec(format!("compress with {name} at level {level}"), cause);
        }
        if workers > 0 && codec != Codec::Zstd {
            let cause = "only zstd has them; the others compress in one thread".to_owned();
            return refuse_codec(format!("compress with {name} by {workers} workers"), cause);
        }
        Ok(Compression { codec, level: if level == 0 { usual } else { level }, workers })
    }

    /// Whether étalon itself can compress so, not only servers.
    pub fn is_built_in(self) -> bool {
        !matches!(self.codec, Codec::MsXpress | Codec::QatDeflate)
    }

    /// Makes the error that only servers have this codec.
    fn unsupported_here(self) -> io::Error {
        io::Error::new(io::ErrorKind::Unsupported, format!("étalon has no {}: it is a server's own", self.name()))
    }

    /// Name of the codec, as plans write it.
    pub fn name(self) -> &'static str {
        self.codec_entry().1
    }

    /// File extension of the codec, with its dot; empty without compression.
    pub fn file_extension(self) -> &'static str {
        self.codec_entry().2
    }

    /// The bytes that a file of this codec begins with; `None` if it has none, or étalon does not know it.
    ///
    /// RFC 1952, 2.3.1; LZ4's frame format; RFC 8878, 3.1.1.
    pub fn magic_bytes(self) -> Option<&'static [u8]> {
        match self.codec {
            Codec::Gzip => Some(&[0x1f, 0x8b]),
            Codec::Lz4 => Some(&[0x04, 0x22, 0x4d, 0x18]),
            Codec::Zstd => Some(&[0x28, 0xb5, 0x2f, 0xfd]),
            Codec::None | Codec::MsXpress | Codec::QatDeflate => None,
        }
    }

    /// The codec's row in the table of codecs.
    fn codec_entry(self) -> (Codec, &'static str, &'static str, u32, u32) {
        CODECS.iter().find(|entry| entry.0 == self.codec).copied().unwrap_or(CODECS[0])
    }
}

/// Makes the plan failure of a compression that does not exist, as a result.
fn refuse_codec(what: String, cause: String) -> Result<Compression, Failure> {
    Err(Failure::new(FailureKind::Plan, what, cause))
}

pub enum Encoder<W: Write> {
    None(W),
    Gzip(flate2::write::GzEncoder<W>),
    Lz4(lz4::Encoder<W>),
    Zstd(zstd::stream::write::Encoder<'static, W>),
}

impl<W: Write> Encoder<W> {
    /// Makes a writer that compresses into another one.
    pub fn new(compression: Compression, into: W) -> io::Result<Encoder<W>> {
        let Compression { codec, level, workers } = compression;
        Ok(match codec {
            Codec::None => Encoder::None(into),
            Codec::Gzip => Encoder::Gzip(flate2::write::GzEncoder::new(into, flate2::Compression::new(level))),
            Codec::Lz4 => Encoder::Lz4(lz4::EncoderBuilder::new().level(level).build(into)?),
            Codec::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(into, level as i32)?;
                encoder.include_checksum(true)?;
                if workers > 0 {
                    encoder.multithread(workers)?;
                }
                Encoder::Zstd(encoder)
            }
            Codec::MsXpress | Codec::QatDeflate => return Err(compression.unsupported_here()),
        })
    }

    /// Ends the compressed stream, and returns the inner writer.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Encoder::None(into) => Ok(into),
            Encoder::Gzip(encoder) => encoder.finish(),
            Encoder::Lz4(encoder) => {
                let (into, ended) = encoder.finish();
                ended.map(|()| into)
            }
            Encoder::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Encoder::None(into) => into.write(bytes),
            Encoder::Gzip(encoder) => encoder.write(bytes),
            Encoder::Lz4(encoder) => encoder.write(bytes),
            Encoder::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Encoder::None(into) => into.flush(),
            Encoder::Gzip(encoder) => encoder.flush(),
            Encoder::Lz4(encoder) => encoder.flush(),
            Encoder::Zstd(encoder) => encoder.flush(),
        }
    }
}

/// Decompresses a file, and measures the CPU time.
pub struct Decoder {
    inner: Box<dyn Read + Send>,
    compression: Compression,
    pub bytes: u64,
    /// The CPU time of reading and decompressing; zero without a codec.
    pub cpu: Duration,
    rate: Option<Rate>,
}

impl Decoder {
    /// Opens a reader that decompresses a file.
    pub fn new(compression: Compression, file: File) -> io::Result<Decoder> {
        let file = BufReader::with_capacity(1 << 18, file);
        let inner: Box<dyn Read + Send> = match compression.codec {
            Codec::None => Box::new(file),
            // A server with several workers writes several members.
            Codec::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
            Codec::Lz4 => Box::new(lz4::Decoder::new(file)?),
            Codec::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(file)?),
            Codec::MsXpress | Codec::QatDeflate => return Err(compression.unsupported_here()),
        };
        Ok(Decoder { inner, compression, bytes: 0, cpu: Duration::ZERO, rate: None })
    }

    /// Limits how fast the decoder gives bytes, in bytes a second; `None` is no limit.
    #[must_use]
    pub fn at_most(mut self, bytes_s: Option<u64>) -> Decoder {
        self.rate = bytes_s.map(Rate::new);
        self
    }
}

impl Read for Decoder {
    /// Reads decompressed bytes, counts them and their CPU time, and waits for the rate limit.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let before = (self.compression.codec != Codec::None).then(host::cpu::thread_cpu);
        let read = self.inner.read(into)?;
        if let Some(Ok(before)) = before {
            self.cpu += host::cpu::thread_cpu().unwrap_or(before).saturating_sub(before);
        }
        self.bytes += read as u64;
        if let Some(rate) = &mut self.rate {
            rate.wait_for(read as u64);
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(compression: Compression, bytes: &[u8]) -> u64 {
        let mut file = tempfile::tempfile().unwrap();
        let mut encoder = Encoder::new(compression, file.try_clone().unwrap()).unwrap();
        bytes.chunks(7_777).for_each(|chunk| encoder.write_all(chunk).unwrap());
        encoder.finish().unwrap();
        let length = file.metadata().unwrap().len();
        io::Seek::rewind(&mut file).unwrap();
        let mut read = Vec::new();
        Decoder::new(compression, file).unwrap().read_to_end(&mut read).unwrap();
        assert!(read == bytes, "{compression:?}");
        length
    }

    #[test]
    fn every_codec_gives_back_what_it_was_given() {
        let bytes: Vec<u8> = (0..300_000u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        let plain = there_and_back(Compression::NONE, &bytes);
        for (name, level, workers) in
            [("gzip", 0, 0), ("gzip", 9, 0), ("lz4", 0, 0), ("lz4", 9, 0), ("zstd", 0, 0), ("zstd", 9, 2)]
        {
            let compressed = there_and_back(Compression::new(name, level, workers).unwrap(), &bytes);
            assert!(compressed < plain / 2, "{name}: {compressed} of {plain}");
            there_and_back(Compression::new(name, level, workers).unwrap(), &[]);
        }
    }

    #[test]
    fn levels_and_workers_that_do_not_exist_are_refused() {
        assert_eq!(Compression::new("zstd", 0, 0).unwrap().level, 3);
        assert_eq!(Compression::new("none", 7, 3).unwrap(), Compression::NONE);
        assert!(refused("gzip", 10, 0).contains("1 to 9"));
        assert!(refused("lz4", 0, 2).contains("only zstd"));
        assert!(refused("brotli", 0, 0).contains("no such codec"));
        assert!(refused("ms_xpress", 3, 0).contains("has no levels"));
        let own = Compression::new("ms_xpress", 0, 0).unwrap();
        assert!(!own.is_built_in() && Encoder::new(own, Vec::new()).is_err());
    }

    fn refused(name: &str, level: u32, workers: u32) -> String {
        Compression::new(name, level, workers).unwrap_err().to_string()
    }
}
