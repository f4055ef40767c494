import { NetworkError } from './network.ts';

/** A server has rejected an upgrade; the message has the text of its response. */
export class UpgradeRejectedError extends NetworkError {
  readonly status: number;
  /** The body of the response, or its beginning. */
  readonly bodyText: string;
  /** Of the response; lower-case names. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, bodyText: string, headers: Readonly<Record<string, string>> = {}) {
    super('EPROTO', `unexpected response ${status}: ${bodyText.trim()}`);
    this.status = status;
    this.bodyText = bodyText;
    this.headers = headers;
  }
}
