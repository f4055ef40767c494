import { invalidField } from '../../cri/field-error.ts';
import { Signal } from '../../cri/generated/runtime-v1.ts';

/** Of Linux, by number from 1 on; the same on every architecture that Kubernetes knows. */
const NUMBERED =
  'HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU ' +
  'XFSZ VTALRM PROF WINCH IO PWR SYS';
const NUMBERS: ReadonlyMap<string, number> = new Map([
  ...NUMBERED.split(' ').map((name, index) => [name, index + 1] as const),
  ['CLD', 17],
  ['IOT', 6],
  ['POLL', 29],
]);
/** The C library keeps the two below for itself. */
const RTMIN = 34;
const RTMAX = 64;

/** The container's own, else the image's, else SIGTERM: in the form `SIGQUIT` or `SIGRTMIN+3`. */
export function stopSignalOf(asked: Signal, imageStopSignal: string): string {
  if (asked !== Signal.RUNTIME_DEFAULT) {
    const name = Object.entries(Signal).find(([, value]) => value === asked)?.[0];
    if (name === undefined) throw invalidField('config.stop_signal', `unknown signal ${asked}`);
    return name.replace('PLUS', '+').replace('MINUS', '-');
  }
  if (imageStopSignal === '') return 'SIGTERM';
  const number = signalNumber(imageStopSignal);
  if (number === undefined) throw invalidField('config.image', `invalid stop signal ${JSON.stringify(imageStopSignal)}`);
  return /^\d+$/.test(imageStopSignal) ? nameOf(number) : `SIG${bareName(imageStopSignal)}`;
}

/** Of `SIGQUIT`, `quit`, `3` or `SIGRTMIN+3`; `undefined` when there is none of that name. */
export function signalNumber(text: string): number | undefined {
  if (/^\d+$/.test(text)) return Number(text) >= 1 && Number(text) <= RTMAX ? Number(text) : undefined;
  const name = bareName(text);
  const realTime = /^RT(MIN|MAX)(?:([+-])(\d+))?$/.exec(name);
  if (realTime === null) return NUMBERS.get(name);
  const [, base, sign, offset = '0'] = realTime;
  if ((base === 'MIN' && sign === '-') || (base === 'MAX' && sign === '+')) return undefined;
  const number = base === 'MIN' ? RTMIN + Number(offset) : RTMAX - Number(offset);
  return number >= RTMIN && number <= RTMAX ? number : undefined;
}

function bareName(text: string): string {
  return text.toUpperCase().replace(/^SIG/, '');
}

function nameOf(number: number): string {
  const name = NUMBERED.split(' ')[number - 1];
  if (name !== undefined) return `SIG${name}`;
  if (number < RTMIN) return `${number}`;
  return number === RTMIN ? 'SIGRTMIN' : `SIGRTMIN+${number - RTMIN}`;
}
