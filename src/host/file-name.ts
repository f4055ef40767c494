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

function escaped(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.byteLength; ) {
    const character = characterAt(bytes, at);
    text += character?.text ?? String.fromCharCode(ESCAPE + (bytes[at] ?? 0));
    at += character?.length ?? 1;
  }
  return text;
}

function characterAt(bytes: Uint8Array, at: number): { readonly text: string; readonly length: number } | undefined {
  const lead = bytes[at] ?? 0;
  const length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (at + length > bytes.byteLength) return undefined;
  try {
    return { text: STRICT.decode(bytes.subarray(at, at + length)), length };
  } catch {
    return undefined;
  }
}
