/** What this machine is called and has. Read once, at the start. */
export interface MachineFacts {
  readonly hostname: string;
  readonly memoryBytes: number;
  /** Of interfaces that are up, loopback left out; the one behind the default route first. */
  readonly addresses: readonly string[];
}
