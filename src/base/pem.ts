/** One block of a PEM text (RFC 7468). */
export interface PemBlock {
  /** `CERTIFICATE` */
  readonly label: string;
  readonly der: Uint8Array;
}

/** Header lines have a colon, and may have dashes, unlike the rest. Linear: no header line begins a block. */
const BLOCK = /^-----BEGIN ([^-\n]+)-----(?:\r\n|\s)((?:(?!-----)[^\n:]*:[^\n]*\n)*)([^-:]+)-----END \1-----/gm;
const LINE = /.{1,64}/g;

/** All blocks in order, without their headers; text between them is ignored. */
export function pemBlocks(text: string): readonly PemBlock[] {
  return [...text.matchAll(BLOCK)].map(([, label = '', , body = '']) => ({
    label,
    der: new Uint8Array(Buffer.from(body, 'base64')),
  }));
}

export function pemText({ label, der }: PemBlock): string {
  const lines = Buffer.from(der).toString('base64').match(LINE) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}
