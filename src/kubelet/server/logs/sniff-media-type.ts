import { Buffer } from 'node:buffer';

/** So many bytes of a file decide. */
export const SNIFFED_BYTES = 512;

const HTML_TAGS = '!DOCTYPE HTML,HTML,HEAD,SCRIPT,IFRAME,H1,DIV,FONT,TABLE,A,STYLE,TITLE,B,BODY,BR,P,!--'.split(',');
const HTML = new RegExp(`^<(?:${HTML_TAGS.join('|')})[ >]`, 'i');
const TEXT = 'text/plain; charset=utf-8';

/** Signatures of hexadecimal digits, `..` for any byte, in the order of the MIME Sniffing Standard. */
const SIGNATURES: readonly (readonly [signature: RegExp, type: string])[] = [
  [/^255044462d/, 'application/pdf'],
  [/^252150532d41646f62652d/, 'application/postscript'],
  [/^feff..../, 'text/plain; charset=utf-16be'],
  [/^fffe..../, 'text/plain; charset=utf-16le'],
  [/^efbbbf../, TEXT],
  [/^00000[12]00/, 'image/x-icon'],
  [/^424d/, 'image/bmp'],
  [/^474946383[79]61/, 'image/gif'],
  [/^52494646.{8}574542505650/, 'image/webp'],
  [/^89504e470d0a1a0a/, 'image/png'],
  [/^ffd8ff/, 'image/jpeg'],
  [/^464f524d.{8}41494646/, 'audio/aiff'],
  [/^494433/, 'audio/mpeg'],
  [/^4f67675300/, 'application/ogg'],
  [/^4d54686400000006/, 'audio/midi'],
  [/^52494646.{8}41564920/, 'video/avi'],
  [/^52494646.{8}57415645/, 'audio/wave'],
  [/^.{8}667479706d7034/, 'video/mp4'],
  [/^1a45dfa3/, 'video/webm'],
  [/^.{68}4c50/, 'application/vnd.ms-fontobject'],
  [/^00010000/, 'font/ttf'],
  [/^4f54544f/, 'font/otf'],
  [/^74746366/, 'font/collection'],
  [/^774f4646/, 'font/woff'],
  [/^774f4632/, 'font/woff2'],
  [/^1f8b08/, 'application/x-gzip'],
  [/^504b0304/, 'application/zip'],
  [/^526172211a07(?:01)?00/, 'application/x-rar-compressed'],
  [/^0061736d/, 'application/wasm'],
];

/** The media type of the first bytes of a file, as Go's `DetectContentType` finds it. */
export function sniffMediaType(start: Uint8Array): string {
  const bytes = Buffer.from(start.subarray(0, SNIFFED_BYTES)).toString('latin1');
  const trimmed = bytes.replace(/^[\t\n\f\r ]+/, '');
  if (HTML.test(trimmed)) return 'text/html; charset=utf-8';
  if (trimmed.startsWith('<?xml')) return 'text/xml; charset=utf-8';
  const digits = Buffer.from(bytes, 'latin1').toString('hex');
  const found = SIGNATURES.find(([signature]) => signature.test(digits));
  if (found) return found[1];
  return Buffer.from(trimmed, 'latin1').some(isBinary) ? 'application/octet-stream' : TEXT;
}

function isBinary(byte: number): boolean {
  return byte < 0x20 && ![0x09, 0x0a, 0x0c, 0x0d, 0x1b].includes(byte);
}
