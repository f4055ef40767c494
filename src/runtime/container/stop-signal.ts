import { Signal } from '../../cri/generated/runtime-v1.ts';
import { signalNumber } from '../spec/stop-signal.ts';

export const SIGKILL = 9;

const BY_NAME: ReadonlyMap<string, Signal> = new Map(
  Object.entries(Signal)
    .filter(([, signal]) => signal !== Signal.RUNTIME_DEFAULT)
    .map(([name, signal]) => [name.replace('PLUS', '+').replace('MINUS', '-'), signal]),
);

/** CRI's signal of this name, or of the same number if CRI names it differently. */
export function signalForCri(text: string): Signal {
  const named = BY_NAME.get(text);
  if (named !== undefined) return named;
  const number = signalNumber(text);
  const same = [...BY_NAME].find(([name]) => number !== undefined && signalNumber(name) === number);
  return same?.[1] ?? Signal.RUNTIME_DEFAULT;
}
