import { NetworkError } from './network.ts';

/** A server does not make of a connection what it was asked for; the text has its words. */
export class UpgradeRefused extends NetworkError {
  readonly status: number;
  /** What the server says of it, or the beginning of that. */
  readonly words: string;
  /** Of its answer; lower-case names. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, words: string, headers: Readonly<Record<string, string>> = {}) {
    super('EPROTO', `unexpected answer ${status}: ${words.trim()}`);
    this.status = status;
    this.words = words;
    this.headers = headers;
  }
}
