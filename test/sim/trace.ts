import { createHash } from 'node:crypto';
import type { Log } from '../../src/base/log.ts';
import type { Effect } from '../../src/cri/fake/effects.ts';

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

/** The log of an agent process, without its debug lines. */
export function notedLog(note: (line: string) => void): Log {
  const write = (message: string, fields: Readonly<Record<string, unknown>> = {}): void => {
    const error = fields['error'] === undefined ? '' : `: ${fields['error']}`;
    note(`log: ${message} ${fields['pod'] ?? ''}${error}`);
  };
  return { debug() {}, info: write, warn: write, error: write };
}

export function effectLine(effect: Effect): string {
  const { config, id } = 'sandbox' in effect ? effect.sandbox : effect.container;
  const uid = config.labels['io.kubernetes.pod.uid'];
  const name =
    'sandbox' in effect ? '' : `/${config.metadata && 'name' in config.metadata ? config.metadata.name : ''}`;
  const extra = effect.kind === 'terminating' ? ` ${effect.graceSeconds} s` : '';
  const end =
    'container' in effect && effect.container.state.phase === 'exited' ? ` ${effect.container.state.exitCode}` : '';
  return `  ${uid}${name} ${id.slice(0, 6)} ${effect.kind}${extra}${end}`;
}
