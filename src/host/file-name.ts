const STRICT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const ESCAPE = 0xdc00;

/**
 * Decodes a file name or path from bytes. A byte that is not valid UTF-8 becomes the lone surrogate U+DC00 + byte, like
 * Python's `surrogateescape`, so that every name can be encoded again and no two names become the same.
 */
export function fileNameOf(bytes: Uint8Array): string {
  try {
    return STRICT.decode(bytes);
  } catch {
    return escaped(bytes);
  }
}

/** The inverse of `fileNameOf`; a name that is valid UTF-8 is returned as the string it is. */
export function bytesOfFileName(name: string): string | Buffer {
  if (name.isWellFormed()) return name;
  const parts = name.split(/([\udc80-\udcff])/u);
  return Buffer.concat(parts.map((part, index) => (index % 2 === 0 ? Buffer.from(part) : escapedByte(part))));
}

/** Compares by bytes. */
export function compareFileNames(a: string, b: string): number {
  return Buffer.compare(Buffer.from(bytesOfFileName(a)), Buffer.from(bytesOfFileName(b)));
}

/** The length in bytes. */
export function fileNameLength(name: string): number {
  return Buffer.byteLength(bytesOfFileName(name));
}

function escapedByte(part: string): Buffer {
  return Buffer.of(part.charCodeAt(0) - ESCAPE);
}

/** Without exceptions, which take a thousand times longer: a layer may hold names of a megabyte. */
function escaped(bytes: Uint8Array): string {
  const parts: string[] = [];
  let start = 0; // of the bytes that are valid up to `at`
  for (let at = 0; at < bytes.byteLength; ) {
    const length = characterLength(bytes, at);
    if (length > 0) {
      at += length;
      continue;
    }
    if (at > start) parts.push(STRICT.decode(bytes.subarray(start, at)));
    parts.push(String.fromCharCode(ESCAPE + (bytes[at] ?? 0)));
    start = ++at;
  }
  parts.push(STRICT.decode(bytes.subarray(start)));
  return parts.join('');
}

/** The length of the UTF-8 character at an offset; 0: there is no valid one (The Unicode Standard, table 3-7). */
function characterLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0;
  if (lead < 0x80) return 1;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  // The second byte excludes overlong forms, surrogates, and numbers above U+10FFFF.
  const second = bytes[at + 1] ?? 0;
  const least = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const most = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  if (second < least || second > most) return 0;
  for (let index = 2; index < length; index++) {
    if (((bytes[at + index] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return length;
}
