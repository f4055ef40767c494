import { invalidField } from '../../cri/field-error.ts';
import { Signal } from '../../cri/generated/runtime-v1.ts';

/** Linux signals by number from 1 on; the same on every architecture that Kubernetes supports. */
const NUMBERED =
  'HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU ' +
  'XFSZ VTALRM PROF WINCH IO PWR SYS';
const NUMBERS: ReadonlyMap<string, number> = new Map([
  ...NUMBERED.split(' ').map((name, index) => [name, index + 1] as const),
  ['CLD', 17],
  ['IOT', 6],
  ['POLL', 29],
]);
/** The C library reserves the two below. */
const RTMIN = 34;
const RTMAX = 64;

/** Returns the container's stop signal, else the image's, else SIGTERM, in the form `SIGQUIT` or `SIGRTMIN+3`. */
export function chooseStopSignal(requested: Signal, imageStopSignal: string): string {
  if (requested !== Signal.RUNTIME_DEFAULT) {
    const name = Object.entries(Signal).find(([, value]) => value === requested)?.[0];
    if (name === undefined) throw invalidField('config.stop_signal', `unknown signal ${requested}`);
    return name.replace('PLUS', '+').replace('MINUS', '-');
  }
  if (imageStopSignal === '') return 'SIGTERM';
  const number = signalNumber(imageStopSignal);
  if (number === undefined)
    throw invalidField('config.image', `invalid stop signal ${JSON.stringify(imageStopSignal)}`);
  return /^\d+$/.test(imageStopSignal) ? signalName(number) : `SIG${bareName(imageStopSignal)}`;
}

/** Returns the number of `SIGQUIT`, `quit`, `3` or `SIGRTMIN+3`; `undefined` for an unknown name. */
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

function signalName(number: number): string {
  const name = NUMBERED.split(' ')[number - 1];
  if (name !== undefined) return `SIG${name}`;
  if (number < RTMIN) return `${number}`;
  return number === RTMIN ? 'SIGRTMIN' : `SIGRTMIN+${number - RTMIN}`;
}
