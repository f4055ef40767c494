/** A certificate with those that lead to its authority, and its key, both in PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** What the agent's own server shows to its clients. */
export interface ServingCertificate {
  /** Nothing as long as there is none: nobody can be served. */
  current(): KeyPair | undefined;
  /** Calls the listener after each change, until what it returns is called. */
  subscribe(listener: () => void): () => void;
}
