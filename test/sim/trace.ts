import { createHash } from 'node:crypto';

/** The log of a world, line by line. Two runs of one world have the same hash. */
export class Trace {
  readonly lines: string[] = [];

  add(ms: number, line: string): void {
    this.lines.push(`${(ms / 1000).toFixed(3).padStart(9)} ${line}`);
  }

  get hash(): string {
    return createHash('sha256').update(this.lines.join('\n')).digest('hex').slice(0, 16);
  }
}
