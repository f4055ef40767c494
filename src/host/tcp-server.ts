/** Where others on the network reach us; `0.0.0.0` is every address, of IPv6 too, as in Go. Port 0 is a free one. */
export interface TcpAddress {
  readonly host: string;
  readonly port: number;
}

export interface TcpServer {
  readonly port: number;
  /** Ends open connections; waits for nothing. */
  close(): Promise<void>;
}
