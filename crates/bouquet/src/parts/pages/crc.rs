//! CRC-32C (Castagnoli), the checksum of pages and logs: every error of up to 32 bits in a row is noticed, and in a page of 4 KiB
//! every one of up to five single bits.

/// The polynomial 0x1EDC6F41, lowest power first.
const POLYNOMIAL: u32 = 0x82F6_3B78;

/// Bytes per step.
const STEP: usize = 16;

/// `TABLES[j][b]` is the remainder of byte b followed by j zero bytes.
static TABLES: [[u32; 256]; STEP] = {
    let mut tables = [[0; 256]; STEP];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            remainder = if remainder & 1 == 1 { remainder >> 1 ^ POLYNOMIAL } else { remainder >> 1 };
            bit += 1;
        }
        tables[0][byte] = remainder;
        byte += 1;
    }
    let mut zeros = 1;
    while zeros < STEP {
        let mut byte = 0;
        while byte < 256 {
            let before: u32 = tables[zeros - 1][byte];
            tables[zeros][byte] = before >> 8 ^ tables[0][(before & 0xFF) as usize];
            byte += 1;
        }
        zeros += 1;
    }
    tables
};

/// The checksum of what has the checksum `before`, followed by `bytes`; that of nothing is 0.
pub(crate) fn crc32c(before: u32, bytes: &[u8]) -> u32 {
    let mut remainder = !before;
    let mut steps = bytes.chunks_exact(STEP);
    for step in &mut steps {
        let mut next = 0;
        for (at, &byte) in step.iter().enumerate() {
            let byte = if at < 4 { byte ^ (remainder >> (8 * at)) as u8 } else { byte };
            next ^= TABLES[STEP - 1 - at][usize::from(byte)];
        }
        remainder = next;
    }
    for &byte in steps.remainder() {
        remainder = remainder >> 8 ^ TABLES[0][usize::from(remainder as u8 ^ byte)];
    }
    !remainder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_check_values_come_out() {
        assert_eq!(crc32c(0, b"123456789"), 0xE306_9283);
        // RFC 3720, B.4.
        assert_eq!(crc32c(0, &[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(0, &[0xFF; 32]), 0x62A8_AB43);
        assert_eq!(crc32c(0, &(0..32).collect::<Vec<u8>>()), 0x46DD_794E);
    }

    #[test]
    fn parts_give_the_checksum_of_the_whole() {
        let bytes: Vec<u8> = (0..200).map(|i| (i * 7) as u8).collect();
        for cut in 0..bytes.len() {
            assert_eq!(crc32c(crc32c(0, &bytes[..cut]), &bytes[cut..]), crc32c(0, &bytes), "cut at {cut}");
        }
    }
}
