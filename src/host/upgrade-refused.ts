import { NetworkError } from './network.ts';

/** A server does not make of a connection what it was asked for; the text has its words. */
export class UpgradeRefused extends NetworkError {
  readonly status: number;
  /** What the server says of it, or the beginning of that. */
  readonly words: string;

  constructor(status: number, words: string) {
    super('EPROTO', `unexpected answer ${status}: ${words}`);
    this.status = status;
    this.words = words;
  }
}
