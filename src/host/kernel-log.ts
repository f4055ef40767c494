/** The log of the kernel. */
export interface KernelLog {
  /**
   * New records from now on, until the signal aborts. A reader that is too slow misses records. Rejects where the log cannot be
   * read: in a container, without the privilege.
   */
  records(signal: AbortSignal): AsyncIterable<KernelRecord>;
}

export interface KernelRecord {
  /** 0: written by the kernel itself; see syslog(3). */
  readonly facility: number;
  readonly message: string;
}

/** Parses a record of /dev/kmsg, without the lines that follow with further values; `undefined`: it is not one. */
export function parseKernelRecord(line: string): KernelRecord | undefined {
  const [, priority, message] = /^(\d+),[^;]*;(.*)$/.exec(line) ?? [];
  if (priority === undefined || message === undefined) return undefined;
  return { facility: Number(priority) >> 3, message: unescaped(message) };
}

/** The kernel escapes control characters and each byte of other characters than ASCII: `\xc3\xa4`. */
function unescaped(message: string): string {
  return message.replace(/(?:\\x[0-9a-f]{2})+/g, (codes) => Buffer.from(codes.replaceAll('\\x', ''), 'hex').toString());
}
