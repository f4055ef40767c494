/** A certificate chain and its key in PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** The certificate of the agent's HTTPS server. */
export interface ServingCertificate {
  /** `undefined` while there is no certificate: connections are rejected. */
  current(): KeyPair | undefined;
  /** Calls the listener after each change. Returns the function that ends the subscription. */
  subscribe(listener: () => void): () => void;
}
