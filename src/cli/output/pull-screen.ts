import { ChangeSignal } from '../../base/change-signal.ts';
import type { Clock } from '../../host/clock.ts';
import type { PullWatcher } from '../../runtime/images/image-puller.ts';
import { beginPull, nextPullState, type PullState, pullLines, pullNews } from './pull-progress.ts';
import type { Terminal, TerminalSize } from './terminal.ts';

/** Between two drawings. */
const PAUSE_MS = 100;
/** Of a terminal that does not tell, or says that it has none. */
const USUAL_SIZE: TerminalSize = { columns: 80, rows: 24 };

export interface PullScreenDeps {
  readonly terminal: Pick<Terminal, 'stderr' | 'sizes'>;
  readonly clock: Pick<Clock, 'sleep'>;
}

/** Shows a pull while it goes on: drawn in place where the cursor can be moved, else a line for each layer that is here. */
export async function shownPull<T>(
  image: string,
  deps: PullScreenDeps,
  pull: (watch: PullWatcher) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const bell = new ChangeSignal();
  let state = beginPull(image);
  const showing = deps.terminal.stderr.canRedraw
    ? drawAgain(deps, bell, () => state, over.signal)
    : tellNews(deps, bell, () => state);
  bell.notify();
  try {
    return await pull((progress) => {
      state = nextPullState(state, progress);
      bell.notify();
    });
  } finally {
    bell.close();
    over.abort();
    await showing.catch(() => {}); // nobody looks any more; the pull is what counts
  }
}

/** What stands above the cursor is replaced by these lines. */
export function redrawn(lines: readonly string[], drawnBefore: number): string {
  const up = drawnBefore > 0 ? `\u001b[${drawnBefore}A` : '';
  return `${up}\r${lines.map((line) => `${line}\u001b[K\n`).join('')}\u001b[J`;
}

async function drawAgain(
  { terminal, clock }: PullScreenDeps,
  bell: ChangeSignal,
  state: () => PullState,
  over: AbortSignal,
): Promise<void> {
  let size = USUAL_SIZE;
  void (async () => {
    for await (const next of terminal.sizes(over)) size = next.columns > 0 && next.rows > 0 ? next : USUAL_SIZE;
  })();
  let drawn: readonly string[] = [];
  const draw = async (): Promise<void> => {
    const lines = pullLines(state(), size);
    if (lines.join('\n') === drawn.join('\n')) return;
    await terminal.stderr.writeRaw(redrawn(lines, drawn.length));
    drawn = lines;
  };
  while (await bell.next()) {
    await draw();
    await clock.sleep(PAUSE_MS, over).catch(() => {}); // the end is drawn at once
  }
  await draw();
}

async function tellNews({ terminal }: PullScreenDeps, bell: ChangeSignal, state: () => PullState): Promise<void> {
  let told = state();
  const tell = async (): Promise<void> => {
    const now = state();
    const news = pullNews(told, now);
    told = now;
    if (news.length > 0) await terminal.stderr.write(news.map((line) => `${line}\n`).join(''));
  };
  while (await bell.next()) await tell();
  await tell();
}
