import { assertNever } from '../../base/assert-never.ts';
import { visibleText } from '../../base/visible-text.ts';
import type { LayerState, PullProgress } from '../../runtime/images/image-puller.ts';
import { byteSize } from './byte-size.ts';
import { shortId } from './short-id.ts';
import type { TerminalSize } from './terminal.ts';

/** The progress of a pull. */
export interface PullState {
  readonly image: string;
  /** The registry; absent until the image is resolved. */
  readonly source: string | undefined;
  /** The lowest first. */
  readonly layers: readonly LayerOnScreen[];
}

interface LayerOnScreen {
  readonly digest: string;
  readonly sizeBytes: number;
  readonly state: LayerState;
}

/** Width of ` 100%  999.9MB of 999.9MB` and the brackets, so that all bars have one length. */
const NUMBERS_ROOM = 27;
const LONGEST_BAR = 30;
/** With less room the bar is left out. */
const SHORTEST_BAR = 8;

export function beginPull(image: string): PullState {
  return { image, source: undefined, layers: [] };
}

export function nextPullState(state: PullState, progress: PullProgress): PullState {
  if (progress.kind === 'resolved') {
    const layers = progress.layers.map((layer) => ({ ...layer, state: { phase: 'waiting' } as const }));
    return { ...state, source: progress.source, layers };
  }
  const layers = state.layers.map((layer) =>
    layer.digest === progress.digest ? { ...layer, state: progress.state } : layer,
  );
  return { ...state, layers };
}

/** The screen: a line for the image and one for each layer, cut to the size of the terminal. */
export function pullLines(state: PullState, { columns, rows }: TerminalSize): readonly string[] {
  const { shown, hidden } = chooseLayers(state.layers, Math.max(rows - 3, 1));
  const room = columns - 1; // some terminals wrap after the last column
  const lines = [headLine(state), ...shown.map((layer) => `  ${layerLine(layer, room - 2)}`)];
  if (hidden.length > 0) lines.push(`  and ${hidden.length} more, ${hidden.filter(isComplete).length} of them here`);
  return lines.map((line) => visibleText(line).slice(0, room));
}

/** Lines of layers that became complete or are retried, for an output that cannot be redrawn. */
export function changedLayerLines({ layers: before }: PullState, { layers: after }: PullState): readonly string[] {
  return after.flatMap((layer, index) => {
    const phase = before[index]?.state.phase;
    if (phase === layer.state.phase || !(isComplete(layer) || layer.state.phase === 'retrying')) return [];
    return [layerLine(layer, Number.POSITIVE_INFINITY)];
  });
}

function headLine({ image, source, layers }: PullState): string {
  if (source === undefined) return `${image}  …`;
  const coming = layers.filter(({ state }) => state.phase !== 'present');
  const total = sum(coming.map(({ sizeBytes }) => sizeBytes));
  const amount = total === 0 ? 'all here' : `${byteSize(sum(coming.map(receivedBytes)))} of ${byteSize(total)}`;
  return `${image}  from ${source}  ${amount}`;
}

function layerLine(layer: LayerOnScreen, room: number): string {
  return `${shortId(layer.digest)}  ${layerText(layer, room - 14)}`;
}

function layerText(layer: LayerOnScreen, room: number): string {
  const { state, sizeBytes } = layer;
  switch (state.phase) {
    case 'present':
      return 'already here';
    case 'waiting':
      return `waiting  ${byteSize(sizeBytes)}`;
    case 'coming':
      return comingText(layer, room);
    case 'retrying':
      return `trying again at ${byteSize(state.receivedBytes)} of ${byteSize(sizeBytes)}: ${state.reason}`;
    case 'done':
      return `done  ${byteSize(sizeBytes)}`;
    default:
      return assertNever(state);
  }
}

/** `[=====>    ]  52%  1.1MB of 2.1MB` */
function comingText(layer: LayerOnScreen, room: number): string {
  const share = Math.min(receivedBytes(layer) / Math.max(layer.sizeBytes, 1), 1);
  const numbers = `${`${Math.floor(share * 100)}%`.padStart(4)}  ${byteSize(receivedBytes(layer))} of ${byteSize(layer.sizeBytes)}`;
  const width = Math.min(room - NUMBERS_ROOM, LONGEST_BAR);
  if (width < SHORTEST_BAR) return numbers.trimStart();
  const filled = Math.floor(share * width);
  return `[${`${'='.repeat(filled)}>`.slice(0, width).padEnd(width)}] ${numbers}`;
}

/** All layers where there is room; else first those in transfer, then those that wait. */
function chooseLayers(layers: readonly LayerOnScreen[], room: number) {
  if (layers.length <= room) return { shown: layers, hidden: [] };
  const busy = layers.filter(({ state }) => state.phase === 'coming' || state.phase === 'retrying');
  const waiting = layers.filter(({ state }) => state.phase === 'waiting');
  const over = layers.filter(isComplete);
  const chosen = new Set([...busy, ...waiting, ...over].slice(0, room));
  return {
    shown: layers.filter((layer) => chosen.has(layer)),
    hidden: layers.filter((layer) => !chosen.has(layer)),
  };
}

function isComplete({ state }: LayerOnScreen): boolean {
  return state.phase === 'done' || state.phase === 'present';
}

function receivedBytes({ state, sizeBytes }: LayerOnScreen): number {
  if (state.phase === 'done') return sizeBytes;
  return state.phase === 'coming' || state.phase === 'retrying' ? state.receivedBytes : 0;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
