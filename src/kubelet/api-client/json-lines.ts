import { decodeChunks } from '../../base/byte-chunks.ts';

const NEWLINE = 0x0a;

/** The complete lines of a chunked stream. Text after the last newline was cut off and is dropped. */
export async function* wholeLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  let pending: Uint8Array[] = [];
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const line = decodeChunks([...pending, chunk.subarray(start, end)]);
      pending = [];
      start = end + 1;
      if (line !== '') yield line;
    }
    if (start < chunk.length) pending.push(chunk.subarray(start));
  }
}
