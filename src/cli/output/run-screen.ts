import { resolve } from 'node:path/posix';
import { errorText } from '../../base/error-text.ts';
import { visibleText } from '../../base/visible-text.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { AgentView } from '../../kubelet/explain/agent-view.ts';
import { LineWriter } from './line-writer.ts';
import { ansi, plain } from './paint.ts';
import { PodLogLines } from './pod-log-lines.ts';
import { Progress } from './progress.ts';
import type { Terminal } from './terminal.ts';

export interface RunScreenOptions {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly fs: FileSystem;
  readonly nodeName: string;
  readonly nameWidth: number;
  /** Shows logs as they are written; else only when `printLogs` is called. */
  readonly followLogs: boolean;
  /** The reader of the output is gone. */
  onClosed(): void;
}

/** The output of `nodelet run`: progress on stderr, container logs on stdout. */
export class RunScreen {
  readonly #options: RunScreenOptions;
  readonly #progress: Progress;
  readonly #err: LineWriter;
  readonly #out: LineWriter;
  readonly #over = new AbortController();
  #logs: PodLogLines | undefined;

  constructor(options: RunScreenOptions) {
    const { terminal, nodeName, nameWidth, onClosed: closed } = options;
    this.#options = options;
    this.#progress = new Progress({
      nodeName,
      nameWidth,
      here: resolve(),
      paint: terminal.stderr.hasColours ? ansi : plain,
    });
    this.#err = new LineWriter(terminal.stderr, closed);
    this.#out = new LineWriter(terminal.stdout, closed);
  }

  line(text: string): void {
    this.#err.line(text);
  }

  manifestError(location: string, message: string): void {
    for (const line of this.#progress.manifestError(location, message)) void this.#err.writeRaw(`${line}\n`);
  }

  /** Whether this error of a pod has not been shown yet. */
  isNewError(pod: string, error: string): boolean {
    return this.#progress.isNewError(pod, error);
  }

  runtimeReady(tookMs: number): void {
    void this.#err.writeRaw(`${this.#progress.ready('runtime', tookMs)}\n`);
  }

  /** Shows the events of the agent from now on. */
  attach(view: AgentView): void {
    const { terminal, clock, fs, followLogs } = this.#options;
    const shown = terminal.stdout.isTerminal ? visibleText : String;
    view.subscribe((event) => {
      for (const line of this.#progress.lines(event, clock.now())) void this.#err.writeRaw(`${line}\n`);
    });
    this.#logs = new PodLogLines({
      view,
      fs,
      write: (prefix, text) => this.#out.writeRaw(`${prefix} ${shown(`${text}\n`)}`),
      paint: terminal.stdout.hasColours ? ansi : plain,
      ...(followLogs && { sinceMs: clock.now() }),
    });
    if (followLogs) this.#logs.follow(this.#over.signal);
  }

  async printLogs(): Promise<void> {
    await this.#logs?.print(this.#over.signal).catch((error: unknown) => this.#reportLogError(error));
  }

  /** Resolves when the logs of ended containers are shown to their end. */
  async finishLogs(): Promise<void> {
    if (this.#options.followLogs) {
      await this.#logs?.finish().catch((error: unknown) => this.#reportLogError(error));
    }
    this.#over.abort();
    await this.flush();
  }

  async flush(): Promise<void> {
    await Promise.all([this.#err.flush(), this.#out.flush()]);
  }

  #reportLogError(error: unknown): void {
    this.#err.line(`nodelet run: cannot read container log: ${errorText(error)}`);
  }
}
