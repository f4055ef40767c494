const STRICT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const ESCAPE = 0xdc00;

/**
 * The text of a file's name or path, which are bytes. One that belongs to no UTF-8 character stands as the lone surrogate
 * U+DC00 + byte, as Python does it: so that no name is lost, and none becomes another.
 */
export function fileNameOf(bytes: Uint8Array): string {
  try {
    return STRICT.decode(bytes);
  } catch {
    return escaped(bytes);
  }
}

/** The bytes of a name that `fileNameOf` told; a plain one as it is, for everybody knows how to write it. */
export function bytesOfFileName(name: string): string | Buffer {
  if (name.isWellFormed()) return name;
  const parts = name.split(/([\udc80-\udcff])/u);
  return Buffer.concat(parts.map((part, index) => (index % 2 === 0 ? Buffer.from(part) : escapedByte(part))));
}

/** The order of their bytes. */
export function byFileName(a: string, b: string): number {
  return Buffer.compare(Buffer.from(bytesOfFileName(a)), Buffer.from(bytesOfFileName(b)));
}

/** How long it is on the disk. */
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
