import { ChangeSignal } from '../../base/change-signal.ts';
import type { Clock } from '../../host/clock.ts';
import type { PullWatcher } from '../../runtime/images/image-puller.ts';
import { beginPull, changedLayerLines, nextPullState, type PullState, pullLines } from './pull-progress.ts';
import type { Terminal, TerminalSize } from './terminal.ts';

/** Time between two redraws. */
const REDRAW_INTERVAL_MS = 100;
/** Size of a terminal that does not report one. */
const DEFAULT_SIZE: TerminalSize = { columns: 80, rows: 24 };

export interface PullScreenDeps {
  readonly terminal: Pick<Terminal, 'stderr' | 'sizes'>;
  readonly clock: Pick<Clock, 'sleep'>;
}

/** Shows the progress of a pull: redrawn in place where the cursor can be moved, else a line for each complete layer. */
export async function showPull<T>(
  image: string,
  deps: PullScreenDeps,
  pull: (watch: PullWatcher) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const changes = new ChangeSignal();
  let state = beginPull(image);
  const showing = deps.terminal.stderr.canRedraw
    ? redraw(deps, changes, () => state, over.signal)
    : printChanges(deps, changes, () => state);
  changes.notify();
  try {
    return await pull((progress) => {
      state = nextPullState(state, progress);
      changes.notify();
    });
  } finally {
    changes.close();
    over.abort();
    await showing.catch(() => {}); // the output may be closed; only the result of the pull matters
  }
}

/** The escape sequence that replaces the lines above the cursor. */
export function redrawSequence(lines: readonly string[], drawnBefore: number): string {
  const up = drawnBefore > 0 ? `\u001b[${drawnBefore}A` : '';
  return `${up}\r${lines.map((line) => `${line}\u001b[K\n`).join('')}\u001b[J`;
}

async function redraw(
  { terminal, clock }: PullScreenDeps,
  changes: ChangeSignal,
  state: () => PullState,
  over: AbortSignal,
): Promise<void> {
  let size = DEFAULT_SIZE;
  void (async () => {
    for await (const next of terminal.sizes(over)) size = next.columns > 0 && next.rows > 0 ? next : DEFAULT_SIZE;
  })();
  let drawn: readonly string[] = [];
  const draw = async (): Promise<void> => {
    const lines = pullLines(state(), size);
    if (lines.join('\n') === drawn.join('\n')) return;
    await terminal.stderr.writeRaw(redrawSequence(lines, drawn.length));
    drawn = lines;
  };
  while (await changes.next()) {
    await draw();
    await clock.sleep(REDRAW_INTERVAL_MS, over).catch(() => {}); // the end is drawn immediately
  }
  await draw();
}

async function printChanges(
  { terminal }: PullScreenDeps,
  changes: ChangeSignal,
  state: () => PullState,
): Promise<void> {
  let printed = state();
  const print = async (): Promise<void> => {
    const now = state();
    const lines = changedLayerLines(printed, now);
    printed = now;
    if (lines.length > 0) await terminal.stderr.write(lines.map((line) => `${line}\n`).join(''));
  };
  while (await changes.next()) await print();
  await print();
}
