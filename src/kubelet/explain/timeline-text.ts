import { assertNever } from '../../base/assert-never.ts';
import type { Step } from '../events/timeline.ts';
import { unwrapError } from './error-texts.ts';
import { durationText, shortened } from './plain-text.ts';
import type { PodWait } from './pod-waits.ts';
import { stepEnd } from './step-gaps.ts';

const BAR_WIDTH = 24;
/** Longest error in the table; `why` has no such limit. */
const MAX_ERROR = 120;
const HEAD = { at: 'AT', took: 'TOOK', bar: '', step: 'STEP', rest: '' };

/** One line: cells without their padding. */
interface Row {
  readonly at: string;
  readonly took: string;
  readonly bar: string;
  readonly step: string;
  readonly rest: string;
}

/** The time that a bar of full width stands for. */
interface Scale {
  readonly fromMs: number;
  readonly spanMs: number;
}

/**
 * Formats the steps of a pod as a table: the offset of each from the first one, its duration, and a bar that shows which
 * steps ran in parallel. Waits are rows between them; the bars between two waits share one scale.
 */
export function timelineText(steps: readonly Step[], waits: readonly PodWait[], nowMs: number): string {
  const first = steps[0];
  if (first === undefined) return '';
  const entries = [
    ...stretches(steps, waits).flatMap((stretch) => stretchRows(stretch, first.startedMs, nowMs)),
    ...waits.map((wait) => ({ atMs: wait.fromMs, row: waitRow(wait, first.startedMs, nowMs) })),
  ];
  const rows = entries.toSorted((a, b) => a.atMs - b.atMs).map(({ row }) => row);
  return layOut([HEAD, ...rows]);
}

/** Groups of steps without a wait between them. */
function stretches(steps: readonly Step[], waits: readonly PodWait[]): Step[][] {
  const cuts = waits.map(({ fromMs }) => fromMs);
  const groups = Map.groupBy(steps, ({ startedMs }) => cuts.filter((cut) => cut <= startedMs).length);
  return [...groups.values()];
}

interface Entry {
  readonly atMs: number;
  readonly row: Row;
}

function stretchRows(steps: readonly Step[], beganMs: number, nowMs: number): Entry[] {
  const fromMs = Math.min(...steps.map(({ startedMs }) => startedMs));
  const toMs = Math.max(...steps.map((step) => Math.min(stepEnd(step), nowMs)));
  const scale = { fromMs, spanMs: Math.max(1, toMs - fromMs) };
  return steps.map((step) => ({ atMs: step.startedMs, row: stepRow(step, scale, beganMs, nowMs) }));
}

function stepRow(step: Step, scale: Scale, beganMs: number, nowMs: number): Row {
  const { startedMs, name, subject } = step;
  const endMs = Math.min(stepEnd(step), Math.max(startedMs, nowMs));
  return {
    at: `+${durationText(startedMs - beganMs)}`,
    took: durationText(endMs - startedMs),
    bar: barText(startedMs, endMs, scale),
    step: name,
    rest: [subject, outcomeText(step)].filter(Boolean).join('  '),
  };
}

function outcomeText({ outcome }: Step): string {
  switch (outcome.kind) {
    case 'running':
      return '… under way';
    case 'failed':
      return `✗ ${shortened(unwrapError(outcome.error), MAX_ERROR)}`;
    case 'done':
      return '';
    default:
      return assertNever(outcome);
  }
}

/** Less than half a cell is drawn as a line, to differ from a whole cell. */
function barText(fromMs: number, toMs: number, scale: Scale): string {
  const cell = (ms: number): number => Math.round(((ms - scale.fromMs) / scale.spanMs) * BAR_WIDTH);
  const from = Math.min(BAR_WIDTH - 1, cell(fromMs));
  return ' '.repeat(from) + ('█'.repeat(Math.max(0, cell(toMs) - from)) || '▏');
}

function waitRow({ kind, fromMs, toMs, reason }: PodWait, beganMs: number, nowMs: number): Row {
  const waited = `${toMs === undefined ? 'waits' : 'waited'}${reason === '' ? '' : `: ${reason}`}`;
  return {
    at: `+${durationText(fromMs - beganMs)}`,
    took: durationText((toMs ?? nowMs) - fromMs),
    bar: '·'.repeat(BAR_WIDTH),
    step: kind === 'run' ? reason : waited,
    rest: '',
  };
}

/** Times are right-aligned; the text of a wait may extend over the columns that it does not fill. */
function layOut(rows: readonly Row[]): string {
  const width = (cell: (row: Row) => string): number => Math.max(...rows.map((row) => cell(row).length));
  const atWidth = width(({ at }) => at);
  const tookWidth = width(({ took }) => took);
  const stepWidth = width(({ step, rest }) => (rest === '' ? '' : step));
  return rows
    .map(({ at, took, bar, step, rest }) => {
      const cells = [
        at.padStart(atWidth),
        took.padStart(tookWidth),
        bar.padEnd(BAR_WIDTH),
        step.padEnd(stepWidth),
        rest,
      ];
      return `${cells.join('  ').trimEnd()}\n`;
    })
    .join('');
}
