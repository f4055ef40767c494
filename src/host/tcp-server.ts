/** A listen address; `0.0.0.0` means every address, IPv6 included, as in Go. Port 0 means a free port. */
export interface TcpAddress {
  readonly host: string;
  readonly port: number;
}

export interface TcpServer {
  readonly port: number;
  /** Closes open connections at once. */
  close(): Promise<void>;
}
