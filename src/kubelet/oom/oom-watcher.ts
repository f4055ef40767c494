import type { Log } from '../../base/log.ts';
import type { KernelLog } from '../../host/kernel-log.ts';
import type { NodeEvents } from '../node/node-event.ts';
import { type OomKill, OomParser } from './oom-parser.ts';

const KERNEL = 0;

export interface OomWatcherDeps {
  readonly kernelLog: KernelLog;
  readonly events: NodeEvents;
  readonly log: Log;
}

/**
 * Records an event of the node for each process that the kernel killed because the memory of the machine ran out. A container
 * that reaches its own limit is in the status of its pod.
 */
export async function watchOomKills({ kernelLog, events, log }: OomWatcherDeps, signal: AbortSignal): Promise<void> {
  const parser = new OomParser();
  try {
    for await (const { facility, message } of kernelLog.records(signal)) {
      const kill = facility === KERNEL ? parser.next(message) : undefined;
      if (kill?.cgroup === '/') events.record('Warning', 'SystemOOM', systemOomText(kill));
    }
  } catch (error) {
    if (!signal.aborted) log.warn('cannot read the log of the kernel: SystemOOM events are not recorded', { error });
  }
}

function systemOomText({ process, pid }: OomKill): string {
  const victim = process !== '' && pid !== 0 ? `, victim process: ${process}, pid: ${pid}` : '';
  return `System OOM encountered${victim}`;
}
