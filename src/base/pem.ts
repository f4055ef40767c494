/** One block of a PEM text (RFC 7468). */
export interface PemBlock {
  /** `CERTIFICATE` */
  readonly label: string;
  readonly der: Uint8Array;
}

const BLOCK = /-----BEGIN ([^-\n]+)-----\s([^-]+)-----END \1-----/g;
const LINE = /.{1,64}/g;

/** All blocks in order; text between them is ignored. */
export function pemBlocks(text: string): readonly PemBlock[] {
  return [...text.matchAll(BLOCK)].map(([, label = '', body = '']) => ({
    label,
    der: new Uint8Array(Buffer.from(body, 'base64')),
  }));
}

export function pemText({ label, der }: PemBlock): string {
  const lines = Buffer.from(der).toString('base64').match(LINE) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}
