/** The name and capacity of this machine. Read once, at start-up. */
export interface MachineFacts {
  readonly hostname: string;
  readonly memoryBytes: number;
  /** The addresses of interfaces that are up, without loopback; the one of the default route first. */
  readonly addresses: readonly string[];
}
