import type { Container } from '../../../api/generated/core-v1.ts';
import { LINUX_SIGNALS } from '../../../api/stop-signals.ts';
import { Signal } from '../../../cri/generated/runtime-v1.ts';

export interface StopSignalSettings {
  /** The feature gate ContainerStopSignals; absent: off. */
  readonly containerStopSignals?: boolean | undefined;
}

/** The container's stop signal; `RUNTIME_DEFAULT` lets the runtime use the image's signal. */
export function stopSignalOf({ lifecycle }: Container, { containerStopSignals }: StopSignalSettings): Signal {
  if (!containerStopSignals || lifecycle?.stopSignal === undefined) return Signal.RUNTIME_DEFAULT;
  return SIGNALS.get(lifecycle.stopSignal) ?? Signal.RUNTIME_DEFAULT;
}

/** The signal's name in statuses; `undefined` when the runtime does not report it. */
export function stopSignalName(signal: Signal): string | undefined {
  return NAMES.get(signal);
}

/** CRI spells `SIGRTMIN+1` as SIGRTMINPLUS1. */
const SIGNALS: ReadonlyMap<string, Signal> = new Map(
  LINUX_SIGNALS.flatMap((name) => {
    const spelled = name.replace('+', 'PLUS').replace('-', 'MINUS');
    const found = Object.entries(Signal).find(([each]) => each === spelled);
    return found ? [[name, found[1]] as const] : [];
  }),
);

const NAMES: ReadonlyMap<Signal, string> = new Map(Array.from(SIGNALS, ([name, signal]) => [signal, name]));
