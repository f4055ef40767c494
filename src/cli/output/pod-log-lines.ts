import { Buffer } from 'node:buffer';
import type { FileSystem } from '../../host/file-system.ts';
import type { AgentView, PodReport } from '../../kubelet/explain/agent-view.ts';
import { waitForContainerEnd } from '../../kubelet/local-api/wait-for-container-end.ts';
import type { LogLine } from '../../kubelet/logs/log-lines.ts';
import { readLogs } from '../../kubelet/logs/read-logs.ts';
import { manifestName } from '../../kubelet/pod/manifest-name.ts';
import type { ObservedContainer } from '../../kubelet/pod/observed-pod.ts';
import { type Colour, type Paint, plain } from './paint.ts';

const COLOURS: readonly Colour[] = ['cyan', 'yellow', 'green', 'magenta', 'blue'];

export interface PodLogOptions {
  readonly view: Pick<AgentView, 'nodeName' | 'pods' | 'subscribe'>;
  readonly fs: FileSystem;
  /** Writes a line of a container. Resolves when it is written; a slow output slows the reading. */
  write(prefix: string, line: string): Promise<void>;
  readonly paint?: Paint;
  /** Lines before this wall-clock time are left out. */
  readonly sinceMs?: number;
}

/** The logs of every container of every pod, each line with `pod/container | ` before it. */
export class PodLogLines {
  readonly #options: PodLogOptions;
  readonly #followed = new Set<string>();
  readonly #tasks = new Set<Promise<void>>();
  readonly #prefixes = new Map<string, string>();

  constructor(options: PodLogOptions) {
    this.#options = options;
  }

  /** Follows containers as they appear, until the signal aborts; those that end are read to their end. */
  follow(signal: AbortSignal): void {
    const followNew = (): void => {
      for (const { report, container } of this.#containers()) this.#followOne(report, container, signal);
    };
    const unsubscribe = this.#options.view.subscribe(followNew);
    signal.addEventListener('abort', unsubscribe, { once: true });
    followNew();
  }

  /** Resolves when every container that is being followed has been read to its end. Rejects if a log cannot be read. */
  async finish(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
  }

  /** Prints the present logs, pod by pod, the oldest container first. */
  async print(signal: AbortSignal): Promise<void> {
    for (const { report, container } of this.#containers()) {
      const lines = readLogs(this.#options, container.logPath, { follow: false }, signal);
      for await (const batch of lines) await this.#write(report, container, batch);
    }
  }

  #followOne(report: PodReport, container: ObservedContainer, signal: AbortSignal): void {
    if (this.#followed.has(container.id)) return;
    this.#followed.add(container.id);
    const { view, sinceMs } = this.#options;
    const ended = waitForContainerEnd(view, report.pod.metadata.uid, container.id, signal);
    const lines = readLogs(this.#options, container.logPath, { follow: true, ended, sinceMs }, signal);
    const task = (async () => {
      for await (const batch of lines) await this.#write(report, container, batch);
    })();
    this.#tasks.add(task);
    void task.then(
      () => this.#tasks.delete(task),
      () => {}, // stays among the tasks: `finish` rejects with its error
    );
  }

  *#containers(): Generator<{ report: PodReport; container: ObservedContainer }> {
    for (const report of this.#options.view.pods()) {
      for (const container of report.observed?.containers.toReversed() ?? []) {
        if (container.state !== 'created' && container.logPath !== '') yield { report, container };
      }
    }
  }

  /** Every line, and every part of a split line, gets the prefix of its container. */
  async #write({ pod }: PodReport, { name }: ObservedContainer, lines: readonly LogLine[]): Promise<void> {
    const { view, paint = plain } = this.#options;
    const source = `${manifestName(pod, view.nodeName)}/${name}`;
    const colour = COLOURS[this.#prefixes.size % COLOURS.length] ?? 'cyan';
    const prefix = this.#prefixes.get(source) ?? paint(colour, `${source} |`);
    this.#prefixes.set(source, prefix);
    for (const { text } of lines) await this.#options.write(prefix, Buffer.from(text).toString('utf8'));
  }
}
