/**
 * A frame is a sequence of records, compressed with zstd. Each begins with its kind; numbers are big-endian.
 * `raw`: a length of 4 bytes, and bytes of the archive.
 * `content`, `moreContent`: archive bytes that a file contains: an offset and a length of 6 bytes each, the length of
 * the path in 2 bytes, the path. `content` begins a member; `moreContent` continues it and has no path.
 */
export const RECORD = { raw: 0, content: 1, moreContent: 2 } as const;

export const RAW_HEADER_BYTES = 1 + 4;
export const NUMBER_BYTES = 6;
export const CONTENT_HEADER_BYTES = 1 + 2 * NUMBER_BYTES + 2;
